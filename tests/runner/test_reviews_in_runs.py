"""Reviews in runs: a change that somebody has to accept waits for that, and only what was accepted is merged."""

import pytest

from binnacle.runner import run_events
from runner.plays import Play
from runner.reviewed_plays import ReviewedPlay

GOOD = """
agent.write(f"{agent.title}.txt", "good\\n")
agent.write("work.txt", "good\\n")
agent.done()
"""


@pytest.fixture
def reviewed(shared_play: Play) -> ReviewedPlay:
    return ReviewedPlay(shared_play, "person")


def merged(reviewed: ReviewedPlay) -> str:
    return reviewed.repo.git("ls-tree", "--name-only", "bn/words/run")


def test_a_change_waits_for_a_person_and_the_run_goes_on_with_other_work(reviewed):
    first, second = reviewed.add("first", "second")
    ended = reviewed.run(GOOD)
    assert (ended.why, ended.closed, ended.iterations) == ("needs_input", 0, 2)
    assert ended.said == "2 tasks wait for a review"
    assert "bn review list" in ended.hint
    assert [line.rpartition(" (")[2] for line in ended.waiting] == [f"bn review show {one})" for one in (first, second)]
    assert [reviewed.task(one).status for one in (first, second)] == ["in_review"] * 2
    assert [reviewed.outcomes(one) for one in (first, second)] == [["review"]] * 2
    assert reviewed.play.runs.holders() == set()
    assert [one.task_id for one in reviewed.waiting()] == [first, second]
    (review,) = reviewed.reviews(first)
    assert review.commit_id == reviewed.repo.git("rev-parse", f"bn/words/{first}")
    assert reviewed.repo.git("rev-parse", "bn/words/run") == reviewed.base, "nothing is merged before"


def test_what_a_person_accepts_between_runs_is_merged_by_the_next(reviewed):
    (task,) = reviewed.add("the work")
    reviewed.run(GOOD)
    review = reviewed.accept(task)
    assert review.status == "accepted"
    assert reviewed.waiting() == []
    assert reviewed.task(task).status == "in_review", "the merge queue closes it"
    ended = reviewed.run(GOOD, is_resumed=True)
    assert (ended.why, ended.said, ended.iterations) == ("complete", "1 done: 1 accepted", 0)
    done = reviewed.task(task)
    assert (done.status, done.evidence_level) == ("done", "accepted")
    assert "accepted by ann" in done.closed_reason
    assert done.evidence_commit == review.commit_id == reviewed.repo.git("rev-parse", "bn/words/run")
    assert reviewed.outcomes(task) == ["done"]
    assert reviewed.repo.git("branch", "--list", f"bn/words/{task}") == "", "its branch is not needed any more"


def test_what_a_person_accepts_during_the_run_is_merged_in_it(reviewed):
    first, second = reviewed.add("first", "second")

    def accept(event, control):
        if isinstance(event, run_events.ReviewOpened):
            reviewed.accept(event.task)

    ended = reviewed.run(GOOD, on=accept)
    assert (ended.why, ended.said) == ("complete", "2 done: 2 accepted")
    assert {"first.txt", "second.txt"} <= set(merged(reviewed).split())
    assert [reviewed.outcomes(one) for one in (first, second)] == [["done"]] * 2


def test_a_task_that_builds_on_another_waits_until_that_is_accepted(reviewed):
    (first,) = reviewed.add("first")
    (second,) = reviewed.add("second", depends_on=(first,))
    assert reviewed.run(GOOD).iterations == 1
    assert reviewed.task(second).status == "pending"
    reviewed.accept(first)
    ended = reviewed.run(GOOD, is_resumed=True)
    assert (ended.why, ended.closed, ended.iterations) == ("needs_input", 1, 1)
    assert "first.txt" in reviewed.repo.git("ls-tree", "--name-only", f"bn/words/{second}")


