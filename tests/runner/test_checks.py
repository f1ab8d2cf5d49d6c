"""Runs in a project with checks: agents may run those that a person has trusted, and nothing else, and are told so."""

import json
import shlex

import pytest

from binnacle.config import trust
from binnacle.project.check_file import CHECK_FILE, find_trust_items
from binnacle.runner import run_events
from binnacle.runner.end_rules import FINISHED
from binnacle.work.task import NewTask

FILE = """checks:
  - name: tests
    command: make test
    tier: full
  - name: lint
    command: ["sh", "-c", "ruff check . | tail -5"]
    tier: full
"""
"""Of the tier that only a merge needs: what checks say of tasks is tested elsewhere."""


@pytest.fixture
def checked(play):
    """A project whose checks a person has trusted."""
    repo = play.runs.repo
    repo.write({CHECK_FILE: FILE, "Makefile": "test:\n\t@echo fine\n"})
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--message", "checks")
    trust_all(repo)
    play.add(NewTask(title="Something"))
    return play


def trust_all(repo) -> None:
    trust.keep(str(repo.path), find_trust_items(str(repo.path)), by="ann", at="", how="terminal")


def asked(play, *requests: dict, **more) -> list[bool]:
    """What a run answers an agent that asks for these inputs, or for these calls."""
    calls = [one if "given" in one else {"given": one} for one in requests]
    script = f"""
import json
for more in json.loads({json.dumps(json.dumps(calls))}):
    text = json.dumps(more).replace("HERE", str(agent.cwd))
    agent.keep("answer", str(agent.may(**json.loads(text))))
agent.write("a.txt", "a")
agent.done()
"""
    assert play.run(script, **{"approve": "edits", **more}).why in FINISHED
    return [answer == "True" for answer in play.kept("answer")]


LINT = shlex.join(["sh", "-c", "ruff check . | tail -5"])
SAME = {
    "claude": {"command": "make test", "description": "Run the tests", "timeout": 60000},
    "opencode": {"command": "make test", "description": "tests", "workdir": "HERE"},
    "goose": {"command": "make test\n"},
    "codex": {"command": "/bin/bash -lc 'make test'", "cwd": "HERE"},
    "codex, as words": {"command": ["bash", "-lc", "make test"], "cwd": "HERE", "parsed_cmd": [{"type": "test"}]},
    "copilot": {"command": "make test", "commands": ["make"], "description": "tests", "mode": "sync"},
    "after cd": {"command": "cd HERE && make test"},
    "after cd in a shell": {"command": "bash -lc 'cd HERE && make test'"},
    "a folder below": {"command": "make test", "cwd": "HERE/src"},
    "with a shell of its own": {"command": LINT},
    "as words with a shell of its own": {"command": ["sh", "-c", "ruff check . | tail -5"]},
}

HOSTILE = {
    "another": {"command": "make tests"},
    "a part": {"command": "make"},
    "semicolon": {"command": "make test; rm -rf src"},
    "and": {"command": "make test && rm -rf src"},
    "pipe": {"command": "make test | sh"},
    "background": {"command": "make test & rm -rf src"},
    "backticks": {"command": "make test `rm -rf src`"},
    "substitution": {"command": "make test $(rm -rf src)"},
    "newline": {"command": "make test\nrm -rf src"},
    "carriage return": {"command": "make test\r"},
    "redirection": {"command": "make test > src/a.py"},
    "here document": {"command": "make test << x"},
    "variable before": {"command": "MAKEFLAGS=-f/tmp/x make test"},
    "more words": {"command": "make test SHELL=/tmp/x"},
    "before": {"command": "rm -rf src; make test"},
    "no-break space": {"command": "make test\u00a0"},
    "other letters": {"command": "make t\u0435st"},
    "in a shell with more": {"command": "bash -lc 'make test; rm -rf src'"},
    "after a shell": {"command": "bash -lc 'make test'; rm -rf src"},
    "expanded by the outer shell": {"command": 'bash -lc "make test$(rm -rf src)"'},
    "another shell": {"command": "/tmp/bash -lc 'make test'"},
    "a shell that reads a file": {"command": "bash --rcfile /tmp/x -ic 'make test'"},
    "as words": {"command": ["make", "test", ";", "rm"]},
    "as words of a shell": {"command": ["bash", "-lc", "make test; rm -rf src"]},
    "cd elsewhere": {"command": "cd / && make test"},
    "cd into a part": {"command": "cd HERE/.. && make test"},
    "cd with more": {"command": "cd HERE && rm -rf src && make test"},
    "cd twice": {"command": "cd HERE && cd / && make test"},
    "in another folder": {"command": "make test", "cwd": "/"},
    "in a folder beside": {"command": "make test", "workdir": "HERE-other"},
    "in a folder above": {"command": "make test", "cwd": "HERE/.."},
    "with an environment": {"command": "make test", "env": {"MAKEFLAGS": "-f/tmp/x"}},
    "with input": {"command": "make test", "stdin": "rm"},
    "two commands": {"command": "make test", "cmd": "rm -rf src"},
    "no command": {"description": "make test"},
    "a number": {"command": 5},
    "only a title": {"given": None, "title": "make test"},
    "an empty input": {"given": {}, "title": "make test"},
    "a tool that is no shell": {"given": {"command": "make test"}, "kind": "other", "title": "deploy"},
    "only always": {"given": {"command": "make test"}, "options": ["allow_always", "reject_once"]},
    "in a folder that only the call names": {
        "given": {"command": "make test"},
        "_meta": {"terminal_info": {"cwd": "/"}},
    },
}


