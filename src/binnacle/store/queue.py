"""The work queue: tasks that a person put before all others."""

from collections.abc import Sequence

from binnacle.errors import WrongStatus
from binnacle.store import queue_ranks, tasks
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.status import is_closed
from binnacle.work.task import Task


def list_queue(tx: Reader) -> list[Task]:
    """The queue in order."""
    return tasks.TASKS.select(tx, "where queue_position is not null order by queue_position")


def add(tx: Writer, texts: Sequence[str], *, first: bool = False) -> list[Task]:
    """Puts tasks at the end of the queue, or at its beginning, in the given order. Returns the queue."""
    chosen = [tasks.get(tx, text) for text in texts]
    for task in chosen:
        if is_closed(task.status):
            raise WrongStatus(f"{task.id} is {task.status}", hint=steps.reopen(task.id, words="reopen it first"))
    edge = tx.count(f"select coalesce({'min' if first else 'max'}(queue_position), 0) from task")
    start = edge - len(chosen) if first else edge + 1
    for position, task in enumerate(chosen, start):
        tasks.TASKS.update(tx, {"queue_position": position}, "id = ?", task.id)
        tx.record("task", task.id, "queued", {"position": position})
    queue_ranks.refresh_ranks(tx, [task.id for task in chosen])
    return list_queue(tx)


def insert(tx: Writer, text: str, *, before: str) -> list[Task]:
    """Puts a task before another one that is in the queue, or at the end if that one is not. Returns the queue."""
    task, other = tasks.get(tx, text), tasks.get(tx, before)
    if other.queue_position is None:
        return add(tx, [task.id])
    if is_closed(task.status):
        raise WrongStatus(f"{task.id} is {task.status}", hint=steps.reopen(task.id, words="reopen it first"))
    order = [one for one in list_queue(tx) if one.id != task.id]
    order.insert(next(place for place, one in enumerate(order) if one.id == other.id), task)
    for position, one in enumerate(order, 1):
        if one.queue_position != position:
            tasks.TASKS.update(tx, {"queue_position": position}, "id = ?", one.id)
            tx.record("task", one.id, "queued", {"position": position})
    queue_ranks.refresh_ranks(tx, [one.id for one in order])
    return list_queue(tx)


def remove(tx: Writer, texts: Sequence[str]) -> list[Task]:
    """Removes tasks from the queue, if they are in it. Returns the queue."""
    for text in texts:
        drop(tx, tasks.get(tx, text))
    return list_queue(tx)


def drop(tx: Writer, task: Task) -> None:
    """Removes one task from the queue, if it is in it."""
    if task.queue_position is None:
        return
    tasks.TASKS.update(tx, {"queue_position": None}, "id = ?", task.id)
    tx.record("task", task.id, "unqueued", {})
    queue_ranks.refresh_ranks(tx, [task.id])
