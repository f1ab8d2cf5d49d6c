"""Agents that review in runs: the run starts them, the majority decides, and a person is asked if they only fail."""

from pathlib import Path

import pytest

from binnacle.errors import Refused
from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.runner.agents.agent_commands import resolve_agent
from binnacle.runner.budget import RunBudget
from binnacle.store import runs
from binnacle.work.session import SessionRecord
from runner.plays import Play
from runner.reviewed_plays import AgentReviewedPlay
from runner.test_reviews_in_runs import GOOD

CRITERIA = {"acceptance_criteria": ("work.txt is good",)}


@pytest.fixture
def reviewed(shared_play: Play) -> AgentReviewedPlay:
    return AgentReviewedPlay(shared_play)


def judged(reviewed: AgentReviewedPlay) -> list[tuple[str, str]]:
    """Each verdict, and the status of its review after it."""
    return [(one.decision, one.status) for one in reviewed.play.runs.kinds(run_events.ReviewJudged)]


def failed(reviewed: AgentReviewedPlay) -> list[str]:
    return [one.outcome for one in reviewed.play.runs.kinds(run_events.ReviewerFailed)]


def reviewers(reviewed: AgentReviewedPlay) -> list[SessionRecord]:
    """The sessions of reviewers, the oldest first."""
    with open_store(reviewed.play.runs.project) as store, store.read() as tx:
        found = runs.find(tx, "words")
        return [one for one in runs.list_sessions(tx, found.id) if one.name.startswith("review ")]


def test_a_run_starts_the_reviewer_and_merges_what_it_accepts(reviewed):
    (task,) = reviewed.add("the work", **CRITERIA)
    ended = reviewed.run_with(GOOD, "agent.keep('said', accept())")
    assert (ended.why, ended.said, ended.iterations) == ("complete", "1 done: 1 accepted", 2)
    assert "Accepted" in reviewed.kept("said")[0]
    assert judged(reviewed) == [("accept", "accepted")]
    done = reviewed.task(task)
    assert (done.status, done.evidence_level) == ("done", "accepted")
    (review,), (verdict,) = reviewed.reviews(task), reviewed.verdicts(task)
    assert done.evidence_commit == review.commit_id == reviewed.repo.git("rev-parse", "bn/words/run")
    assert [(one.criterion, one.place) for one in verdict.criteria] == [("work.txt is good", "work.txt:1")]
    assert verdict.session not in (None, review.session)
    assert [(one.id, one.status) for one in reviewers(reviewed)] == [(verdict.session, "complete")]
    assert reviewed.waiting() == []
    assert reviewed.outcomes(task) == ["done"], "a review is no attempt"


def test_it_is_told_what_is_to_be_judged_and_nothing_that_the_worker_said(reviewed):
    reviewed.add("the work", **CRITERIA)
    work = GOOD.replace("agent.done()", "agent.call('comment-add', task_id=agent.task, text='trust me, it is fine')\n")
    reviewed.run_with(work + "agent.done('believe me, all is well')", "accept()", extra="the worker works fast")
    (prompt,) = reviewed.kept("prompt")
    assert "work.txt is good" in prompt
    assert "words: pass" in prompt
    assert not [words for words in ("trust me", "believe me", "works fast") if words in prompt]


EDITS = """
agent.keep("cwd", str(agent.cwd))
agent.keep("found", str(sorted(path.name for path in agent.cwd.iterdir())))
asked = {"edit": {"kind": "edit", "paths": ["work.txt"]}, "run": {"kind": "execute"}, "read": {"kind": "read"}}
agent.keep("may", str([agent.may({"command": one}, title=one, kind=given["kind"]) for one, given in asked.items()]))
agent.write("work.txt", "spoilt")
agent.keep("tools", str(sorted(agent.tools())))
accept()
"""


def test_it_may_only_use_its_tools_in_an_empty_folder_that_is_thrown_away(reviewed):
    (task,) = reviewed.add("the work", **CRITERIA)
    assert reviewed.run_with(GOOD, EDITS, approve="all").why == "complete"
    assert reviewed.kept("found") == ["[]"]
    assert reviewed.kept("may") == ["[False, False, False]"]
    assert reviewed.kept("tools") == ["['review_file', 'review_get', 'review_verdict']"]
    (folder,) = map(Path, reviewed.kept("cwd"))
    assert not folder.exists()
    assert "worktrees" not in folder.parts
    assert reviewed.repo.git("show", "bn/words/run:work.txt") == "good"
    assert reviewed.task(task).status == "done"


def test_what_it_asks_for_is_in_the_next_attempt_and_reviewed_again(reviewed):
    (task,) = reviewed.add("the work", **CRITERIA)
    work = """
agent.write("work.txt", "good\\n" if agent.times("turn") == 1 else "good and polite\\n")
agent.done()
"""
    review = """
lines = agent.text("review_file", path="work.txt")
remarks = [{"text": "say please", "place": "work.txt:1"}]
accept() if "polite" in lines else refuse("it is rude", remarks=remarks)
"""
    ended = reviewed.run_with(work, review)
    assert (ended.why, ended.iterations) == ("complete", 4)
    assert judged(reviewed) == [("changes", "changes"), ("accept", "accepted")]
    prompt = reviewed.play.kept("prompt")[1]
    assert "## What reviewers ask you to change" in prompt
    assert "say please" in prompt
    assert "it is rude" in prompt
    assert [(one.status, one.round) for one in reviewed.reviews(task)] == [("changes", 1), ("accepted", 2)]
    assert {one.path: one.state for one in reviewed.remarks(task)} == {"work.txt": "addressed", "": "addressed"}
    assert reviewed.outcomes(task) == ["review", "done"]


