"""How tasks move from status to status."""

from datetime import timedelta

import pytest

from binnacle.errors import Duplicate, InvalidInput, Refused, WrongStatus
from binnacle.store import comments, dependencies, task_moves, tasks
from binnacle.work.status import STATUSES
from binnacle.work.task import NewTask
from places import NOW
from store.verbs import ANN, actions, again, contents, do, put, ready, rows, see

LATER = NOW + timedelta(hours=1)


def in_status(store, status):
    """A task that came to be in `status`."""
    if status != "in_progress":
        return put(store, status=status)
    return do(store, task_moves.start, put(store).id).task


def test_finishing_closes_a_task_and_gives_it_free(store):
    task = in_status(store, "in_progress")
    moved = do(store, task_moves.finish, task.id, reason="merged in #12", now=LATER).task
    assert (moved.status, moved.closed_reason, moved.closed_at) == ("done", "merged in #12", LATER)
    assert (moved.claimed_by, moved.claim_expires_at) == (None, None)
    assert actions(store, task.id) == ["added", "started", "done"]


def test_a_task_with_unfinished_parts_is_not_finished_unless_forced(store):
    whole = put(store)
    part = put(store, parent=whole.id)
    with pytest.raises(Refused, match=f"unfinished parts: {part.id}"):
        do(store, task_moves.finish, whole.id)
    do(store, task_moves.finish, part.id)
    assert do(store, task_moves.finish, whole.id).task.status == "done"


def test_a_waiting_task_is_not_finished_unless_forced(store):
    task = put(store, depends_on=(put(store).id,))
    with pytest.raises(Refused, match=r"depends on 1 task\(s\)"):
        do(store, task_moves.finish, task.id)
    assert do(store, task_moves.finish, task.id, force=True).task.status == "done"


def test_skipping_needs_a_reason(store):
    task = put(store)
    for reason in ("", "  ", "\x1b"):
        with pytest.raises(InvalidInput, match="a reason is needed"):
            do(store, task_moves.skip, task.id, reason=reason)
    moved = do(store, task_moves.skip, task.id, reason="obsolete").task
    assert (moved.status, moved.closed_reason) == ("cancelled", "obsolete")


@pytest.mark.parametrize("status", ["done", "cancelled"])
def test_what_is_closed_is_not_moved_but_by_reopening(store, status):
    task = put(store, status=status)
    before = contents(store)
    for target in STATUSES:
        if target != "pending":
            with pytest.raises(WrongStatus, match=f"is (already )?{status}"):
                do(store, task_moves.set_status, task.id, target, reason="because", force=True)
    assert contents(store) == before


def test_blocking_says_why_in_a_comment(store):
    task = in_status(store, "in_progress")
    moved = do(store, task_moves.block, task.id, reason="no access").task
    assert (moved.status, moved.claimed_by) == ("blocked", None)
    assert [comment.body for comment in see(store, comments.list_comments, task.id)] == ["Blocked: no access"]


def test_blocking_needs_a_reason(store):
    task = put(store)
    before = contents(store)
    with pytest.raises(InvalidInput, match="needed to block a task"):
        do(store, task_moves.block, task.id, reason="")
    assert contents(store) == before


def test_blocked_on_another_task_it_becomes_ready_by_itself(store):
    first = put(store, "first")
    task = do(store, task_moves.start, put(store, "second").id).task
    moved = do(store, task_moves.block, task.id, reason="needs the table", on=first.id).task
    assert (moved.status, moved.claimed_by, moved.open_dependencies) == ("pending", None, 1)
    assert [known.reason for known in see(store, dependencies.dependencies_of, [task.id])[task.id]] == [
        "needs the table"
    ]
    assert ready(store) == ["first"]
    assert do(store, task_moves.finish, first.id).unblocked == (task.id,)
    assert ready(store) == ["second"]


@pytest.mark.parametrize("close", [task_moves.finish, lambda tx, one: task_moves.skip(tx, one, reason="not wanted")])
def test_blocked_on_what_is_closed_it_waits_for_someone_to_look(store, close):
    first = put(store, "first")
    do(store, close, first.id)
    task = do(store, task_moves.start, put(store, "second").id).task
    moved = do(store, task_moves.block, task.id, reason="it is not really done", on=first.id)
    assert (moved.task.status, moved.task.claimed_by) == ("blocked", None)
    assert first.id in moved.warnings[0]
    assert [known.depends_on for known in see(store, dependencies.dependencies_of, [task.id])[task.id]] == [first.id]
    assert ready(store) == []