class TestPolicy:
    def test_the_same_command_is_allowed_however_an_agent_sends_it(self, checked):
        answers = asked(checked, *SAME.values())
        assert dict(zip(SAME, answers, strict=True)) == dict.fromkeys(SAME, True)
        decided = checked.runs.kinds(run_events.PermissionDecided)
        assert {event.by for event in decided} == {"check"}

    def test_nothing_that_only_looks_like_it_is(self, checked):
        answers = asked(checked, *HOSTILE.values())
        assert dict(zip(HOSTILE, answers, strict=True)) == dict.fromkeys(HOSTILE, False)

    @pytest.mark.parametrize(("approve", "allowed"), [("ask", True), ("none", False), ("all", True)])
    def test_every_policy_but_none_allows_it(self, checked, approve, allowed):
        assert asked(checked, {"command": "make test"}, approve=approve) == [allowed]

    def test_it_runs_in_the_tree_of_its_worker(self, checked):
        """With a tree of its own, the person's folder is another one."""
        home = str(checked.runs.repo.path)
        requests = ({"command": "make test", "cwd": "HERE"}, {"command": "make test", "cwd": home})
        assert asked(checked, *requests, has_worktree=True) == [True, False]

    def test_a_long_input_is_not_taken_for_an_earlier_one(self, checked):
        script = """
call = {"toolCallId": "c", "kind": "execute", "title": "Shell"}
agent._tell({"sessionUpdate": "tool_call", **call, "rawInput": {"command": "make test"}})
long = {"command": "make test; rm -rf src " + "x" * 20000}
agent.keep("answer", str(agent.may(long, toolCallId="c")))
agent.done()
"""
        assert checked.run(script, approve="edits").why == "unproven"
        assert checked.kept("answer") == ["False"]


class TestTrust:
    def test_an_untrusted_check_is_refused_and_the_person_is_told(self, play):
        play.runs.repo.write({CHECK_FILE: FILE})
        play.add(NewTask(title="Something"))
        assert asked(play, {"command": "make test"}) == [False]
        (warning,) = [one for one in play.runs.kinds(run_events.WarningReported) if "checks" in one.message]
        assert "'tests', 'lint'" in warning.message
        assert "bn trust check" in warning.hint
        assert "make test" not in play.kept("prompt")[0]

    def test_an_agent_that_changes_the_file_changes_nothing(self, checked):
        checked.add(NewTask(title="Another"))
        script = f"""
agent.write({CHECK_FILE!r}, "checks:\\n  - name: tests\\n    command: rm -rf src\\n")
agent.keep("answer", str(agent.may({{"command": "rm -rf src"}})))
agent.keep("answer", str(agent.may({{"command": "make test"}})))
agent.write(agent.task, "x")
agent.done()
"""
        assert checked.run(script, approve="edits", auto_commit=True).why == "unproven"
        assert checked.kept("answer") == ["False", "True"] * 2
        assert all("`make test`" in prompt for prompt in checked.kept("prompt"))

    def test_the_next_run_ignores_what_was_changed(self, checked):
        checked.runs.repo.write({CHECK_FILE: FILE.replace("make test", "make test install")})
        assert asked(checked, {"command": "make test install"}, {"command": "make test"}) == [False, False]


class TestPrompt:
    def test_it_lists_the_checks_and_says_that_they_may_be_run(self, checked):
        asked(checked, {"command": "make test"})
        (prompt,) = checked.kept("prompt")
        assert f"These commands check your work: `make test`, `{LINT}`." in prompt
        assert "Shell commands are refused, except the checks, exactly as written above." in prompt
        assert "Run what checks your work before you call it done." in prompt
        assert prompt.count("`make test`") == 1

    def test_it_says_that_the_run_commits(self, checked):
        asked(checked, {"command": "make test"}, auto_commit=True)
        assert "Do not commit: your changes are committed when you have finished." in checked.kept("prompt")[0]
        assert checked.runs.repo.git("log", "-1", "--format=%s").strip() == "Something"

    def test_without_a_shell_it_does_not_speak_of_them(self, checked):
        asked(checked, {"command": "make test"}, approve="none")
        assert "make test" not in checked.kept("prompt")[0]
