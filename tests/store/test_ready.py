"""What is ready, and in which order: by queue, by priority, by age."""

import pytest

from binnacle.errors import NotFound, WrongStatus
from binnacle.store import features, queue, task_moves, tasks
from binnacle.store.tasks import TaskFilter
from binnacle.work.status import STATUSES
from store.verbs import AGENT, actions, do, put, ready, rows, see


def queued(store):
    return [task.title for task in see(store, queue.list_queue)]


def test_ready_goes_by_priority_and_then_by_age(store):
    for title, priority in (("c", 2), ("a", 0), ("d", 2), ("b", 1), ("e", 4)):
        put(store, title, priority=priority)
    assert ready(store) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("status", [status for status in STATUSES if status not in ("pending", "in_progress")])
def test_only_pending_tasks_are_ready(store, status):
    put(store, status=status)
    assert ready(store) == []


def test_a_taken_task_is_not_ready(store):
    task = put(store)
    do(store, task_moves.start, task.id, by=AGENT)
    assert ready(store) == []


def test_a_waiting_task_is_not_ready_until_all_it_waits_for_is_closed(store):
    first, second = put(store, "first"), put(store, "second")
    put(store, "waiting", depends_on=(first.id, second.id))
    assert ready(store) == ["first", "second"]
    do(store, task_moves.finish, first.id)
    assert ready(store) == ["second"]
    do(store, task_moves.skip, second.id, reason="not needed")
    assert ready(store) == ["waiting"]


def test_ready_is_filtered_and_counted(store):
    do(store, features.add, "login", {})
    for number in range(3):
        put(store, f"login {number}", feature="login")
        put(store, f"other {number}")
    found, total = see(store, tasks.list_ready, TaskFilter(feature="login"), limit=2)
    assert ([task.title for task in found], total) == (["login 0", "login 1"], 3)


def test_the_queue_comes_before_every_priority(store):
    put(store, "critical", priority=0)
    backlog = put(store, "backlog", priority=4)
    do(store, queue.add, [backlog.id])
    assert ready(store) == ["backlog", "critical"]


def test_the_queue_keeps_the_order_it_was_given(store):
    a, b, c, d = (put(store, title) for title in "abcd")
    do(store, queue.add, [c.id, a.id])
    do(store, queue.add, [d.id])
    do(store, queue.add, [b.id], first=True)
    assert queued(store) == ready(store) == ["b", "c", "a", "d"]


def test_what_is_put_first_keeps_its_order_too(store):
    a, b, c = (put(store, title) for title in "abc")
    do(store, queue.add, [a.id])
    do(store, queue.add, [b.id, c.id], first=True)
    assert queued(store) == ["b", "c", "a"]


def test_queueing_again_moves_a_task(store):
    a, b = put(store, "a"), put(store, "b")
    do(store, queue.add, [a.id, b.id])
    do(store, queue.add, [a.id])
    assert queued(store) == ["b", "a"]


def test_the_parts_of_a_queued_task_inherit_its_place(store):
    put(store, "critical", priority=0)
    whole = put(store, "whole")
    put(store, "part", parent=whole.id, priority=4)
    do(store, queue.add, [whole.id])
    later = put(store, "later part", parent=whole.id, priority=3)
    put(store, "part of a part", parent=later.id, priority=4)
    assert ready(store) == ["whole", "later part", "part", "part of a part", "critical"]


def test_a_place_of_its_own_beats_an_inherited_one(store):
    whole, other = put(store, "whole"), put(store, "other")
    part = put(store, "part", parent=whole.id)
    do(store, queue.add, [part.id, other.id, whole.id])
    assert ready(store) == ["part", "other", "whole"]
    do(store, queue.remove, [part.id])
    assert ready(store) == ["other", "whole", "part"]


def test_a_task_that_changes_its_parent_changes_its_place(store):
    whole, part = put(store, "whole"), put(store, "part", priority=0)
    put(store, "another", priority=0)
    inner = put(store, "inner", parent=part.id, priority=4)
    do(store, queue.add, [whole.id])
    do(store, tasks.update, part.id, {"parent": whole.id})
    assert ready(store) == ["part", "whole", "inner", "another"]
    do(store, tasks.update, part.id, {"parent": None})
    assert ready(store) == ["whole", "part", "another", "inner"]
    assert inner.parent == part.id


def test_what_leaves_the_queue_leaves_its_place_with_its_parts(store):
    whole = put(store, "whole")
    put(store, "part", parent=whole.id)
    put(store, "critical", priority=0)
    do(store, queue.add, [whole.id])
    do(store, queue.remove, [whole.id])
    assert ready(store) == ["critical", "whole", "part"]
    assert queued(store) == []


def test_taking_out_what_is_not_queued_is_no_error(store):
    task = put(store)
    assert do(store, queue.remove, [task.id]) == []
    assert "unqueued" not in actions(store, task.id)


@pytest.mark.parametrize("move", [task_moves.finish, lambda tx, task_id: task_moves.skip(tx, task_id, reason="no")])
def test_what_is_closed_leaves_the_queue(store, move):
    whole, part = put(store, "whole"), put(store, "part", parent=None)
    do(store, tasks.update, part.id, {"parent": whole.id})
    do(store, queue.add, [whole.id])
    do(
        store,
        lambda tx: task_moves.finish(tx, whole.id, force=True) if move is task_moves.finish else move(tx, whole.id),
    )
    assert queued(store) == []
    assert rows(store, "select queue_rank from task where id = ?", part.id) == [(1_000_000_000,)]


def test_what_is_closed_is_not_queued(store):
    task = put(store, status="done")
    with pytest.raises(WrongStatus, match="is done"):
        do(store, queue.add, [task.id])


def test_an_unknown_task_in_the_list_queues_none(store):
    task = put(store)
    with pytest.raises(NotFound):
        do(store, queue.add, [task.id, "bn-00000"])
    assert queued(store) == []


def test_a_queued_task_that_waits_is_not_ready(store):
    first = put(store, "first")
    second = put(store, "second", depends_on=(first.id,))
    do(store, queue.add, [second.id])
    assert ready(store) == ["first"]