@pytest.mark.parametrize("status", STATUSES)
def test_everything_can_be_reopened(store, status):
    task = in_status(store, status)
    moved = do(store, task_moves.reopen, task.id, now=LATER).task
    assert (moved.status, moved.closed_at, moved.closed_reason, moved.claimed_by) == ("pending", None, "", None)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("start", ["pending", "in_progress", "blocked", "partial", "needs_input"])
def test_every_status_is_reached_by_name(store, start, status):
    task = in_status(store, start)
    moved = do(store, task_moves.set_status, task.id, status, reason="because").task
    assert moved.status == status
    assert moved.claimed_by == (ANN.name if status == "in_progress" else None)
    assert again(store, task) == moved


@pytest.mark.parametrize("status", ["partial", "needs_input", "draft"])
def test_a_reason_given_with_a_status_is_kept_as_a_comment(store, status):
    task = put(store)
    do(store, task_moves.set_status, task.id, status, reason="half of it works")
    assert [comment.body for comment in see(store, comments.list_comments, task.id)] == ["half of it works"]


def test_a_draft_is_neither_started_nor_finished(store):
    task = put(store, status="draft")
    for status in ("in_progress", "done"):
        with pytest.raises(WrongStatus, match="draft"):
            do(store, task_moves.set_status, task.id, status)


def test_a_draft_is_enriched_into_a_task_that_can_be_taken(store):
    task = put(store, "idea", status="draft")
    made = do(store, task_moves.enrich, task.id, {"pseudocode": "1. do it", "priority": 0}, now=LATER)
    assert (made.status, made.pseudocode, made.priority, made.enriched_at) == ("pending", "1. do it", 0, LATER)
    assert ready(store) == ["idea"]


def test_only_a_draft_is_enriched_and_only_with_pseudocode(store):
    with pytest.raises(WrongStatus, match="only a draft can be enriched"):
        do(store, task_moves.enrich, put(store).id, {"pseudocode": "1. do it"})
    draft = put(store, status="draft")
    for changes in ({}, {"pseudocode": " "}, {"pseudocode": None}):
        with pytest.raises(InvalidInput, match="needs pseudocode"):
            do(store, task_moves.enrich, draft.id, changes)


def test_a_task_is_split_into_parts_it_waits_for(store):
    whole = do(store, task_moves.start, put(store, "whole", priority=0).id).task
    parts = [NewTask(title="one"), NewTask(title="two", priority=3)]
    changed, made = do(store, task_moves.split, whole.id, parts)
    assert (changed.status, changed.claimed_by, changed.open_dependencies) == ("pending", None, 2)
    assert [(part.title, part.parent, part.priority) for part in made] == [("one", whole.id, 0), ("two", whole.id, 3)]
    assert ready(store) == ["one", "two"]
    for part in made:
        do(store, task_moves.finish, part.id)
    assert ready(store) == ["whole"]
    assert do(store, task_moves.finish, whole.id).task.status == "done"


def test_a_chain_of_parts_is_done_one_after_the_other(store):
    whole = put(store, "whole")
    _, made = do(store, task_moves.split, whole.id, [NewTask(title=title) for title in "abc"], chain=True)
    for part in made:
        assert ready(store) == [part.title]
        do(store, task_moves.finish, part.id)


def test_the_parts_of_a_draft_are_drafts(store):
    whole = put(store, status="draft")
    changed, made = do(store, task_moves.split, whole.id, [NewTask(title="one"), NewTask(title="two")])
    assert [changed.status, *(part.status for part in made)] == ["draft"] * 3


def test_a_split_has_two_parts_at_least_and_is_all_or_nothing(store):
    whole = put(store, "whole")
    before = contents(store)
    with pytest.raises(Refused, match="at least two parts"):
        do(store, task_moves.split, whole.id, [NewTask(title="one")])
    with pytest.raises(Duplicate):
        do(store, task_moves.split, whole.id, [NewTask(title="one"), NewTask(title="whole")])
    assert contents(store) == before


def test_every_move_leaves_its_time_and_an_event(store):
    task = put(store)
    for status in ("in_progress", "blocked", "pending", "needs_input", "partial", "done", "pending", "cancelled"):
        moment = NOW + timedelta(minutes=len(rows(store, "select 1 from event")))
        assert do(store, task_moves.set_status, task.id, status, reason="because", now=moment).task.updated_at == moment
    assert actions(store, task.id) == [
        *("added", "started", "blocked", "reopened", "needs_input", "partial", "done", "reopened", "cancelled")
    ]
    assert see(store, tasks.list_ready, limit=5) == ([], 0)
