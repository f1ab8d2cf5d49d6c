"""Whatever makes a file or folder of ours first, and whatever the umask is: nobody else may look into it."""

import ast
import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import binnacle
import forked_bn
from cli.conftest import BN
from demo_commands import DEMO_AGENT
from runner.runs import TWO

AGENT = shlex.join(DEMO_AGENT)
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def called(tool: str, **arguments: object) -> str:
    """What a client sends that greets a server, calls a tool and leaves."""
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


FIRST = {
    "a task": [(["task", "add", "One"], "")],
    "a server of one's own": [(["upstream", "add", "--user", "x", sys.executable, "--", "-c", "pass"], "")],
    "a server that is used": [
        (["upstream", "add", "--user", "x", sys.executable, "--", "-c", "print('no server')"], ""),
        (["upstream", "test", "x"], ""),
    ],
    "a served session": [(["mcp", "serve"], called("task_add", tasks=[{"title": "One"}]))],
    "a script of the debugger": [(["script", "run", "breakpoint.list"], ""), (["bridge", "stop"], "")],
    "a token": [(["mcp", "token", "add", "laptop"], "")],
    "a setting": [(["config", "set", "--user", "claim.minutes", "5"], "")],
    "an agent": [(["orient"], "")],
    "a run": [(["run", "words.md", "--agent", AGENT, "--approve", "all", "--worktree"], "")],
}
"""What makes something first, with its input; the last command may fail, but what it made counts."""


@pytest.fixture
def places(bn, tmp_path) -> list[Path]:
    bn.env |= {
        "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state"),
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
    }  # fmt: skip
    (bn.repo / "words.md").write_text(TWO)
    subprocess.run(["git", "add", "."], cwd=bn.repo, check=True, timeout=60)
    subprocess.run(["git", "commit", "-qm", "x"], cwd=bn.repo, env=bn.env, check=True, timeout=60)
    return [tmp_path / "data", tmp_path / "config", tmp_path / "cache", bn.repo / ".vsc-bridge"]


def open_to_others(place: Path) -> list[str]:
    """What somebody else may read, write or enter there. What git checks out lies behind a closed folder."""
    found = [place, *place.rglob("*")] if place.exists() else []
    return [
        f"{stat.filemode(one.lstat().st_mode)} {one}"
        for one in found
        if not one.is_symlink() and "worktrees" not in one.parts and one.lstat().st_mode & 0o077
    ]


@pytest.mark.parametrize("umask", [0o000, 0o022])
@pytest.mark.parametrize("first", FIRST)
def test_what_is_made_first_is_private(bn, places, first, umask):
    for words, given in FIRST[first]:
        done = forked_bn.run(
            [BN, *words], cwd=bn.repo, env=bn.env, stdin=given.encode(), timeout=100, umask=umask,
        )  # fmt: skip
        assert b"unexpected" not in done.stderr, done.stderr
        assert b"E_USAGE" not in done.stderr, done.stderr
    assert any(place.exists() for place in places)
    assert [one for place in places for one in open_to_others(place)] == []


def test_what_an_older_binnacle_left_open_is_closed(bn, places):
    bn.add("One")
    data = places[0]
    folders = [data, *(one for one in data.iterdir() if one.is_dir())]
    files = [one for folder in folders for one in folder.iterdir() if one.name == "store.db"]
    for folder in folders:
        folder.chmod(0o755)
    for file in files:
        file.chmod(0o644)
    bn("ready")
    assert [one for one in open_to_others(data) if not one.endswith(".record")] == []


def test_a_folder_that_is_everybodys_stays_so(bn, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    bn("task", "add", "One", env={"BN_DATA_DIR": str(shared)})
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert [one for one in open_to_others(shared) if not one.endswith("/shared")] == []


def test_what_a_team_shares_stays_readable_to_it(bn):
    subprocess.run(
        [BN, "config", "set", "claim.minutes", "5"], cwd=bn.repo, env=bn.env, check=True, timeout=60, umask=0o022,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert stat.S_IMODE((bn.repo / ".binnacle").stat().st_mode) == 0o755
    assert stat.S_IMODE((bn.repo / ".binnacle" / "config.toml").stat().st_mode) == 0o644


def test_folders_are_made_in_one_place():
    source = Path(binnacle.__file__).parent
    found = {
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("makedirs", "mkdir", "mkdtemp")
    }
    in_repositories = {"config/repository_files.py"}
    assert found - in_repositories == {"config/private_files.py"}


def test_a_person_of_another_group_cannot_read_the_store(bn, places):
    bn.add("One")
    for one in (places[0], Path(bn("store", "show")["location"])):
        assert one.stat().st_uid == os.geteuid()
        assert one.stat().st_mode & 0o077 == 0
