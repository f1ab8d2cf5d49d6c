"""In a run with checks, a task is done when Binnacle saw its checks pass, and not when its agent says so."""

import pytest

from binnacle.runner import run_events
from runner.checked_plays import CheckedPlay

GOOD = """
agent.write("work.txt", "good\\n")
agent.done()
"""


@pytest.fixture
def checked(play):
    return CheckedPlay(play)


def test_an_honest_agent_is_prompted_once_and_its_check_runs_once(checked):
    (task,) = checked.add("the work")
    ended = checked.run(GOOD)
    assert (ended.why, ended.iterations, checked.outcomes(task)) == ("complete", 1, ["done"])
    assert len(checked.play.kept("prompt")) == 1
    assert checked.checks_that_ran() == [("words", "pass", False)]
    done = checked.task(task)
    assert (done.status, done.evidence_level) == ("done", "merged")
    assert done.evidence_commit == checked.repo.git("rev-parse", "bn/words/run")
    (result,) = checked.evidence(task)
    assert (result.verdict, result.commit_id, result.base) == ("pass", done.evidence_commit, checked.base)


def test_an_agent_that_closes_without_work_is_not_done(checked):
    (task,) = checked.add("the work")
    ended = checked.run("agent.done()")
    assert (ended.why, ended.closed) == ("needs_input", 0)
    assert checked.outcomes(task) == ["unproven"] * 3
    assert checked.task(task).status == "needs_input"
    assert "nothing was changed" in checked.question(task)
    assert checked.checks_that_ran() == [], "there was nothing to check"


def test_an_agent_is_told_what_failed_and_fixes_it_in_the_same_conversation(checked):
    (task,) = checked.add("the work")
    script = """
if agent.times("turn") == 1:
    agent.write("work.txt", "bad\\n")
else:
    agent.write("work.txt", "good\\n")
agent.done()
"""
    ended = checked.run(script)
    assert (ended.why, ended.iterations, checked.outcomes(task)) == ("complete", 1, ["done"])
    first, second = checked.play.kept("prompt")
    assert "the check 'words' did not pass: fail (exit code 1)" in second
    assert "work.txt is not good" in second, "the end of the log"
    assert "the work" in first
    assert [verdict for _, verdict, _ in checked.checks_that_ran()] == ["fail", "pass"]
    assert checked.task(task).evidence_level == "merged"
    assert len(checked.play.runs.kinds(run_events.AgentStarted)) == 1
    messages = checked.repo.git("log", "--format=%s", f"{checked.base}..bn/words/run").splitlines()
    assert messages == ["the work", "the work"]


def test_an_agent_that_fixes_it_without_a_word_is_reminded_to_say_so(checked):
    (task,) = checked.add("the work")
    script = """
turn = agent.times("turn")
agent.write("work.txt", "bad\\n" if turn == 1 else "good\\n")
if turn != 2:
    agent.done()
"""
    assert checked.run(script).why == "complete"
    assert len(checked.play.kept("prompt")) == 3
    assert "your task is still in progress" in checked.play.kept("prompt")[2]
    assert checked.outcomes(task) == ["done"]


def test_who_never_fixes_it_gets_a_bounded_number_of_turns_and_then_a_person_is_asked(checked):
    (task,) = checked.add("the work")
    script = """
agent.write("work.txt", f"bad {agent.times('turn')}\\n")
agent.done()
"""
    ended = checked.run(script)
    assert (ended.why, ended.iterations, ended.closed) == ("needs_input", 3, 0)
    assert checked.outcomes(task) == ["unproven"] * 3
    assert len(checked.play.kept("prompt")) == 9, "three turns in each of three attempts"
    question = checked.question(task)
    assert "3 attempts did not finish this task" in question
    assert "work.txt is not good" in question
    prompt = checked.play.kept("prompt")[3]
    assert "it was called done, and its checks did not show that" in prompt
    assert "work.txt is not good" in prompt
    assert checked.repo.git("rev-parse", "bn/words/run") == checked.base, "nothing of it was merged"


def test_what_another_outcome_says_counts_although_a_check_failed(checked):
    (task,) = checked.add("the work")
    script = """
if agent.times("turn") == 1:
    agent.write("work.txt", "bad\\n")
    agent.done()
else:
    agent.call("task-update", id=agent.task, status="blocked", reason="it cannot be good")
"""
    checked.run(script)
    assert checked.play.attempts(task) == [("blocked", "it cannot be good")]


def test_a_task_without_checks_is_done_as_before(play):
    from binnacle.work.task import NewTask

    (task,) = play.add(NewTask(title="the work"))
    assert play.run(GOOD, has_worktree=True).why == "unproven", "it is only said"
    assert play.status(task) == "done"
    assert play.runs.kinds(run_events.CheckStarted) == []


MERGED_CHECK = """checks:
  - name: sum
    command: sh check.sh
"""
ONE_LINE = 'test "$(cat *.part 2>/dev/null | wc -l)" -le 1 || { echo "two parts at once"; exit 1; }\n'


def test_what_passes_alone_and_fails_merged_goes_back_with_its_evidence(play):
    checked = CheckedPlay(play, checks=MERGED_CHECK, files={"check.sh": ONE_LINE})
    first, second = checked.add("first", "second")
    script = """
import time
if agent.times(agent.task) == 1:
    agent.write(f"{agent.task}.part", "a line\\n")
    agent.times("ready")
    until = time.monotonic() + 60
    while not (agent.folder / "ready-2").exists() and time.monotonic() < until:
        time.sleep(0.02)
else:
    agent.write(f"{agent.task}.part", "")
agent.done()
"""
    ended = checked.run(script, workers=2)
    assert (ended.why, ended.closed) == ("complete", 2)
    assert sorted([checked.outcomes(first), checked.outcomes(second)]) == [["done"], ["unproven", "done"]]
    late = first if checked.outcomes(first) == ["unproven", "done"] else second
    assert "two parts at once" in play.attempts(late)[0][1]
    refused = [one for one in play.runs.kinds(run_events.BranchMerged) if one.refused]
    assert [one.task for one in refused] == [late]
    assert "two parts at once" in play.kept("prompt")[2]
    assert checked.task(late).evidence_level == "merged"
    ran = checked.checks_that_ran()
    assert ran.count(("sum", "fail", True)) == 1


FULL_CHECKS = """checks:
  - name: quick
    command: sh check.sh
  - name: slow
    command: sh slow.sh
    tier: full
"""


def test_a_check_of_the_full_tier_runs_only_on_what_is_merged(play):
    files = {"check.sh": "test -f work.txt\n", "slow.sh": "grep -q good work.txt\n"}
    checked = CheckedPlay(play, checks=FULL_CHECKS, files=files)
    (task,) = checked.add("the work")
    script = """
agent.write("work.txt", "bad\\n" if agent.times("turn") == 1 else "good\\n")
agent.done()
"""
    assert checked.run(script).why == "complete"
    assert checked.outcomes(task) == ["unproven", "done"]
    assert checked.checks_that_ran() == [
        ("quick", "pass", False), ("slow", "fail", True), ("quick", "pass", False), ("slow", "pass", True),
    ]  # fmt: skip
