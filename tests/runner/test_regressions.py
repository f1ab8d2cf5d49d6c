"""A later task of a run breaks what an earlier one was closed with: it is found, named by commit, and reopened."""

import pytest

from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.store import comments
from runner.checked_plays import CheckedPlay

CHECKS = """checks:
  - name: parts
    command: sh -c "ls part*.txt"
  - name: parser
    command: sh parser_check.sh
    paths: [docs/**]
"""
"""One check that every task needs, and one that only concerns files which no task touches: only a task names it."""

PARSER_CHECK = "grep -q good parser.txt || { echo 'the parser is not good'; exit 1; }\n"

SCRIPT = """
number = agent.title.split()[-1]
agent.write(f"part{number}.txt", number)
if number == "3":
    agent.write("parser.txt", "good, by attempt " + str(agent.times("parser")) + "\\n")
if number == "7":
    agent.write("parser.txt", "worse\\n")
agent.done()
"""


ASKING = """
if agent.title.endswith("5"):
    agent.call("task-update", id=agent.task, status="needs_input", reason="which one?")
else:
""" + SCRIPT.replace("\n", "\n    ")


def twelve(checked: CheckedPlay) -> list[str]:
    """The ids of twelve tasks, of which the third names the check of the parser."""
    return [checked.add(f"the part {number}", checks=("parser",) if number == 3 else ())[0] for number in range(1, 13)]


def bodies(checked: CheckedPlay, task_id: str) -> list[str]:
    with open_store(checked.play.runs.project) as store, store.read() as tx:
        return [one.body for one in comments.list_comments(tx, task_id)]


@pytest.mark.parametrize("options", [{}, {"has_worktree": False, "auto_commit": True}], ids=["trees", "in place"])
def test_a_regression_by_task_7_of_12_is_found_named_by_commit_and_reopened(shared_play, options):
    checked = CheckedPlay(shared_play, checks=CHECKS, files={"parser_check.sh": PARSER_CHECK})
    ids = twelve(checked)
    ended = checked.run(SCRIPT, **options)
    third, seventh = ids[2], ids[6]
    culprit = checked.task(seventh).evidence_commit
    (found,) = shared_play.runs.kinds(run_events.RegressionFound)
    assert (found.task, found.how, found.check) == (third, "reopened", "parser")
    assert (found.commit, found.broken_by) == (culprit, seventh)
    (said,) = bodies(checked, third)
    assert "the check 'parser' no longer passes" in said
    assert f"the commit {culprit[:8]} (the part 7), of {seventh} (the part 7) broke it" in said
    prompt = shared_play.kept("prompt")[12]
    assert "the part 3" in prompt
    assert culprit[:8] in prompt
    assert seventh in prompt
    assert "the parser is not good" in prompt
    assert (ended.why, ended.closed, ended.iterations) == ("complete", 12, 13)
    assert checked.outcomes(third) == ["done", "done"]
    assert all(checked.outcomes(one) == ["done"] for one in ids if one != third)
    probes = [one for one in shared_play.runs.kinds(run_events.CheckEnded) if one.check == "parser" and not one.task]
    assert len(probes) <= 5, "the head, and four halves of nine commits"


def test_what_is_known_of_the_head_is_not_run_again_on_resume(play):
    checked = CheckedPlay(play, checks=CHECKS, files={"parser_check.sh": PARSER_CHECK})
    (third,) = checked.add("the part 3", checks=("parser",))
    checked.add("the part 4", "the part 5")
    options = {"has_worktree": False, "auto_commit": True}
    assert checked.run(ASKING, **options).why == "needs_input"
    ran = len(checked.checks_that_ran())
    verified = [one.check for one in play.runs.kinds(run_events.CheckEnded) if not one.task]
    assert verified == ["parser"], "the other check ran on the last commit anyway"
    assert checked.run(ASKING, is_resumed=True, **options).why == "needs_input"
    assert len(checked.checks_that_ran()) == ran
    by_hand = checked.repo.commit("by hand", {"parser.txt": "worse\n"})
    assert checked.run(ASKING, is_resumed=True, **options).why == "needs_input"
    (found,) = play.runs.kinds(run_events.RegressionFound)
    assert (found.task, found.how, found.commit, found.broken_by) == (third, "reopened", by_hand, "")
    assert "(by hand)" in found.said
    assert checked.outcomes(third) == ["done", "done"]


def test_tasks_that_break_each_other_again_and_again_are_handed_to_a_person(play):
    checked = CheckedPlay(play, checks=CHECKS.replace("docs/**", "docs/**, none") + OTHER, files=BOTH)
    first, second = checked.add("the part 3", checks=("parser",))[0], checked.add("the part 5", checks=("other",))[0]
    ended = checked.run(FIGHT, max_attempts=2)
    assert ended.why == "needs_input"
    assert "needs_input" in (checked.task(first).status, checked.task(second).status)
    handed = [one for one in play.runs.kinds(run_events.RegressionFound) if one.how == "handed over"]
    assert len(handed) == 1
    assert "done and broken again" in checked.question(handed[0].task)
    assert len(play.runs.kinds(run_events.RegressionFound)) <= 5


OTHER = """  - name: other
    command: sh other_check.sh
    paths: [docs/**]
"""
BOTH = {
    "parser_check.sh": "grep -q parser who.txt\n",
    "other_check.sh": "grep -q other who.txt\n",
}
FIGHT = """
number = agent.title.split()[-1]
agent.write(f"part{number}.txt", str(agent.times("turn")))
agent.write("who.txt", ("parser" if number == "3" else "other") + "\\n")
agent.done()
"""
