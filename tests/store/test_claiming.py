"""Claims are leases: taken one at a time, renewed by activity, lost by silence, and fenced."""

from datetime import timedelta

import pytest

from binnacle.errors import Claimed, HoldsAnother, Refused, StaleClaim, WrongStatus
from binnacle.store import comments, lapsed_claims, notes, task_deletion, task_moves, tasks
from binnacle.store.store import DEFAULT_LEASE
from binnacle.store.tasks import TaskFilter
from binnacle.work.actor import SYSTEM
from places import NOW
from store.verbs import AGENT, ANN, OTHER, actions, again, do, put, ready, rows, see

LAPSED = NOW + DEFAULT_LEASE
MINUTE = timedelta(minutes=1)


def claim(store, *, by=AGENT, now=NOW, which=None, force=False):
    with store.claim(by=by, now=now) as tx:
        move = task_moves.claim_next(tx, which, force=force)
    return move.task if move else None


def test_the_next_task_is_the_first_that_is_ready(store):
    put(store, "later")
    put(store, "urgent", priority=0)
    task = claim(store)
    assert (task.title, task.status, task.claimed_by, task.fence) == ("urgent", "in_progress", AGENT.name, 1)
    assert task.claim_expires_at == NOW + DEFAULT_LEASE
    assert again(store, task) == task
    assert ready(store) == ["later"]
    assert actions(store, task.id) == ["added", "started"]


def test_nothing_ready_gives_nothing(store):
    put(store, status="draft")
    assert claim(store) is None
    assert "started" not in actions(store)


def test_the_next_task_can_be_asked_for_by_kind(store):
    put(store, "task", priority=0)
    put(store, "bug", kind="bug")
    assert claim(store, which=TaskFilter(kind="bug")).title == "bug"
    assert claim(store, by=OTHER, which=TaskFilter(kind="bug")) is None


def test_an_agent_holds_one_task_at_a_time_unless_forced(store):
    first, second = put(store), put(store)
    claim(store)
    with pytest.raises(HoldsAnother, match=first.id):
        do(store, task_moves.start, second.id, by=AGENT)
    assert claim(store, force=True).id == second.id


def test_an_agent_that_claims_again_goes_on_with_what_it_holds(store):
    first = put(store, "first")
    put(store, "bug", kind="bug", priority=0)
    do(store, task_moves.start, first.id, by=AGENT)
    later = NOW + MINUTE
    for which in (None, TaskFilter(kind="bug")):
        with store.claim(by=AGENT, now=later) as tx:
            move = task_moves.claim_next(tx, which)
        assert (move.task.id, move.was_held, move.task.fence) == (first.id, True, 1)
        assert move.task.claim_expires_at == later + DEFAULT_LEASE
    assert actions(store, first.id) == ["added", "started"], "a renewal is no start"


def test_an_agent_whose_claim_lapsed_takes_what_is_next(store):
    first, urgent = put(store, "first"), put(store, "urgent", priority=0)
    do(store, task_moves.start, first.id, by=AGENT)
    assert claim(store, now=LAPSED).id == urgent.id


def test_what_is_next_is_what_the_asker_holds(store):
    first, second = put(store), put(store)
    do(store, task_moves.start, second.id, by=AGENT)
    for by, expected in ((AGENT, second), (OTHER, first), (ANN, first)):
        assert see(store, tasks.find_next_for, by).id == expected.id


def test_a_person_takes_the_next_one_whatever_they_hold(store):
    first, second = put(store), put(store)
    assert [claim(store, by=ANN).id, claim(store, by=ANN).id] == [first.id, second.id]


def test_a_person_holds_as_many_as_they_like_and_for_as_long(store):
    first, second = put(store), put(store)
    for task in (first, second):
        assert do(store, task_moves.start, task.id).task.claim_expires_at is None
    do(store, lapsed_claims.release_lapsed, now=NOW + timedelta(days=1000))
    assert [task.id for task in see(store, tasks.list_held_by, ANN.name)] == [first.id, second.id]


def test_what_another_holds_is_not_taken_unless_forced(store):
    task = put(store)
    do(store, task_moves.start, task.id, by=AGENT)
    for by in (OTHER, ANN):
        with pytest.raises(Claimed, match=f"held by {AGENT.name}"):
            do(store, task_moves.start, task.id, by=by)
    taken = do(store, task_moves.start, task.id, by=OTHER, force=True).task
    assert (taken.claimed_by, taken.fence) == (OTHER.name, 2)


def test_a_waiting_task_is_not_taken_unless_forced(store):
    task = put(store, depends_on=(put(store).id,))
    with pytest.raises(Refused, match="waits for 1"):
        do(store, task_moves.start, task.id, by=AGENT)
    assert do(store, task_moves.start, task.id, by=AGENT, force=True).task.status == "in_progress"


def test_taking_what_one_holds_renews_the_claim_and_keeps_its_fence(store):
    task = do(store, task_moves.start, put(store).id, by=AGENT).task
    renewed = do(store, task_moves.start, task.id, by=AGENT, now=NOW + MINUTE).task
    assert (renewed.fence, renewed.claim_expires_at) == (1, NOW + MINUTE + DEFAULT_LEASE)
    assert actions(store, task.id) == ["added", "started"]


def test_releasing_gives_a_task_back(store):
    task = do(store, task_moves.start, put(store).id, by=AGENT).task
    moved = do(store, task_moves.release, task.id, by=AGENT).task
    assert (moved.status, moved.claimed_by, moved.claim_expires_at) == ("pending", None, None)
    assert claim(store, by=OTHER).fence == 2


def test_only_what_is_in_progress_is_released(store):
    with pytest.raises(WrongStatus, match="is pending, not in progress"):
        do(store, task_moves.release, put(store).id)


