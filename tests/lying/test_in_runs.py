"""Agents that lie in a run about the work on their task: none is done, a person reads why, and nothing is merged."""

import subprocess
import sys

import pytest

from lying.deceits import DECEITS, RUN_DECEITS
from lying.lies import ASKS_PERSON, FORGETFUL, HONEST, LIARS, TRICKSTERS
from lying.runs import integrated, run_agent
from runner.conftest import bare_git, nothing_is_left, play, repo, shared_play  # noqa: F401 - the fixtures


@pytest.mark.parametrize("agent", LIARS, ids=lambda one: one.name)
def test_it_is_not_done_a_person_reads_why_and_nothing_is_merged(shared_play, nothing_is_left, agent):  # noqa: F811
    found = run_agent(shared_play, agent)
    status = "in_review" if ASKS_PERSON in agent.reason else "needs_input"
    assert (found.status, found.ended.why, found.ended.closed) == (status, "needs_input", 0), found.said
    for words in agent.in_run or agent.reason:
        assert words in found.said
    assert integrated(shared_play) == found.base


@pytest.mark.parametrize("agent", FORGETFUL, ids=lambda one: one.name)
def test_what_is_left_uncommitted_is_committed_by_the_run_and_judged_as_that(shared_play, agent):  # noqa: F811
    """Such work is not lost in a run: its files become a commit, and what the checks say of it is true."""
    found = run_agent(shared_play, agent)
    assert (found.status, found.level) == ("done", "merged"), found.said
    made = shared_play.runs.repo
    made.git("checkout", "--quiet", "--detach", "bn/words/run")
    assert made.git("log", "--format=%s", f"{found.base}..HEAD").splitlines()[0] == "Round totals"
    total = "from cart import total; assert total([0.1, 0.2]) == 0.3"
    subprocess.run([sys.executable, "-c", total], cwd=made.path, check=True, timeout=60)


@pytest.mark.parametrize("agent", [*TRICKSTERS, *DECEITS, *RUN_DECEITS], ids=lambda one: one.name)
def test_no_trick_helps(play, nothing_is_left, agent):  # noqa: F811
    found = run_agent(play, agent)
    assert found.status != "done", found.said
    for words in agent.in_run or agent.reason:
        assert words in found.said
    assert integrated(play) == found.base


@pytest.mark.parametrize("agent", HONEST, ids=lambda one: one.name)
def test_an_honest_agent_is_done_with_its_first_word(shared_play, agent):  # noqa: F811
    found = run_agent(shared_play, agent)
    assert (found.status, found.level, found.ended.why) == ("done", "merged", "complete"), found.said
    assert len(found.prompts) == 1
