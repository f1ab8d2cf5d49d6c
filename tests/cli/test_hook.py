"""`bn hook`: seeing, approving and trying the hooks of a project."""

import os
import pty
import subprocess

import pytest

from cli.conftest import BN

FILE = """\
post_iteration:
  - command: echo $BN_ITERATION
"""


@pytest.fixture
def hooks(bn):
    """Writes the file of hooks."""

    def write(text: str) -> None:
        path = bn.repo / ".binnacle" / "hooks.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    return write


SHOW = 'post_iteration: ["sh", "-c", "echo $BN_ITERATION $BN_TASK_TITLE"]\nsession_end: echo over\n'


def test_a_project_without_hooks(bn):
    assert bn("hook", "list") == {"hooks": []}
    assert "hooks.yaml" in bn.human("hook", "list")
    assert bn.fails("hook", "run", "session_end")["code"] == "E_NOT_FOUND"


def test_they_are_listed_and_approved_by_name(bn, hooks):
    hooks(SHOW)
    assert [(one["name"], one["state"]) for one in bn("hook", "list")["hooks"]] == [
        ("post_iteration.1", "not approved"),
        ("session_end.1", "not approved"),
    ]
    assert "bn hook approve" in bn.human("hook", "list")
    assert bn("hook", "approve", "post_iteration", "--yes") == {
        "approved": ["post_iteration.1"],
        "declined": [],
        "unchanged": [],
    }
    assert bn("hook", "approve", "post_iteration", "--yes")["unchanged"] == ["post_iteration.1"]
    assert [one["state"] for one in bn("hook", "list")["hooks"]] == ["approved", "not approved"]
    hooks(SHOW.replace("echo $BN", "echo then $BN"))
    assert bn("hook", "list")["hooks"][0]["state"] == "not approved", "it is another command now"


def test_approving_asks_on_a_terminal_only(bn, hooks):
    hooks(SHOW)
    error = bn.fails("hook", "approve", code=2)
    assert "no terminal" in error["message"]
    assert "hooks.yaml:1" in error["hint"]
    assert bn.fails("hook", "approve", "--yes", code=2)["code"] == "E_USAGE"
    assert bn.fails("hook", "approve", "on_eror", "--yes")["code"] == "E_NOT_FOUND"


def test_on_a_terminal_each_is_shown_and_asked_about(bn, hooks):
    hooks(SHOW)
    leader, follower = pty.openpty()
    try:
        os.write(leader, b"y\n\n")
        done = subprocess.run(
            [BN, "hook", "approve"], cwd=bn.repo, env=bn.env, stdin=follower, stderr=follower,
            stdout=subprocess.PIPE, timeout=60, check=True,
        )  # fmt: skip
        seen = os.read(leader, 65536).decode()
    finally:
        os.close(leader)
        os.close(follower)
    assert b'"approved":["post_iteration.1"]' in done.stdout.replace(b" ", b"").replace(b"\n", b"")
    assert "echo over" in seen
    assert [one["state"] for one in bn("hook", "list")["hooks"]] == ["approved", "not approved"]


def test_agents_neither_approve_nor_run_what_nobody_approved(bn, hooks):
    hooks(SHOW)
    agent = bn.agent("bob")
    assert bn.fails("hook", "approve", "session_end", "--yes", env=agent)["code"] == "E_REFUSED"
    assert "bn hook approve" in bn.fails("hook", "run", "session_end", env=agent)["hint"]
    bn("hook", "approve", "session_end", "--yes")
    assert bn("hook", "run", "session_end", env=agent)["hooks"][0]["output"] == "over\n"


def test_a_person_tries_one(bn, hooks):
    hooks(SHOW)
    task = bn.add("Mend '; exit 9 #")
    (found,) = bn("hook", "run", "post_iteration", "--iteration", "3", "--task", task)["hooks"]
    assert (found["ok"], found["code"], found["output"]) == (True, 0, "3 Mend '; exit 9 #\n")
    assert "exit code 0" in bn.human("hook", "run", "session_end")
    hooks("session_end: 'false'\n")
    done = bn.run("hook", "run", "session_end")
    assert (done.code, done.json["hooks"][0]["code"]) == (1, 1)


def test_a_mistake_is_said_with_its_line(bn, hooks):
    hooks(FILE)
    error = bn.fails("hook", "list")
    assert "hooks.yaml:2" in error["message"]
    assert '["sh","-c","echo $BN_ITERATION"]' in error["hint"]