def test_the_claim_of_a_silent_agent_lapses_at_its_end_and_not_before(store):
    task = do(store, task_moves.start, put(store).id, by=AGENT).task
    assert do(store, lapsed_claims.release_lapsed, now=LAPSED - timedelta(milliseconds=1)) == []
    assert do(store, lapsed_claims.release_lapsed, now=LAPSED) == [task.id]
    given_back = again(store, task)
    assert (given_back.status, given_back.claimed_by, given_back.fence) == ("pending", None, 1)
    assert actions(store, task.id) == ["added", "started", "lapsed"]
    assert rows(store, "select actor from event where action = 'lapsed'") == [(SYSTEM.name,)]


def test_whether_a_claim_has_lapsed_is_seen_without_changing_anything(store):
    do(store, task_moves.start, put(store).id, by=AGENT)
    for moment, lapsed in ((LAPSED - MINUTE, False), (LAPSED, True)):
        with store.read(now=moment) as tx:
            assert lapsed_claims.has_lapsed(tx) is lapsed


def test_claiming_takes_over_what_has_lapsed(store):
    put(store)
    first = claim(store)
    assert claim(store, by=OTHER, now=LAPSED - MINUTE) is None
    taken = claim(store, by=OTHER, now=LAPSED)
    assert (taken.id, taken.claimed_by, taken.fence) == (first.id, OTHER.name, 2)


def test_starting_takes_over_what_has_lapsed(store):
    task = do(store, task_moves.start, put(store).id, by=AGENT).task
    taken = do(store, task_moves.start, task.id, by=OTHER, now=LAPSED).task
    assert (taken.claimed_by, taken.fence) == (OTHER.name, 2)


@pytest.mark.parametrize(
    "activity",
    [
        lambda tx, task_id: comments.add(tx, task_id, "still at it"),
        lambda tx, task_id: tasks.update(tx, task_id, {"hints": "look here"}),
        lambda tx, _: notes.add(tx, [("tip", "remember")]),
        lambda tx, _: notes.add_progress(tx, "half way"),
    ],
)
def test_every_change_an_agent_makes_renews_its_claim(store, activity):
    task = do(store, task_moves.start, put(store).id, by=AGENT).task
    do(store, activity, task.id, by=AGENT, now=LAPSED - MINUTE)
    assert again(store, task).claim_expires_at == LAPSED - MINUTE + DEFAULT_LEASE
    assert do(store, lapsed_claims.release_lapsed, now=LAPSED) == []


def test_what_others_do_renews_nothing(store):
    task = do(store, task_moves.start, put(store).id, by=AGENT).task
    do(store, comments.add, task.id, "how is it going?", by=OTHER, now=LAPSED - MINUTE)
    do(store, comments.add, task.id, "how is it going?", by=ANN, now=LAPSED - MINUTE)
    assert do(store, lapsed_claims.release_lapsed, now=LAPSED) == [task.id]


def test_the_lease_is_a_setting_of_the_store(place):
    store = place.open(lease=timedelta(seconds=90))
    task = do(store, task_moves.start, put(store).id, by=AGENT).task
    assert task.claim_expires_at == NOW + timedelta(seconds=90)


WRITES = {
    "update": lambda tx, task_id, fence: tasks.update(tx, task_id, {"hints": "overwritten"}, fence=fence),
    "finish": lambda tx, task_id, fence: task_moves.finish(tx, task_id, fence=fence),
    "skip": lambda tx, task_id, fence: task_moves.skip(tx, task_id, reason="dead", fence=fence),
    "block": lambda tx, task_id, fence: task_moves.block(tx, task_id, reason="dead", fence=fence),
    "release": lambda tx, task_id, fence: task_moves.release(tx, task_id, fence=fence),
    "reopen": lambda tx, task_id, fence: task_moves.reopen(tx, task_id, fence=fence),
    "partial": lambda tx, task_id, fence: task_moves.set_status(tx, task_id, "partial", fence=fence),
    "delete": lambda tx, task_id, fence: task_deletion.delete_task(tx, task_id, fence=fence),
}


@pytest.mark.parametrize("write", list(WRITES.values()), ids=list(WRITES))
def test_an_agent_given_up_for_dead_does_not_overwrite_its_successor(store, write):
    dead = do(store, task_moves.start, put(store).id, by=AGENT).task
    heir = do(store, task_moves.start, dead.id, by=OTHER, now=LAPSED).task
    with pytest.raises(StaleClaim, match="the task is now at claim 2"):
        do(store, write, dead.id, dead.fence, by=AGENT, now=LAPSED)
    with pytest.raises(Claimed):
        do(store, write, dead.id, None, by=AGENT, now=LAPSED)
    assert again(store, heir) == heir
    do(store, write, heir.id, heir.fence, by=OTHER, now=LAPSED)


def test_the_dead_do_not_write_even_when_the_successor_is_done(store):
    dead = do(store, task_moves.start, put(store).id, by=AGENT).task
    do(store, task_moves.start, dead.id, by=OTHER, now=LAPSED)
    do(store, task_moves.release, dead.id, by=OTHER, now=LAPSED)
    with pytest.raises(StaleClaim):
        do(store, task_moves.finish, dead.id, by=AGENT, fence=dead.fence, now=LAPSED)


def test_an_agent_whose_claim_lapsed_but_was_not_taken_may_still_finish(store):
    task = do(store, task_moves.start, put(store).id, by=AGENT).task
    do(store, lapsed_claims.release_lapsed, now=LAPSED)
    assert do(store, task_moves.finish, task.id, by=AGENT, fence=task.fence, now=LAPSED).task.status == "done"