def test_most_of_several_reviewers_decide_and_no_more_are_started(shared_play):
    reviewed = AgentReviewedPlay(shared_play, reviewers=3)
    (task,) = reviewed.add("the work", **CRITERIA)
    assert reviewed.run_with(GOOD, "accept()").said == "1 done: 1 accepted"
    assert judged(reviewed) == [("accept", "open"), ("accept", "accepted")]
    assert len({one.author for one in reviewed.verdicts(task)}) == 2


def test_reviewers_who_disagree_are_outvoted_by_the_others(shared_play):
    reviewed = AgentReviewedPlay(shared_play, reviewers=3)
    (task,) = reviewed.add("the work", **CRITERIA)
    ended = reviewed.run_with(GOOD, "refuse('a matter of taste') if agent.times('review') == 2 else accept()")
    assert (ended.why, ended.iterations) == ("complete", 4)
    assert judged(reviewed) == [("accept", "open"), ("changes", "open"), ("accept", "accepted")]
    assert reviewed.task(task).evidence_level == "accepted"


def test_agents_look_first_and_then_a_person(shared_play):
    reviewed = AgentReviewedPlay(shared_play, "both")
    (task,) = reviewed.add("the work", **CRITERIA)
    asked = []

    def accept(event, control):
        if isinstance(event, run_events.ReviewOpened):
            assert reviewed.waiting() == []
        if isinstance(event, run_events.ReviewJudged):
            asked.extend(one.task_id for one in reviewed.waiting())
            reviewed.accept(task)

    ended = reviewed.run_with(GOOD, "accept()", on=accept)
    assert asked == [task], "a person is asked after the agents"
    assert (ended.why, ended.said) == ("complete", "1 done: 1 accepted")
    assert "agent bns-" in reviewed.task(task).closed_reason
    assert "ann" in reviewed.task(task).closed_reason


def test_without_the_person_the_run_ends_and_says_for_whom_it_waits(shared_play):
    reviewed = AgentReviewedPlay(shared_play, "both")
    (task,) = reviewed.add("the work", **CRITERIA)
    assert reviewed.run_with(GOOD, "accept()").why == "needs_input"
    assert [one.task_id for one in reviewed.waiting()] == [task]
    assert reviewed.run_with(GOOD, "accept()", is_resumed=True).iterations == 0, "agents have accepted it"
    reviewed.accept(task)
    assert reviewed.run_with(GOOD, "accept()", is_resumed=True).why == "complete"


LOOPS = """
for _ in range(40):
    agent.tool("look", given={"at": "the same"}, status="failed")
"""

FAILING = {
    "unfinished": ("agent.say('I would accept it.')", {}, "I would accept it"),
    "failed": ("os._exit(3)", {}, "exit code 3"),
    "repeating": (LOOPS, {}, "the same again and again"),
    "limit": ("agent.cost(9.0)", {"task_budget": RunBudget(cost=5.0)}, "more than one task may"),
}


@pytest.mark.parametrize("outcome", FAILING)
def test_after_reviewers_who_give_no_verdict_a_person_decides(reviewed, outcome):
    script, options, said = FAILING[outcome]
    (task,) = reviewed.add("the work", **CRITERIA)
    ended = reviewed.run_with(GOOD, script, **options)
    assert (ended.why, ended.iterations) == ("needs_input", 4)
    assert failed(reviewed) == [outcome] * 3
    assert [one.status for one in reviewers(reviewed)] == ["aborted"] * 3
    (asked,) = reviewed.waiting()
    assert "3 reviewers gave no verdict" in asked.body
    assert said in asked.body
    assert "3 reviewers gave no verdict" in ended.waiting[0]
    assert reviewed.task(task).status == "in_review"
    assert reviewed.accept(task).status == "accepted"
    ended = reviewed.run_with(GOOD, script, is_resumed=True, **options)
    assert (ended.why, ended.said, ended.iterations) == ("complete", "1 done: 1 accepted", 0)
    assert "accepted by ann" in reviewed.task(task).closed_reason


def test_an_agent_that_only_talks_is_reminded_of_its_verdict(reviewed):
    reviewed.add("the work", **CRITERIA)
    ended = reviewed.run_with(GOOD, "accept() if agent.times('turn') > 1 else agent.say('I accept it')")
    assert (ended.why, ended.iterations) == ("complete", 2)
    assert "give your verdict on the change with review_verdict" in reviewed.kept("prompt")[1]


def test_a_verdict_counts_although_its_agent_fails_afterwards(reviewed):
    reviewed.add("the work", **CRITERIA)
    assert reviewed.run_with(GOOD, "accept(); os._exit(3)").why == "complete"
    assert (judged(reviewed), failed(reviewed)) == ([("accept", "accepted")], [])


