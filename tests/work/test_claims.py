"""Who may take a task, who may write to it, and until when."""

from datetime import timedelta

import pytest

from binnacle.errors import Claimed, HoldsAnother, Refused, StaleClaim, WrongStatus
from binnacle.work.status import STATUSES
from binnacle.work.task import check_holds_none_but, check_start, check_write, find_held, lease_end, may_take
from places import NOW
from work.builders import AGENT, HOUR, OTHER, PERSON, a_task, held

SECOND = timedelta(seconds=1)


def test_a_free_task_may_be_taken():
    assert may_take(a_task(), by=AGENT, now=NOW)


def test_a_task_under_a_live_claim_may_be_taken_by_its_holder_only():
    task = held(AGENT)
    assert may_take(task, by=AGENT, now=NOW)
    assert not may_take(task, by=OTHER, now=NOW)


@pytest.mark.parametrize(("left", "free"), [(SECOND, False), (timedelta(0), True), (-SECOND, True)])
def test_a_claim_lapses_at_its_end_and_not_before(left, free):
    assert may_take(held(AGENT, claim_expires_at=NOW + left), by=OTHER, now=NOW) is free


def test_the_claim_of_a_person_never_lapses():
    task = held(PERSON, claim_expires_at=None)
    assert not may_take(task, by=AGENT, now=NOW + timedelta(days=1000))
    assert lease_end(PERSON, now=NOW, lease=HOUR) is None


def test_the_claim_of_an_agent_lasts_a_lease():
    assert lease_end(AGENT, now=NOW, lease=HOUR) == NOW + HOUR


@pytest.mark.parametrize("status", STATUSES)
def test_a_task_is_started_from_every_status_but_draft_in_review_and_closed_ones(status):
    if status in ("draft", "in_review", "done", "cancelled"):
        with pytest.raises(WrongStatus, match=status):
            check_start(a_task(status=status), by=AGENT, now=NOW, holding=[], force=True)
    else:
        check_start(a_task(status=status), by=AGENT, now=NOW, holding=[])


def test_a_task_of_another_is_not_started_unless_forced():
    with pytest.raises(Claimed, match=f"held by {AGENT.name}") as caught:
        check_start(held(AGENT), by=OTHER, now=NOW, holding=[])
    assert caught.value.details == {"holder": AGENT.name, "fence": 1, "expires_at": (NOW + HOUR).isoformat()}
    check_start(held(AGENT), by=OTHER, now=NOW, holding=[], force=True)


def test_a_person_does_not_start_what_an_agent_holds_either():
    with pytest.raises(Claimed):
        check_start(held(AGENT), by=PERSON, now=NOW, holding=[])


def test_a_waiting_task_is_not_started_unless_forced():
    task = a_task(open_dependencies=1)
    with pytest.raises(Refused, match="waits for 1 unfinished"):
        check_start(task, by=AGENT, now=NOW, holding=[])
    check_start(task, by=AGENT, now=NOW, holding=[], force=True)


def test_an_agent_holds_one_task_at_a_time_unless_forced():
    first = held(AGENT, id="bn-0001")
    with pytest.raises(HoldsAnother, match="already works on bn-0001"):
        check_start(a_task(), by=AGENT, now=NOW, holding=[first])
    check_start(a_task(), by=AGENT, now=NOW, holding=[first], force=True)


def test_an_agent_may_start_again_what_it_holds():
    task = held(AGENT)
    assert check_start(task, by=AGENT, now=NOW, holding=[task]) is None


def test_a_person_may_hold_several():
    assert check_holds_none_but("bn-0002", by=PERSON, holding=[held(PERSON)], force=False) is None


def test_an_agent_goes_on_with_what_it_holds_and_a_person_is_free_to_choose():
    first, second = held(AGENT, id="bn-0001"), held(AGENT, id="bn-0002")
    assert find_held([first, second], by=AGENT) == first
    assert find_held([], by=AGENT) is None
    assert find_held([held(PERSON)], by=PERSON) is None


def test_anyone_may_write_to_a_task_that_nobody_holds():
    assert check_write(a_task(), by=AGENT, now=NOW, fence=None) is None


def test_an_agent_does_not_write_to_the_task_of_another():
    with pytest.raises(Claimed, match=f"held by {AGENT.name}"):
        check_write(held(AGENT), by=OTHER, now=NOW, fence=None)
    check_write(held(AGENT), by=OTHER, now=NOW, fence=None, force=True)


def test_a_person_may_write_to_what_an_agent_holds():
    assert check_write(held(AGENT), by=PERSON, now=NOW, fence=None) is None


@pytest.mark.parametrize("fence", [0, 1, 3])
def test_a_claim_that_was_lost_does_not_write_even_by_force(fence):
    task = held(AGENT, fence=2)
    for force in (False, True):
        with pytest.raises(StaleClaim, match=f"claim {fence} on bn-aaaa was lost; the task is now at claim 2"):
            check_write(task, by=AGENT, now=NOW, fence=fence, force=force)


def test_the_newest_claim_writes():
    assert check_write(held(AGENT, fence=2), by=AGENT, now=NOW, fence=2) is None


def test_fence_zero_is_a_fence_and_not_none():
    with pytest.raises(StaleClaim):
        check_write(held(AGENT, fence=1), by=AGENT, now=NOW, fence=0)
