"""Agents that lie with `bn` in a shell of their own, whose variables they choose."""

import os
import subprocess
from pathlib import Path

import pytest

from cli.conftest import BN, Bn
from lying.lies import BROKEN_CART, GOOD_CART, MAKE, WEAK_TESTS
from lying.project import CHECK_FILE, write_project
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


BEGINS = "bn orient >/dev/null; bn task start {task} >/dev/null"


def work(bn: Bn, task: str, files: dict[str, str], done: str, *, before: str = BEGINS) -> tuple[str, dict]:
    """What an agent is answered that commits files and calls its task done by a line of shell; and the task then.

    `before` is what it does first.
    """
    for name, text in files.items():
        Path(bn.repo, name).write_text(text)
    names = {
        f"GIT_{role}_{what}": "mallory@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    path = f"{Path(BN).parent}{os.pathsep}{bn.env['PATH']}"
    script = f"{before.format(task=task)}; {GIVES_ITS_WORD.format(done=done)}"
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


def test_an_agent_that_never_registered_is_no_person(bn, task):
    """Its commands have the name of the person, who need not say where the work began."""
    files = {"cart.py": BROKEN_CART, "tests/test_cart.py": WEAK_TESTS}
    said, found = work(bn, task, files, f"bn task done {task}", before="true")
    assert found["status"] != "done", said
    assert "it is not known where the work began" in said


@pytest.mark.parametrize("way", ["task update {task} --feature free", "feature merge pay --into free"])
def test_nor_does_it_take_away_what_has_to_be_proven(bn, task, way):
    rules = "review:\n  rules:\n    - require: person\n      features: [pay]\n"
    with open(Path(bn.repo, CHECK_FILE), "a", encoding="utf-8") as file:
        file.write(rules)
    bn("trust", "check", "--yes")
    for feature in ("pay", "free"):
        bn("feature", "add", feature)
    bn("task", "update", task, "--feature", "pay")
    ended = subprocess.run(
        [BN, *way.format(task=task).split()], cwd=bn.repo, env={**bn.env, "CLAUDECODE": "1"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "E_PERSON_NEEDED" in ended.stderr + ended.stdout
    assert bn("task", "show", task)["task"]["feature"] == "pay"