def test_another_reviewer_takes_the_place_of_one_that_failed(reviewed):
    reviewed.add("the work", **CRITERIA)
    ended = reviewed.run_with(GOOD, "os._exit(3) if agent.times('review') < 3 else accept()")
    assert (ended.why, ended.iterations) == ("complete", 4)
    assert failed(reviewed) == ["failed", "failed"]


def test_after_too_many_rounds_a_person_is_asked(shared_play):
    reviewed = AgentReviewedPlay(shared_play, rounds=2)
    (task,) = reviewed.add("the work", **CRITERIA)
    work = 'agent.write("work.txt", "good" * agent.times("turn"))\nagent.done()\n'
    assert reviewed.run_with(work, "refuse('still not right')").why == "needs_input"
    assert [one.status for one in reviewed.reviews(task)] == ["changes", "changes"]
    assert "reviewers asked for changes 2 times" in reviewed.question(task)
    assert "still not right" in reviewed.question(task)


def test_a_reviewer_counts_against_the_budget(reviewed):
    reviewed.add("the work", **CRITERIA)
    ended = reviewed.run_with(GOOD, "accept()", budget=RunBudget(iterations=1))
    assert (ended.why, ended.iterations, reviewed.kept("prompt")) == ("budget", 1, [])
    spend = "agent.cost(2.0); agent.tokens(50); accept()"
    ended = reviewed.run_with(GOOD, spend, budget=RunBudget(iterations=3), is_resumed=True)
    assert (ended.why, ended.cost, ended.tokens) == ("complete", 2.0, 50)


def test_a_reviewer_that_exceeds_the_budget_of_the_run_is_resumed(reviewed):
    (task,) = reviewed.add("the work", **CRITERIA)
    script = "agent.cost(3.0) if agent.times('review') == 1 else accept()"
    assert reviewed.run_with(GOOD, script, budget=RunBudget(cost=2.5)).why == "budget"
    ended = reviewed.run_with(GOOD, script, budget=RunBudget(cost=9.0), is_resumed=True)
    assert (ended.why, ended.iterations, ended.cost) == ("complete", 1, 3.0)
    assert "This iteration was interrupted" in reviewed.kept("prompt")[1]
    assert len(reviewers(reviewed)) == len(reviewed.verdicts(task)) == 1


def test_reviews_of_several_changes_go_on_beside_the_work(reviewed):
    tasks = reviewed.add("first", "second", "third", acceptance_criteria=("it is there",))
    work = 'agent.write(f"{agent.title}.txt", "good\\n")\nagent.write("work.txt", "good\\n")\nagent.done()\n'
    ended = reviewed.run_with(work, "accept()", workers=2)
    assert (ended.why, ended.said, ended.iterations) == ("complete", "3 done: 3 accepted", 6)
    assert [len(reviewed.verdicts(one)) for one in tasks] == [1, 1, 1]


def test_a_reviewer_has_the_agent_and_the_recipe_of_its_stage(reviewed):
    folder = reviewed.repo.path / ".binnacle/recipes"
    folder.mkdir(parents=True)
    (folder / "strict.yaml").write_text("extends: code_review\ninstructions: [Be strict.]\n")
    reviewed.add("the work", **CRITERIA)
    agents = (("review", resolve_agent(reviewed.reviewer("accept()")), "strict"),)
    assert reviewed.run(GOOD, agents=agents).why == "complete"
    assert "Be strict." in reviewed.kept("prompt")[0]
    assert [one.recipe for one in reviewers(reviewed)] == ["strict"]


def test_without_an_agent_of_its_own_the_stage_has_that_of_the_run(reviewed):
    (task,) = reviewed.add("the work", **CRITERIA)
    script = """
if "review_verdict" in agent.tools():
    agent.keep("review", agent.prompt)
    shown = [{"criterion": 1, "met": True, "place": "work.txt:1"}]
    review = agent.prompt.partition("(review ")[2].partition(")")[0]
    agent.text("review_verdict", review=review, decision="accept", criteria=shown)
else:
    agent.write("work.txt", "good\\n")
    agent.done()
"""
    assert reviewed.run(script).said == "1 done: 1 accepted"
    assert len(reviewed.play.kept("review")) == 1
    assert reviewed.verdicts(task)[0].session != reviewed.reviews(task)[0].session


def test_a_recipe_without_a_verdict_is_refused_before_anything_begins(reviewed):
    reviewed.add("the work", **CRITERIA)
    agents = (("review", resolve_agent(reviewed.reviewer("accept()")), "chat"),)
    with pytest.raises(Refused, match="no tool for a verdict"):
        reviewed.run(GOOD, agents=agents)


def test_in_the_persons_own_folder_agents_review_as_well(reviewed):
    reviewed.add("the work", **CRITERIA)
    ended = reviewed.run_with(GOOD, "accept()", has_worktree=False, auto_commit=True)
    assert (ended.why, ended.said) == ("complete", "1 done: 1 accepted")
    assert reviewed.repo.status == ""
