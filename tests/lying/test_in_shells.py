"""Agents that lie with `bn` in a shell of their own, whose variables they choose."""

import os
import subprocess
from pathlib import Path

import pytest

from cli.conftest import BN, Bn
from lying.lies import BROKEN_CART, GOOD_CART, MAKE
from lying.project import write_project
from runner.repositories import Repository

SAYS_YES = "#!/bin/sh\necho 4 passed\n"
GIVES_ITS_WORD = "git add --all; git commit --quiet --message 'All of it'; {done}; true"


@pytest.fixture
def task(bn, tmp_path) -> str:
    """A task that needs a check, in a project with programs of the agent beside it."""
    write_project(Repository(bn.repo), MAKE)
    bn("trust", "check", "--yes")
    (tmp_path / "programs").mkdir()
    for name in ("make", "python3", "sh"):
        place = tmp_path / "programs" / name
        place.write_text(SAYS_YES.replace("/bin/sh", "/bin/bash"))
        place.chmod(0o755)
    return bn.add("Round totals")


def work(bn: Bn, task: str, files: dict[str, str], done: str) -> tuple[str, dict]:
    """What an agent is answered that commits files and calls its task done by a line of shell; and the task then."""
    for name, text in files.items():
        Path(bn.repo, name).write_text(text)
    names = {
        f"GIT_{role}_{what}": "mallory@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    path = f"{Path(BN).parent}{os.pathsep}{bn.env['PATH']}"
    script = f"bn orient >/dev/null; bn task start {task} >/dev/null; {GIVES_ITS_WORD.format(done=done)}"
    ended = subprocess.run(
        ["bash", "-c", script], cwd=bn.repo, env={**bn.env, **names, "PATH": path, "CLAUDECODE": "1"},
        capture_output=True, text=True, timeout=110, check=True,
    )  # fmt: skip
    return ended.stdout + ended.stderr, bn("task", "show", task)["task"]


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        ("PATH=$PWD/../programs:$PATH bn task done {task}", "did not pass: fail"),
        ("export PATH=$PWD/../programs:$PATH; bash -c 'bn task done {task}; true'", "did not pass: fail"),
        ("VIRTUAL_ENV=$PWD/.. PYENV_ROOT=$PWD/.. CC=true bn task done {task}", "did not pass: fail"),
        ("XDG_CONFIG_HOME=$PWD/../other bn task done {task}", "leave HOME and XDG_CONFIG_HOME as they are"),
        ("env -u XDG_CONFIG_HOME HOME=$PWD/../other bn task done {task}", "leave HOME and XDG_CONFIG_HOME as they are"),
        ("unset CLAUDECODE; XDG_CONFIG_HOME=$PWD/../other bn task done {task}", "leave HOME and XDG_CONFIG_HOME"),
    ],
)
def test_variables_of_its_shell_help_nobody(bn, task, done, reason):
    said, found = work(bn, task, {"cart.py": BROKEN_CART}, done.format(task=task))
    assert found["status"] != "done", said
    assert reason in said


def test_an_honest_agent_is_done_in_its_shell(bn, task):
    said, found = work(bn, task, {"cart.py": GOOD_CART}, f"PATH=$PWD/../programs:$PATH bn task done {task}")
    assert (found["status"], found["evidence_level"]) == ("done", "checked"), said
