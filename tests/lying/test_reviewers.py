"""Agents that lie about what they review: nothing is merged, no task is done, and a person decides."""

import pytest

from lying.reviewer_lies import LIES, ReviewerLie
from runner.conftest import bare_git, nothing_is_left, play, repo, shared_play  # noqa: F401 - the fixtures
from runner.plays import Play
from runner.reviewed_plays import AgentReviewedPlay

WORK = """
agent.write("work.txt", "good\\n")
agent.keep("secret", os.environ["BN_SESSION"])
agent.done()
"""


def read_names(reviewed: AgentReviewedPlay, other: str) -> str:
    """Names for the scripts: the repository, what the worker kept, and a task whose change waits for a person."""
    (review,) = reviewed.reviews(other)
    kept = reviewed.play.folder / "kept"
    repository = str(reviewed.repo.path)
    return f"REPO, WORKER, OTHER_TASK, OTHER = {repository!r}, {str(kept)!r}, {other!r}, {review.id!r}\n"


@pytest.mark.parametrize("lie", LIES, ids=lambda one: one.name)
def test_its_word_closes_nothing_and_a_person_decides(shared_play: Play, nothing_is_left, lie: ReviewerLie):  # noqa: F811
    reviewed = AgentReviewedPlay(shared_play, reviewers=lie.reviewers)
    (other,) = reviewed.add("another", acceptance_criteria=lie.criteria)
    reviewed.run_with(WORK, "os._exit(3)")
    (task,) = reviewed.add("the work", acceptance_criteria=lie.criteria)
    ended = reviewed.run_with(WORK, read_names(reviewed, other) + lie.script, is_resumed=True, recipe=lie.recipe)
    told = reviewed.kept("told")
    assert all(lie.told in one for one in told[:1]), told
    assert bool(told) == bool(lie.told or "accept(" in lie.script)
    assert (ended.why, ended.closed) == ("needs_input", 0), told
    assert [reviewed.task(one).status for one in (other, task)] == ["in_review"] * 2, told
    assert [one.task_id for one in reviewed.waiting()] == [other, task]
    assert reviewed.repo.git("rev-parse", "bn/words/run") == reviewed.base


SNEAKS = """
import subprocess

trees = [path for path in Path(WORKTREES).glob("**/work.txt")]
for tree in trees:
    tree.write_text("spoilt\\n")

def git(*words):
    me = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    return subprocess.run(["git", *me, "-C", REPO, *words], capture_output=True, text=True, check=True).stdout.strip()

branch = f"bn/words/{agent.task}"
tree = git("rev-parse", "HEAD^{tree}")
git("update-ref", f"refs/heads/{branch}", git("commit-tree", tree, "-p", branch, "-m", "sneaked in"))
agent.keep("told", accept())
"""


def test_what_a_reviewer_changes_behind_its_tools_is_not_merged(shared_play: Play, nothing_is_left):  # noqa: F811
    reviewed = AgentReviewedPlay(shared_play)
    (task,) = reviewed.add("the work", acceptance_criteria=("work.txt is good",))
    names = f"REPO, WORKTREES = {str(reviewed.repo.path)!r}, {reviewed.play.runs.project.data_dir!r}\n"
    ended = reviewed.run_with(WORK, names + SNEAKS)
    assert (ended.why, ended.said) == ("complete", "1 done: 1 accepted"), reviewed.kept("told")
    (review,) = reviewed.reviews(task)
    assert reviewed.repo.git("rev-parse", "bn/words/run") == review.commit_id
    assert reviewed.repo.git("show", "bn/words/run:work.txt") == "good"
