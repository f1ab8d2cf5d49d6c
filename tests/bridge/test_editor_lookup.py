"""Editors that have a folder around the workspace open serve it, if there is one of them and no host of its own."""

import asyncio
import json
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from binnacle.bridge.client.bridge_client import BridgeClient
from binnacle.bridge.client.bridge_status import bridge_status
from binnacle.bridge.host.job_host import JobHost
from binnacle.bridge.jobs.job_files import open_bridge, read_host
from binnacle.bridge.manifest import shipped_scripts
from binnacle.errors import BridgeError
from bridge.serving import run, until


async def who(job):
    return {"folder": job.folder, "workspace": job.command.workspace}


@asynccontextmanager
async def serving(folder, kind="vscode"):
    """A host of either kind, in this process."""
    host = JobHost(str(folder), kind, who, {"scripts": ["who"], "editor": "Code", "version": "1.2"})
    task = asyncio.create_task(host.serve())
    try:
        await until(lambda: (info := read_host(str(folder))) is not None and info.bridge_id == host.info.bridge_id)
        yield host
    finally:
        host.end()
        await task


@pytest.fixture
def tree(tmp_path):
    """A directory in a directory in a directory."""
    inner = tmp_path / "all" / "project" / "repo"
    inner.mkdir(parents=True)
    return tmp_path / "all", tmp_path / "all" / "project", inner


async def ask(workspace, *, script="who"):
    client = BridgeClient(str(workspace), name="cli")
    try:
        return await client.call(script, {}, timeout=10)
    finally:
        client.close()


async def status(workspace):
    client = BridgeClient(str(workspace), name="cli")
    try:
        return await bridge_status(client, shipped_scripts())
    finally:
        client.close()


def test_the_window_around_it_serves_a_workspace_and_knows_what_paths_are_relative_to(tree):
    async def main():
        async with serving(tree[1]):
            told = await ask(tree[2])
            assert told["folder"].startswith(str(tree[1] / ".vsc-bridge"))
            assert told["workspace"] == str(tree[2])
            assert (await ask(tree[1]))["workspace"] == "", "at home it need not be said"
            host = (await status(tree[2]))["host"]
            assert (host["healthy"], host["editor"], host["workspace"]) == (True, "Code 1.2", str(tree[1]))

    run(main())


def test_the_host_of_the_workspace_wins(tree):
    async def main():
        async with serving(tree[1]), serving(tree[0]), serving(tree[2], "headless"):
            assert (await ask(tree[2]))["folder"].startswith(str(tree[2] / ".vsc-bridge"))

    run(main())


def test_two_windows_are_an_error_that_names_them(tree):
    async def main():
        async with AsyncExitStack() as stack:
            for folder in tree[:2]:
                await stack.enter_async_context(serving(folder))
            with pytest.raises(BridgeError) as caught:
                await ask(tree[2])
            assert caught.value.code == "E_AMBIGUOUS_HOST"
            assert all(str(folder) in caught.value.message for folder in tree[:2])
            assert "E_AMBIGUOUS_HOST" in (await status(tree[2]))["problem"]

    run(main())


def test_a_host_without_an_editor_serves_its_own_workspace_only(tree):
    async def main():
        async with serving(tree[1], "headless"):
            with pytest.raises(BridgeError) as caught:
                await ask(tree[2])
            assert caught.value.code == "E_BRIDGE_NOT_FOUND"

    run(main())


def test_a_linked_worktree_is_a_place_of_its_own(tree):
    async def main():
        (tree[2] / ".git").write_text("gitdir: elsewhere\n")
        async with serving(tree[1]):
            with pytest.raises(BridgeError) as caught:
                await ask(tree[2])
            assert caught.value.code == "E_BRIDGE_NOT_FOUND"

    run(main())


def test_what_a_dead_window_left_is_passed_over(tree):
    async def main():
        folder = open_bridge(str(tree[1]))
        async with serving(tree[1]):
            pass
        with open(f"{folder}/host.json", "w") as file:
            json.dump({"bridgeId": "extHost-1", "kind": "vscode", "pid": 4194305, "workspace": str(tree[1])}, file)
        with pytest.raises(BridgeError) as caught:
            await ask(tree[2])
        assert caught.value.code == "E_BRIDGE_NOT_FOUND"

    run(main())
