"""What the kernel shows of every process that we start: no secret in its environment, none in its command line."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from binnacle.bridge.script_process import run_program
from binnacle.config import child_environment
from binnacle.config.store_access import password_in_file
from binnacle.processes.keeper import Keeper
from binnacle.runner.hooks.hook_file import Hook
from binnacle.runner.hooks.hook_runner import HookInput, run_hook
from cli.conftest import BN
from demo_commands import DEMO_AGENT
from runner.repositories import Repository
from runner.runs import TWO
from server.clients import WAIT, Http, Stdio, call, wait_for

PROBE = str(Path(__file__).with_name("probe.py"))
SECRET = "hunter2-do-not-show"
SECRETS = {
    "BN_MCP_TOKEN": f"{SECRET}-token",
    "PGPASSWORD": f"{SECRET}-database",
    "SLACK_TOKEN": f"{SECRET}-unlisted",
    "AWS_SECRET_ACCESS_KEY": f"{SECRET}-cloud",
    "DATABASE_URL": f"postgres://u:{SECRET}@db/app",
}
OURS = ("BN_MCP_TOKEN", "PGPASSWORD")
"""Those that also a program of the person does not get."""


@pytest.fixture
def seen(tmp_path) -> Path:
    folder = tmp_path / "seen"
    folder.mkdir()
    return folder


@pytest.fixture
def secrets(monkeypatch, tmp_path) -> None:
    """The environment of this process has them, as a person's shell may."""
    for name, value in {**SECRETS, "HOME": str(tmp_path), "LC_TIME": "C"}.items():
        monkeypatch.setenv(name, value)


def records(folder: Path) -> Iterator[tuple[str, dict[str, str], str]]:
    """Every process that was seen: its id, its environment and its command line."""
    for path in sorted(folder.glob("*.environ")):
        pairs = (pair.partition("=") for pair in path.read_bytes().decode(errors="replace").split("\0") if pair)
        yield path.stem, {name: value for name, _, value in pairs}, path.with_suffix(".cmdline").read_text()


def check_clean(folder: Path, *, at_least: int = 1) -> list[dict[str, str]]:
    found = list(records(folder))
    assert len(found) >= at_least
    for _, env, words in found:
        assert [name for name, value in env.items() if SECRET in value] == []
        assert SECRET not in words
    return [env for _, env, _ in found]


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in map(int, children) for one in (child, *descendants(child))]


def shown(pid: int) -> str:
    """What a process shows of itself; nothing if it has ended since it was listed."""
    try:
        return "".join(
            Path(f"/proc/{pid}", kind).read_bytes().decode(errors="replace") for kind in ("environ", "cmdline")
        )
    except (FileNotFoundError, ProcessLookupError):
        return ""


def probing(seen: Path, *command: str) -> list[str]:
    return [sys.executable, PROBE, str(seen), *command]


