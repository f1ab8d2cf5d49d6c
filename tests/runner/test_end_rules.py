"""Why a run ends."""

import pytest

from binnacle.errors import InvalidInput
from binnacle.runner.budget import RunBudget, RunSpending, check_budget, parse_budget, seconds_left
from binnacle.runner.end_rules import (
    GET_CHECKS,
    MAX_FAILURES,
    MAX_IDLE_ITERATIONS,
    SEE_UNPROVEN,
    TaskCounts,
    count_failures,
    find_end_reason,
)
from binnacle.work.closed_count import ClosedCount

CHECKED = ClosedCount(checked=1)


def why(standing: TaskCounts, **counts: int) -> str | None:
    verdict = find_end_reason(standing, **counts)
    return verdict.why if verdict else None


class TestJudge:
    def test_it_goes_on_while_something_can_be_taken(self):
        assert why(TaskCounts(ready=1, done=3, closed_here=ClosedCount(checked=3))) is None

    def test_it_goes_on_while_something_is_being_done(self):
        assert why(TaskCounts(in_progress=1, blocked=2)) is None

    def test_everything_closed_is_complete(self):
        assert why(TaskCounts(done=2, closed_here=ClosedCount(checked=2))) == "complete"

    def test_complete_says_what_was_proven(self):
        verdict = find_end_reason(TaskCounts(done=12, closed_here=ClosedCount(checked=11, accepted=1)))
        assert verdict is not None
        assert (verdict.why, verdict.said) == ("complete", "12 done: 11 checked, 1 accepted")

    @pytest.mark.parametrize("is_complete", [False, True])
    @pytest.mark.parametrize("level", ["said", "observed"])
    def test_what_is_only_said_is_no_success(self, level, is_complete):
        found = ClosedCount(checked=2, **{level: 1})
        verdict = find_end_reason(TaskCounts(done=3, closed_here=found, is_complete=is_complete))
        assert verdict is not None
        assert (verdict.why, verdict.said) == ("unproven", f"3 done: 2 checked, 1 only {level}")
        assert verdict.hint == SEE_UNPROVEN

    def test_a_project_without_checks_is_told_how_to_get_some(self):
        verdict = find_end_reason(TaskCounts(done=1, closed_here=ClosedCount(said=1)), has_checks=False)
        assert verdict is not None
        assert (verdict.why, verdict.hint) == ("unproven", GET_CHECKS)

    def test_a_run_that_only_cancelled_is_no_success(self):
        verdict = find_end_reason(TaskCounts(cancelled=2, closed_here=ClosedCount(cancelled=2)))
        assert verdict is not None
        assert (verdict.why, verdict.said) == ("no_ready_task", "nothing was done: 2 cancelled")

    def test_a_run_that_did_nothing_is_never_a_success(self):
        assert why(TaskCounts()) == "no_ready_task"
        assert why(TaskCounts(done=5)) == "no_ready_task"
        assert why(TaskCounts(done=5, is_complete=True)) == "no_ready_task"

    def test_completed_by_the_agent_with_blocked_work_says_so(self):
        verdict = find_end_reason(TaskCounts(is_complete=True, closed_here=CHECKED, done=1, blocked=2))
        assert verdict is not None
        assert verdict.why == "complete"
        assert "2 blocked" in verdict.said

    def test_what_came_up_after_the_end_is_done(self):
        assert why(TaskCounts(is_complete=True, closed_here=CHECKED, ready=1)) is None
        assert why(TaskCounts(is_complete=True, closed_here=CHECKED, in_progress=1)) is None

    def test_an_agent_may_give_up(self):
        verdict = find_end_reason(TaskCounts(given_up="no network", ready=3))
        assert verdict is not None
        assert (verdict.why, verdict.said) == ("aborted", "the agent gave up: no network")

    def test_completed_with_an_open_question_is_no_success(self):
        assert why(TaskCounts(is_complete=True, closed_here=CHECKED, needs_input=1)) == "needs_input"

    def test_an_open_question_is_asked_for(self):
        assert why(TaskCounts(needs_input=1, waiting=4, closed_here=CHECKED)) == "needs_input"

    def test_blocked_work_is_named(self):
        verdict = find_end_reason(TaskCounts(blocked=1, waiting=2))
        assert verdict is not None
        assert verdict.why == "no_ready_task"
        assert verdict.said == "no task can be taken: 1 blocked, 2 waiting for those"

    def test_idle_iterations_are_stagnation(self):
        assert why(TaskCounts(ready=1), idle=MAX_IDLE_ITERATIONS - 1) is None
        assert why(TaskCounts(ready=1), idle=MAX_IDLE_ITERATIONS) == "stagnation"

    def test_failures_in_a_row_end_it(self):
        assert why(TaskCounts(ready=1), failures=MAX_FAILURES - 1) is None
        assert why(TaskCounts(ready=1), failures=MAX_FAILURES) == "agent_failing"

    def test_failures_at_one_task_speak_against_the_task(self):
        assert count_failures(["a"] * 9, has_worked=True) == 0
        assert count_failures(["a", "a", "b"], has_worked=True) == 3
        assert count_failures(["a"], has_worked=False) == MAX_FAILURES
        assert count_failures([], has_worked=False) == 0

    def test_what_is_complete_is_complete_although_the_agent_fails(self):
        assert why(TaskCounts(is_complete=True, closed_here=CHECKED), failures=MAX_FAILURES) == "complete"


class TestBudget:
    def test_words_become_limits(self):
        assert parse_budget(["minutes=30", "tokens=500k", "cost=2.5"]) == RunBudget(
            minutes=30, tokens=500_000, cost=2.5
        )

    @pytest.mark.parametrize("word", ["minutes", "minutes=", "minutes=x", "minutes=-1", "tokens=0", "cost=nan", "=1"])
    def test_other_words_are_refused(self, word):
        with pytest.raises(InvalidInput):
            parse_budget([word])

    def test_the_nearest_word_is_named(self):
        with pytest.raises(InvalidInput) as caught:
            parse_budget(["minute=3"])
        assert caught.value.hint == "did you mean 'minutes'?"

    @pytest.mark.parametrize(
        ("budget", "spent"),
        [
            (RunBudget(iterations=2), RunSpending(iterations=2)),
            (RunBudget(minutes=1), RunSpending(seconds=60)),
            (RunBudget(tokens=100), RunSpending(tokens=101)),
            (RunBudget(cost=1), RunSpending(cost=1.0)),
        ],
    )
    def test_each_limit_ends_the_run(self, budget, spent):
        verdict = check_budget(budget, spent)
        assert verdict is not None
        assert verdict.why == "budget"
        assert check_budget(budget, RunSpending()) is None

    def test_time_that_is_left(self):
        assert seconds_left(RunBudget(), RunSpending(seconds=5)) is None
        assert seconds_left(RunBudget(minutes=1), RunSpending(seconds=50)) == 10
        assert seconds_left(RunBudget(minutes=1), RunSpending(seconds=90)) == 0
