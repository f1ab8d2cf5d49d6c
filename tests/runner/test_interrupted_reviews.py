"""Reviews of agents in runs that are killed or stopped in the middle: nothing is done twice, and nothing is lost."""

import os

import pytest

from binnacle.runner import run_events
from runner.plays import Play
from runner.reviewed_plays import AgentReviewedPlay
from runner.running_commands import RunningCommand
from runner.test_agent_reviews import CRITERIA, reviewers
from runner.test_reviews_in_runs import GOOD

WORDS = ("--name", "words", "--approve", "all", "--worktree")

KILLED = {
    "before its verdict": """
if agent.times("review") == 1:
    agent.say("I have read it.")
    agent.wait("never")
accept()
""",
    "after its verdict": "accept()\nagent.keep('judged', '')\nagent.wait('never')",
}


@pytest.fixture
def reviewed(shared_play: Play, nothing_is_left) -> AgentReviewedPlay:
    return AgentReviewedPlay(shared_play)


def begin(reviewed: AgentReviewedPlay, review: str) -> RunningCommand:
    """The run as a process of its own."""
    agents = ("--agent", reviewed.play.agent(GOOD), "--agent-for", f"review={reviewed.reviewer(review)}")
    return RunningCommand(reviewed.play.runs, *agents, *WORDS)


@pytest.mark.parametrize("moment", KILLED)
def test_a_killed_run_resumes_the_reviewer_and_asks_nobody_twice(reviewed, moment):
    (task,) = reviewed.add("the work", **CRITERIA)
    with begin(reviewed, KILLED[moment]) as running:
        running.until("iteration_started", reviewer=1)
        running.until("prompted")
        if moment == "after its verdict":
            reviewed.wait_for(task, "accepted")
        else:
            running.until("said")
        running.process.kill()
    (before,) = reviewers(reviewed)
    ended = reviewed.run_with(GOOD, KILLED[moment], is_resumed=True)
    assert (ended.why, ended.said) == ("complete", "1 done: 1 accepted")
    (after,), (verdict,) = reviewers(reviewed), reviewed.verdicts(task)
    assert (before.status, after.status) == ("active", "complete")
    assert after.id == before.id == verdict.session
    assert len(reviewed.reviews(task)) == 1
    assert len(reviewed.kept("prompt")) == (1 if moment == "after its verdict" else 2)
    assert reviewed.outcomes(task) == ["done"]


def test_a_stop_interrupts_the_reviewer_which_goes_on_later(reviewed):
    (task,) = reviewed.add("the work", **CRITERIA)
    review = "agent.times('review') == 1 and agent.cancelled.wait(60)\naccept() if agent.times('turn') > 1 else None"

    def stop(event, control):
        if isinstance(event, run_events.AgentPrompted) and "You review the change" in event.text:
            control.stop()

    assert reviewed.run_with(GOOD, review, on=stop).why == "interrupted"
    assert reviewed.task(task).status == "in_review"
    assert reviewed.run_with(GOOD, review, is_resumed=True).said == "1 done: 1 accepted"
    assert len(reviewers(reviewed)) == 1


def test_what_a_person_decides_meanwhile_ends_the_review(reviewed):
    (task,) = reviewed.add("the work", **CRITERIA)
    review = "agent.say('I have read it.')\nagent.wait('decided')\nagent.keep('told', accept())"

    def reject(event, control):
        if isinstance(event, run_events.AgentSaid) and not (reviewed.folder / "kept/decided").exists():
            reviewed.reject(task, "not like this")
            (reviewed.folder / "kept/decided").touch()

    work = 'agent.write("work.txt", "good" * agent.times("turn"))\nagent.done()\n'
    assert reviewed.run_with(work, review, on=reject).why == "complete"
    assert "is over: changes" in reviewed.kept("told")[0]
    assert [one.status for one in reviewed.reviews(task)] == ["changes", "accepted"]
    assert "not like this" in reviewed.play.kept("prompt")[1]


def test_the_folders_of_killed_reviewers_are_removed(reviewed):
    reviewed.add("the work", **CRITERIA)
    left = os.path.join(reviewed.play.runs.project.data_dir, "reviewers")
    with begin(reviewed, KILLED["before its verdict"]) as running:
        running.until("iteration_started", reviewer=1)
        running.until("prompted")
        running.process.kill()
    assert reviewed.run_with(GOOD, "accept()", is_resumed=True).why == "complete"
    assert os.listdir(left) == []
