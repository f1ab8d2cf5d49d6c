"""The real `bn`, passed through."""

import asyncio
import json
import os
import subprocess
import sys
from importlib import import_module

import pytest

from binnacle.passthrough.command import BN, PRELOADED_MODULES, PassthroughCommand
from passthrough.stage import bounded


@pytest.fixture
def repo(either, tmp_path, monkeypatch):
    """A repository in which calls run `bn`, for an agent with the same home."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "repo")], check=True, timeout=60)
    either.command = BN if either.options.get("fork") is False else BN._replace(argv=("/nowhere/bn",))
    either.cwd = str(tmp_path / "repo")
    home = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path)}
    for name, value in home.items():
        monkeypatch.setenv(name, value)
    either.env |= {"BN_DATA_DIR": str(tmp_path / "data"), "BN_USER": "ann", **home}
    return either


def session(stage, *lines):
    """What several command lines came to, one after the other."""

    async def all_of_them():
        async with stage.runner() as runner:
            return [await stage.call(runner, *line) for line in lines]

    return bounded(all_of_them())


def test_work_done_in_one_call_is_there_in_the_next(repo):
    added, ready = session(repo, ["task", "add", "mend the form"], ["ready"])
    assert added.exit_code == ready.exit_code == 0
    (task,) = json.loads(added.stdout)["tasks"]
    assert [found["id"] for found in json.loads(ready.stdout)["tasks"]] == [task["id"]]


def test_a_call_acts_in_the_name_its_environment_gives(repo):
    repo.env |= {"BN_MCP_SESSION": "s-1"}
    (oriented,) = session(repo, ["orient"])
    agent = json.loads(oriented.stdout)["agent_id"]
    repo.env |= {"BN_AGENT_ID": agent}
    *_, log = session(repo, ["task", "add", "x"], ["log"])
    event = json.loads(log.stdout)["events"][-1]
    assert (event["entity"], event["actor"], event["session"]) == ("task", agent, "s-1")


def test_errors_come_through_with_their_code(repo):
    usage, missing = session(repo, ["nosuch"], ["task", "show", "bn-ffff"])
    assert (usage.exit_code, json.loads(usage.stderr)["error"]["code"]) == (2, "E_USAGE")
    assert (missing.exit_code, json.loads(missing.stderr)["error"]["code"]) == (1, "E_NOT_FOUND")


def test_a_command_whose_modules_are_not_preloaded_works_all_the_same(repo):
    (done,) = session(repo, ["completion", "bash"])
    assert done.exit_code == 0
    assert "complete" in done.stdout


def test_calls_at_once_do_not_mix(repo):
    async def crowd():
        async with repo.runner() as runner:
            return await asyncio.gather(*(repo.call(runner, "task", "add", f"task {n}") for n in range(24)))

    for number, done in enumerate(bounded(crowd())):
        assert done.exit_code == 0, done.stderr
        assert json.loads(done.stdout)["tasks"][0]["title"] == f"task {number}"


def test_every_module_that_is_preloaded_exists():
    assert [name for name in PRELOADED_MODULES if import_module(name) is None] == []


@pytest.mark.linux_only("elsewhere the fork server loads psutil")
def test_nothing_heavy_and_no_thread_is_in_the_fork_server():
    code = (
        "import sys, threading; from binnacle.passthrough.command import BN; "
        "from binnacle.passthrough.forked.server import load; load(BN.function, list(BN.preload)); "
        "print(threading.active_count(), *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    threads, *modules = done.stdout.split()
    assert threads == "1"
    # Every one would be copied by every fork.
    assert {"asyncio", "http", "psycopg", "ssl", "subprocess", "tomlkit"} & set(modules) == set()


def test_a_missing_binary_is_told_as_one(stage, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    stage.command = PassthroughCommand(name="bn-of-nowhere", function="no_such_module:main")
    done = stage.play("ready")
    assert (done.exit_code, done.stdout, done.stderr) == (127, "", "bn-of-nowhere binary not found\n")


def test_bn_is_found_beside_the_interpreter_and_else_on_the_path(monkeypatch, tmp_path):
    (beside,) = BN.find_argv()
    assert os.path.basename(beside) == "bn"
    program = tmp_path / "toy-program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert PassthroughCommand(name="toy-program", function="").find_argv() == (str(program),)


def test_a_program_that_may_not_be_run_is_an_answer(stage, tmp_path):
    program = tmp_path / "locked"
    program.write_text("")
    stage.command = PassthroughCommand(name="bn", function="no_such_module:main", argv=(str(program),))
    done = stage.play("ready")
    assert (done.exit_code, done.stderr) == (126, "error: cannot run bn: Permission denied\n")