def test_what_a_person_asks_for_is_given_to_the_next_attempt_and_followed(reviewed):
    (task,) = reviewed.add("the work")
    reviewed.run("""
agent.write("work.txt", "good\\nbad line\\nlast\\n")
agent.done()
""")
    reviewed.reject(task, "say it politely", path="work.txt", line=2, code="bad line")
    assert reviewed.task(task).status == "pending"
    assert [one.state for one in reviewed.remarks(task)] == ["sent", "sent"]
    ended = reviewed.run(
        """
agent.write("work.txt", "good\\na polite line\\nlast\\n")
agent.done()
""",
        is_resumed=True,
    )
    assert (ended.why, ended.iterations) == ("needs_input", 1)
    prompt = reviewed.play.kept("prompt")[1]
    assert "## What reviewers ask you to change" in prompt
    first, second = reviewed.reviews(task)
    assert f"- work.txt:2 (`bad line`) at {first.commit_id[:8]}: about work.txt" in prompt
    assert "- the change: say it politely" in prompt
    assert {one.path: one.state for one in reviewed.remarks(task)} == {"work.txt": "addressed", "": "seen"}
    assert (first.status, second.status) == ("changes", "open")
    assert reviewed.repo.git("merge-base", first.commit_id, second.commit_id) == first.commit_id, "on the same branch"
    reviewed.accept(task)
    assert reviewed.run(GOOD, is_resumed=True).why == "complete"
    assert {one.state for one in reviewed.remarks(task)} == {"addressed"}
    assert reviewed.outcomes(task) == ["review", "done"]


def test_an_agent_that_changes_nothing_of_what_was_asked_for_is_told_so(reviewed):
    (task,) = reviewed.add("the work")
    reviewed.run(GOOD)
    reviewed.reject(task, "no")
    script = """
if agent.times("turn") > 1:
    agent.write("work.txt", "good and better\\n")
agent.done()
"""
    assert reviewed.run(script, is_resumed=True).iterations == 1
    assert "nothing was changed since" in reviewed.play.kept("prompt")[2]
    assert [one.status for one in reviewed.reviews(task)] == ["changes", "open"]


def test_only_the_accepted_commit_is_merged(reviewed):
    (task,) = reviewed.add("the work")
    reviewed.run(GOOD)
    accepted = reviewed.accept(task).commit_id
    reviewed.repo.git("worktree", "prune")
    reviewed.repo.git("update-ref", f"refs/heads/bn/words/{task}", reviewed.repo.git(
        "commit-tree", f"{reviewed.base}^{{tree}}", "-p", accepted, "-m", "sneaked in"))  # fmt: skip
    assert reviewed.run(GOOD, is_resumed=True).why == "complete"
    assert reviewed.repo.git("rev-parse", "bn/words/run") == accepted
    assert "sneaked in" in reviewed.repo.git("log", "--format=%s", f"bn/words/{task}"), "and is not deleted"


def test_an_accepted_change_that_conflicts_goes_back_to_an_attempt(reviewed):
    first, second = reviewed.add("first", "second")
    reviewed.run("""
agent.write("work.txt", f"good {agent.title}\\n")
agent.done()
""")
    for task in (first, second):
        reviewed.accept(task)
    ended = reviewed.run(
        """
assert "<<<<<<<" in (agent.cwd / "work.txt").read_text()
agent.write("work.txt", "good both\\n")
agent.done()
""",
        is_resumed=True,
    )
    assert (ended.why, ended.closed, ended.iterations) == ("needs_input", 1, 1)
    assert (reviewed.outcomes(first), reviewed.outcomes(second)) == (["done"], ["conflict", "review"])
    assert [one.status for one in reviewed.reviews(second)] == ["accepted", "open"], "another tree needs its own"
    reviewed.accept(second)
    assert reviewed.run(GOOD, is_resumed=True).said == "2 done: 2 accepted"


MERGED = 'test "$(cat *.part | wc -l)" -le 1 || { echo "two parts at once"; exit 1; }\n'


def test_an_accepted_change_that_fails_merged_goes_back_with_its_evidence(shared_play):
    reviewed = ReviewedPlay(shared_play, "person", files={"check.sh": MERGED})
    first, second = reviewed.add("first", "second")
    reviewed.run("""
agent.write(f"{agent.title}.part", "a line\\n")
agent.done()
""")
    for task in (first, second):
        reviewed.accept(task)
    ended = reviewed.run(
        """
agent.write(f"{agent.title}.part", "")
agent.done()
""",
        is_resumed=True,
    )
    assert (ended.why, ended.closed) == ("needs_input", 1)
    assert reviewed.outcomes(second) == ["unproven", "review"]
    assert "two parts at once" in reviewed.play.kept("prompt")[2]


def test_in_the_persons_own_folder_it_waits_as_well(reviewed):
    (task,) = reviewed.add("the work")
    more = {"has_worktree": False, "auto_commit": True}
    assert reviewed.run(GOOD, **more).why == "needs_input"
    reviewed.accept(task)
    assert reviewed.run(GOOD, is_resumed=True, **more).said == "1 done: 1 accepted"
