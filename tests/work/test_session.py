"""Sessions and agents: one task and one summary an iteration, an end only when nothing is open."""

from datetime import timedelta

import pytest

from binnacle.errors import Refused
from binnacle.work.session import (
    Agent,
    Iteration,
    agent_status,
    check_complete,
    check_start_in_iteration,
    check_summary,
)
from places import NOW

AGENT = Agent(id="bna-0001", name="worker", registered="mcp", created_at=NOW, active_at=NOW)


def an_iteration(**fields):
    return Iteration(session="bns-0001", number=3, started_at=NOW, **fields)


def test_an_iteration_starts_one_task():
    check_start_in_iteration(an_iteration(), "bn-aaaa")
    check_start_in_iteration(an_iteration(task_started="bn-aaaa"), "bn-aaaa")
    with pytest.raises(Refused, match="iteration 3 already works on bn-aaaa"):
        check_start_in_iteration(an_iteration(task_started="bn-aaaa"), "bn-bbbb")


def test_an_iteration_has_one_summary():
    check_summary(an_iteration())
    with pytest.raises(Refused, match="iteration 3 already has a summary"):
        check_summary(an_iteration(summary="done"))


def test_a_session_is_complete_when_nothing_is_open():
    check_complete([])
    with pytest.raises(Refused, match=r"2 task\(s\) are not finished: bn-0001, bn-0002$"):
        check_complete(["bn-0001", "bn-0002"])


def test_many_open_tasks_are_told_by_five():
    with pytest.raises(Refused, match="bn-4 and 3 more"):
        check_complete([f"bn-{number}" for number in range(8)])


@pytest.mark.parametrize(
    ("silence", "status"),
    [
        (timedelta(0), "active"),
        (timedelta(minutes=5) - timedelta(seconds=1), "active"),
        (timedelta(minutes=5), "idle"),
        (timedelta(minutes=30) - timedelta(seconds=1), "idle"),
        (timedelta(minutes=30), "stale"),
    ],
)
def test_an_agent_grows_idle_and_then_stale(silence, status):
    assert agent_status(AGENT, now=NOW + silence, is_alive=True) == status


def test_an_agent_whose_process_is_gone_is_stale_at_once():
    assert agent_status(AGENT, now=NOW, is_alive=False) == "stale"
