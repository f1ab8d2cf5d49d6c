"""`bn hook`: seeing and trying the hooks of a project."""

import pytest

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


def test_they_are_listed_and_trusted_by_name(bn, hooks):
    hooks(SHOW)
    assert states(bn) == {"post_iteration.1": "not trusted", "session_end.1": "not trusted"}
    assert "bn trust hook" in bn.human("hook", "list")
    assert bn("trust", "hook:post_iteration.1", "--yes")["trusted"] == ["hook:post_iteration.1"]
    assert bn("trust", "post_iteration.1", "--yes")["unchanged"] == ["hook:post_iteration.1"]
    assert states(bn) == {"post_iteration.1": "trusted", "session_end.1": "not trusted"}
    hooks(SHOW.replace("echo $BN", "echo then $BN"))
    assert states(bn)["post_iteration.1"] == "not trusted", "it is another command now"
    assert bn.fails("trust", "on_eror", "--yes")["code"] == "E_NOT_FOUND"


def states(bn) -> dict[str, str]:
    return {one["name"]: one["state"] for one in bn("hook", "list")["hooks"]}


def test_nobody_trusts_or_runs_what_no_person_trusted(bn, hooks):
    hooks(SHOW)
    agent = bn.agent("bob")
    assert bn.fails("trust", "session_end.1", "--yes", env=agent)["code"] == "E_PERSON_NEEDED"
    assert "bn trust hook:session_end.1" in bn.fails("hook", "run", "session_end")["hint"]
    bn("trust", "session_end.1", "--yes")
    assert bn("hook", "run", "session_end")["hooks"][0]["output"] == "over\n"


def test_a_person_tries_one(bn, hooks):
    hooks(SHOW)
    bn("trust", "--yes")
    task = bn.add("Mend '; exit 9 #")
    (found,) = bn("hook", "run", "post_iteration", "--iteration", "3", "--task", task)["hooks"]
    assert (found["ok"], found["code"], found["output"]) == (True, 0, "3 Mend '; exit 9 #\n")
    assert "exit code 0" in bn.human("hook", "run", "session_end")
    hooks("session_end: 'false'\n")
    bn("trust", "--yes")
    done = bn.run("hook", "run", "session_end")
    assert (done.code, done.json["hooks"][0]["code"]) == (1, 1)


def test_a_mistake_is_said_with_its_line(bn, hooks):
    hooks(FILE)
    error = bn.fails("hook", "list")
    assert "hooks.yaml:2" in error["message"]
    assert '["sh","-c","echo $BN_ITERATION"]' in error["hint"]
