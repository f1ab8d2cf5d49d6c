"""The number of open dependencies kept with a task is always the number a recount gives."""

import contextlib
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from binnacle.errors import NotFound, Refused
from binnacle.store import dependencies, queue, task_deletion, task_moves, tasks
from binnacle.work.task import NewTask
from store.verbs import do, rows, see

MOVES = {
    "finish": lambda tx, task, _: task_moves.finish(tx, task),
    "finish by force": lambda tx, task, _: task_moves.finish(tx, task, force=True),
    "skip": lambda tx, task, _: task_moves.skip(tx, task, reason="because"),
    "reopen": lambda tx, task, _: task_moves.reopen(tx, task),
    "start": lambda tx, task, _: task_moves.start(tx, task),
    "start by force": lambda tx, task, _: task_moves.start(tx, task, force=True),
    "release": lambda tx, task, _: task_moves.release(tx, task),
    "claim": lambda tx, *_: task_moves.claim_next(tx),
    "block": lambda tx, task, _: task_moves.block(tx, task, reason="because"),
    "block on": lambda tx, task, other: task_moves.block(tx, task, reason="because", on=other),
    "wait": dependencies.add,
    "wait no more": dependencies.remove,
    "delete": lambda tx, task, _: task_deletion.delete_task(tx, task),
    "draft": lambda tx, task, _: task_moves.set_status(tx, task, "draft"),
    "partial": lambda tx, task, _: task_moves.set_status(tx, task, "partial"),
    "enrich": lambda tx, task, _: task_moves.enrich(tx, task, {"pseudocode": "step by step"}),
    "queue": lambda tx, task, _: queue.add(tx, [task]),
    "add": lambda tx, task, other: tasks.add(tx, [NewTask(title=title(), depends_on=(task, other))]),
    "split": lambda tx, task, other: task_moves.split(
        tx, task, [NewTask(title=title()), NewTask(title=title(), depends_on=(other,))], chain=True
    ),
}
STEPS = st.lists(st.tuples(st.sampled_from(sorted(MOVES)), st.integers(0, 9), st.integers(0, 9)), max_size=25)

_numbers = itertools.count(1)


def title() -> str:
    return f"made for the occasion {next(_numbers)}"


def check_counts(store):
    wrong = rows(
        store,
        "select task.id, task.open_dependencies, count(target.id) from task "
        "left join dependency on dependency.task_id = task.id "
        "left join task target on target.id = dependency.depends_on and target.status not in ('done', 'cancelled') "
        "group by task.id, task.open_dependencies having task.open_dependencies <> count(target.id)",
    )
    assert wrong == []


def check_no_circle(store):
    """Takes away what waits for nothing until nothing is left."""
    waits = {task: set() for (task,) in rows(store, "select id from task")}
    for task, target in rows(store, "select task_id, depends_on from dependency"):
        waits[task].add(target)
    while free := [task for task, targets in waits.items() if not targets]:
        for task in free:
            del waits[task]
        for targets in waits.values():
            targets.difference_update(free)
    assert waits == {}


def check_shape(store):
    """What must hold of every task whatever was done to it."""
    for status, holder, expires, closed_at, position in rows(
        store, "select status, claimed_by, claim_expires_at, closed_at, queue_position from task"
    ):
        assert (holder is not None) == (status == "in_progress")
        assert expires is None or holder is not None
        assert (closed_at is not None) == (status in ("done", "cancelled"))
        assert position is None or status not in ("done", "cancelled")


@settings(max_examples=150)
@given(steps=STEPS)
def test_counts_are_kept_in_step_through_every_move(store, steps):
    # Every example begins with tasks of its own; those of the examples before it stay and are checked again.
    ids = [task.id for task in do(store, tasks.add, [NewTask(title=title()) for _ in range(5)])]
    for name, first, second in steps:
        with contextlib.suppress(Refused, NotFound):
            do(store, MOVES[name], ids[first % len(ids)], ids[second % len(ids)])
        newest = see(store, lambda tx: tx.rows("select id from task order by number desc limit 2"))
        ids = [*ids[:5], *(row[0] for row in newest)]
    check_counts(store)
    check_no_circle(store)
    check_shape(store)
