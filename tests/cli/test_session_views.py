"""`bn session show` and `bn session transcript` after real runs: what a person can find out about them later."""

import json
import shlex
import sys
from pathlib import Path

import pytest

import forked_bn
from cli.run_terminal import BN
from cli.test_hostile_text import HOSTILE, assert_harmless
from runner.repositories import Repository

PLAYER = Path(__file__).parents[1] / "runner" / "player.py"

SCRIPT = """
agent.say("I will write it.\\n")
agent.tool("Edit new.py", given={"path": "new.py"}, diff={"path": "new.py", "oldText": "a = 1\\n", "newText": TEXT})
agent.write("new.py", TEXT)
agent.tool("make lint", given={"command": "make lint"}, status="failed")
agent.cost(0.25)
agent.done() if agent.times("turn") > 1 else agent.call("iteration-summary", summary="half of it")
"""


@pytest.fixture
def repo(tmp_path, monkeypatch) -> Repository:
    for name, value in {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "BN_DATA_DIR": str(tmp_path / "data"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("BN_AGENT_ID", raising=False)
    return Repository.new(tmp_path / "repo", {"new.py": "a = 1\n"})


def bn(repo: Repository, *words: str) -> str:
    done = forked_bn.run([BN, *words], cwd=repo.path, timeout=110)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def run(repo: Repository, text: str) -> str:
    """A run of one task, which takes two turns; what it wrote while it ran."""
    bn(repo, "task", "add", "Write it")
    script = repo.path.parent / "script.py"
    script.write_text(f"TEXT = {text!r}\n{SCRIPT}")
    agent = shlex.join([sys.executable, str(PLAYER), str(script), str(repo.path.parent / "kept")])
    words = [BN, "run", "--agent", agent, "--approve", "all", "--name", "night"]
    done = forked_bn.run(words, cwd=repo.path, timeout=110)
    assert done.returncode == 3, done.stderr.decode()
    return done.stderr.decode()


def test_every_line_of_a_headless_run_has_the_time(repo):
    told = run(repo, "a = 2\n").splitlines()
    assert told
    for line in told:
        hours, minutes, seconds = line.split()[0].split(":")
        assert all(len(part) == 2 and part.isdigit() for part in (hours, minutes, seconds)), line


def test_a_transcript_reads_like_a_conversation(repo):
    run(repo, "a = 2\n")
    shown = bn(repo, "session", "transcript", "night", "-H")
    order = ["prompt", "agent", "I will write it.", "✓ execute: Edit new.py", "path: new.py", "-a = 1", "+a = 2",
             "✗ execute: make lint", "command: make lint", "end of the turn: end_turn"]  # fmt: skip
    places = [shown.index(text) for text in order]
    assert places == sorted(places)


def test_what_is_cut_says_the_command_that_shows_all(repo):
    run(repo, "".join(f"line {number}\n" for number in range(200)))
    shown = bn(repo, "session", "transcript", "night", "-H", "--iteration", "1")
    (command, *_) = (line.partition("; all: bn ")[2] for line in shown.splitlines() if "more lines; all: bn" in line)
    assert "+line 199" not in shown
    assert "+line 199" in bn(repo, *shlex.split(command), "-H")
    entries = json.loads(bn(repo, "session", "transcript", "night"))["entries"]
    assert any("+line 199" in entry.get("diff", "") for entry in entries)


def test_hostile_text_in_a_transcript_is_harmless(repo):
    run(repo, f"new {HOSTILE}\n")
    shown = bn(repo, "session", "transcript", "night", "-H", "--full")
    assert_harmless(shown)
    assert "evil" in shown


@pytest.mark.parametrize("by", ["name", "run", "session"])
def test_a_session_shows_tasks_attempts_commits_agents_and_cost(repo, by):
    run(repo, "a = 2\n")
    first = json.loads(bn(repo, "session", "show", "night"))
    word = {"name": "night", "run": first["run"]["id"], "session": first["session"]["id"]}[by]
    answer = json.loads(bn(repo, "session", "show", word))
    (task,) = answer["tasks"]
    assert (task["title"], task["status"]) == ("Write it", "done")
    assert task["attempts"] == len(answer["iterations"])
    assert [one["outcome"] for one in answer["iterations"]][-1] == "done"
    totals = answer["totals"]
    assert totals["commits"]
    assert totals["cost"]["USD"] >= 0.25
    assert len(totals["agents"]) == 1
    assert answer["run"]["why"] == "unproven"
    assert answer["run"].get("asked", "") == ""
    shown = bn(repo, "session", "show", word, "-H")
    for text in ("unproven", "● ", "Write it", "USD", f"commit {totals['commits'][0][:10]}", "done"):
        assert text in shown


def test_the_list_says_why_the_run_of_a_session_ended(repo):
    bn(repo, "task", "add", "Write it")
    script = repo.path.parent / "script.py"
    script.write_text('agent.call("task-update", id=agent.task, status="blocked", reason="no")')
    agent = shlex.join([sys.executable, str(PLAYER), str(script), str(repo.path.parent / "kept")])
    done = forked_bn.run([BN, "run", "--agent", agent, "--approve", "all"], cwd=repo.path, timeout=110)
    assert done.returncode == 1
    assert "no_ready_task" in bn(repo, "session", "list", "-H").splitlines()[1]
    found = json.loads(bn(repo, "session", "list"))
    assert list(found["runs"].values()) == ["no_ready_task"]