def test_an_agent_of_a_run_and_the_hooks_of_git(tmp_path, seen, monkeypatch):
    repo = Repository.new(tmp_path / "repo", {"words.md": TWO})
    hook = Path(repo.path, ".git", "hooks", "pre-commit")
    hook.write_text(f"#!/bin/sh\nexec {shlex.join(probing(seen))}\n")
    hook.chmod(0o755)
    env = {**os.environ, **SECRETS, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "ANTHROPIC_API_KEY": "needed"}
    env |= {"XDG_CONFIG_HOME": str(tmp_path / "config"), "BN_DATA_DIR": str(tmp_path / "data")}
    env |= {"XDG_STATE_HOME": str(tmp_path / "state"), "BN_PASS_ENV": "COLOUR", "COLOUR": "blue"}
    del env["AWS_SECRET_ACCESS_KEY"]  # agents reach their models with such
    agent = shlex.join(probing(seen, *DEMO_AGENT))
    done = subprocess.run(
        [BN, "run", "words.md", "--agent", agent, "--auto-commit"],
        cwd=repo.path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr  # nothing checks the words
    agents = [env for env in check_clean(seen, at_least=3) if "BN_SESSION" in env]
    assert agents
    for env in agents:
        assert (env["ANTHROPIC_API_KEY"], env["COLOUR"], env["BN_DATA_DIR"]) == (
            "needed",
            "blue",
            str(tmp_path / "data"),
        )


def test_an_upstream_server_and_what_runs_bn_for_a_client(bn, seen):
    config = Path(bn.env["XDG_CONFIG_HOME"], "binnacle")
    config.mkdir(parents=True, exist_ok=True)
    fixture = str(Path(__file__).parents[1] / "server" / "fixture.py")
    words = probing(seen, sys.executable, fixture, "stdio")
    entry = {"command": words[0], "args": words[1:], "env": {"ITS_KEY": "its own"}}
    (config / "mcp.json").write_text(json.dumps({"mcpServers": {"probed": entry}}))
    with Stdio(command=[BN, "mcp", "serve"], cwd=bn.repo, env=bn.env | SECRETS) as server:
        server.initialize()
        wait_for(lambda: any(seen.glob("*.cmdline")), "the upstream server does not start")
        (env,) = check_clean(seen)
        assert env["ITS_KEY"] == "its own"
        server.ask(call(1, "binnacle-set_agent", path=str(bn.repo), agent_name="a"))
        server.ask(call(2, "bn_run", args=["status"]))
        helpers = descendants(server.process.pid)
        assert len(helpers) >= 2, "the keeper, and what runs commands"
        assert [name for pid in helpers for name in leaks(pid, OURS)] == []


def leaks(pid: int, names: tuple[str, ...]) -> list[str]:
    """Which of these a process has. Helpers of ours start others, and give them what they get."""
    text = shown(pid)
    return [name for name in names if SECRETS[name] in text]


def test_a_server_on_http_forgets_the_token_that_it_was_given(bn, tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{SECRETS['BN_MCP_TOKEN']}\n")
    for words, env in ((["--token-file", str(file)], {}), ([], {"BN_MCP_TOKEN": SECRETS["BN_MCP_TOKEN"]})):
        command = [BN, "mcp", "serve", "--http", "0", "-H", *words]
        with Http(command=command, cwd=bn.repo, env=bn.env | env) as server:
            headers = {"authorization": f"Bearer {SECRETS['BN_MCP_TOKEN']}"}
            answer = server.client.post(server.url, json={}, headers=headers)
            assert answer.status_code == 400, "it is let in"
            assert SECRET not in Path(f"/proc/{server.process.pid}/cmdline").read_text()
            session = server_session(server, headers)
            post = server.client.post
            post(server.url, json=call(1, "bn_run", args=["status"]), headers=session)
            for pid in descendants(server.process.pid):
                assert SECRET not in shown(pid)


def server_session(server: Http, headers: Mapping[str, str]) -> dict[str, str]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    answer = server.client.post(server.url, json=message, headers=dict(headers))
    return {**headers, "mcp-session-id": answer.headers["mcp-session-id"]}


@pytest.mark.parametrize("content", ["", "  \n", None])
def test_a_token_file_without_a_token_is_refused(bn, tmp_path, content):
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    error = bn.fails("mcp", "serve", "--http", "0", "--token-file", str(file), code=2)
    assert str(file) in error["message"]
    assert error["hint"]


@pytest.mark.usefixtures("secrets")
def test_a_hook(tmp_path, seen):
    async def once():
        async with Keeper() as keeper:
            hook = Hook(event="pre_iteration", number=1, command=tuple(probing(seen)))
            return await run_hook(keeper, hook, HookInput(task_title="One"), cwd=str(tmp_path))

    assert asyncio.run(asyncio.wait_for(once(), WAIT)).is_ok
    (env,) = check_clean(seen)
    assert (env["BN_TASK_TITLE"], env["LC_TIME"]) == ("One", "C")


@pytest.mark.usefixtures("secrets")
def test_a_script_of_the_project(tmp_path, seen):
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{shlex.join(probing(seen))}\necho 1\n")
    script.chmod(0o755)

    async def once():
        async with Keeper() as keeper:
            return await run_program(
                keeper, str(script), {}, alias="s", workspace=str(tmp_path), timeout=WAIT, tell=lambda *_: None
            )

    assert asyncio.run(asyncio.wait_for(once(), WAIT)) == 1
    (env,) = check_clean(seen)
    assert env["BN_SCRIPT"] == "s"


@pytest.mark.usefixtures("secrets")
def test_the_keeper_of_other_peoples_programs_has_none_of_our_own(tmp_path):
    async def once() -> list[str]:
        async with Keeper() as keeper:
            process = await keeper.start(("sleep", "60"), env={}, cwd=str(tmp_path), stdin=0, stdout=1, stderr=2)
            found = [name for pid in descendants(os.getpid()) for name in leaks(pid, OURS)]
            await process.end(grace=0)
            return found

    assert asyncio.run(asyncio.wait_for(once(), WAIT)) == []


class TestPasswordOfTheStore:
    URL = "postgresql://ann:s%3Acret@db.example:6543/work"

    def test_goes_into_a_file_that_ends_with_the_run(self, tmp_path):
        environ = {"BN_STORE_URL": self.URL}
        with password_in_file(environ, self.URL, str(tmp_path / "data")):
            path = Path(environ["PGPASSFILE"])
            assert environ["BN_STORE_URL"] == "postgresql://ann@db.example:6543/work"
            assert path.read_text() == "db.example:6543:work:ann:s\\:cret\n"
            assert path.stat().st_mode & 0o777 == 0o600
            given = child_environment.for_agent(environ, "claude")
            assert (given["BN_STORE_URL"], given["PGPASSFILE"]) == (environ["BN_STORE_URL"], str(path))
        assert not path.exists()

    def test_is_moved_out_of_its_own_variable(self, tmp_path):
        environ = {"PGPASSWORD": "secret", "PGUSER": "ann"}
        with password_in_file(environ, "postgresql:///work", str(tmp_path)):
            assert "PGPASSWORD" not in environ
            assert Path(environ["PGPASSFILE"]).read_text() == "localhost:5432:work:ann:secret\n"

    def test_of_another_database_is_left_alone(self, tmp_path):
        environ = {"PGPASSWORD": "secret"}
        with password_in_file(environ, "", str(tmp_path)):
            assert environ == {"PGPASSWORD": "secret"}

    @pytest.mark.parametrize(
        ("url", "bare"),
        [
            (URL, "postgresql://ann@db.example:6543/work"),
            ("postgres://db/work?password=x&sslmode=require", "postgres://db/work?sslmode=require"),
            ("postgres://db/work?sslmode=require&password=x", "postgres://db/work?sslmode=require"),
            ("postgres://db/work?sslpassword=x", "postgres://db/work"),
            ("postgres://db:6543/work", "postgres://db:6543/work"),
            ("postgres://ann:@[::1]:5/work", "postgres://ann@[::1]:5/work"),
        ],
    )
    def test_is_in_no_address_that_is_passed_on(self, url, bare):
        assert child_environment.without_password(url) == bare
        assert child_environment.for_development({"BN_STORE_URL": url})["BN_STORE_URL"] == bare
