"""Short ways to change and to look at a store."""

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from binnacle.store import tasks
from binnacle.store.store import Store
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask, Task
from places import NOW

Result = TypeVar("Result")

ANN = Actor("ann")
AGENT = Actor("bna-0001", "agent")
OTHER = Actor("bna-0002", "agent")

TABLES = (
    *("feature", "discipline", "task", "dependency", "comment", "learning"),
    *("session", "iteration", "note", "progress", "report", "question", "agent", "event", "undo", "search"),
)

_numbers = itertools.count(1)


def do(
    store: Store,
    change: Callable[..., Result],
    *arguments: Any,
    by: Actor = ANN,
    now: datetime = NOW,
    session: str | None = None,
    **options: Any,
) -> Result:
    """One change in a transaction of its own."""
    with store.write(by=by, now=now, session=session) as tx:
        return change(tx, *arguments, **options)


def see(store: Store, look: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """One look in a transaction of its own."""
    with store.read(now=NOW) as tx:
        return look(tx, *arguments, **options)


def put(store: Store, title: str = "", *, by: Actor = ANN, now: datetime = NOW, **fields: Any) -> Task:
    """One new task; without a title it gets one that no other has."""
    draft = NewTask(title=title or f"task number {next(_numbers)}", **fields)
    return do(store, tasks.add, [draft], by=by, now=now)[0]


def again(store: Store, task: Task) -> Task:
    """A task as it is now."""
    return see(store, tasks.get, task.id)


def ready(store: Store) -> list[str]:
    """The titles of what is ready, in order."""
    return [task.title for task in see(store, tasks.list_ready, limit=1000)[0]]


def rows(store: Store, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with store.read() as tx:
        return [tuple(row) for row in tx.rows(sql, *values)]


def contents(store: Store) -> dict[str, list[Sequence[Any]]]:
    """Everything in the store, for the claim that nothing was changed."""
    return {table: sorted(rows(store, f"select * from {table}"), key=repr) for table in TABLES}


def actions(store: Store, entity_id: str | None = None) -> list[str]:
    """What was done, in order: to one thing, or to all."""
    if entity_id is None:
        return [row[0] for row in rows(store, "select action from event order by seq")]
    return [row[0] for row in rows(store, "select action from event where entity_id = ? order by seq", entity_id)]
