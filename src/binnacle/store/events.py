"""The event log: who changed what, when. Events are only appended."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from binnacle.store.store import Store
from binnacle.store.table import Table, escape_like
from binnacle.store.transaction import Reader, stamp
from binnacle.work.journal import Event

EVENTS = Table("event", Event, json=("changes",), times=("at",))

FOLLOW_REPEATS = 5
"""How often a follower begins a read again whose connection was lost. Reading changes nothing."""

FOLLOW_BATCH_EVENTS = 500
"""Events read at once while following."""


def list_events(
    tx: Reader,
    *,
    limit: int,
    entity_id: str | None = None,
    about: str | None = None,
    actor: str | None = None,
    since: datetime | None = None,
) -> list[Event]:
    """The newest matching events, oldest first; events `about` a task include those of its comments (`is_about`)."""
    conditions: dict[str, tuple[object, ...]] = {
        "entity_id = ?": (entity_id,),
        "(entity_id = ? or changes like ? escape '!')": (about, _pattern_about(about)),
        "actor = ?": (actor,),
        "at >= ?": (stamp(since) if since else None,),
    }
    given = {condition: values for condition, values in conditions.items() if values[0] is not None}
    where = " and ".join(given) or "1 = 1"
    values = [value for several in given.values() for value in several]
    return EVENTS.select(tx, f"where {where} order by seq desc limit ?", *values, limit)[::-1]


def _pattern_about(task_id: str | None) -> str:
    """A pattern that finds a task in the changes of an event. Quotes in text are escaped, so text does not match."""
    return f"%{escape_like(msgspec.json.encode({'task': task_id}).decode()[1:-1])}%"


def find_titles(tx: Reader, found: Sequence[Event]) -> dict[str, str]:
    """The titles of the tasks that events are about, by id, without deleted tasks."""
    ids = {event.entity_id for event in found if event.entity == "task"}
    ids |= {str(event.changes["task"]) for event in found if "task" in event.changes}
    rows = [tx.row("select id, title from task where id = ?", one) for one in sorted(ids)]
    return {row[0]: row[1] for row in rows if row is not None}


def last_number(tx: Reader) -> int:
    """Number of the newest event; 0 when there is none."""
    return tx.count("select coalesce(max(seq), 0) from event")


def follow(store: Store, *, after: int, wait: float) -> Iterator[list[Event]]:
    """Yields new events after number `after`, and an empty list whenever `wait` seconds pass without any.

    The table is read only when the engine reports a change. A lost connection is opened again.
    """
    # The first wait only starts the watch: the read after it finds earlier events.
    store.repeat_if_lost(lambda: store.wait_change(0), times=FOLLOW_REPEATS)
    while True:
        if found := _list_after(store, after):
            after = found[-1].seq
            yield found
        elif not store.repeat_if_lost(lambda: store.wait_change(wait), times=FOLLOW_REPEATS):
            yield []


def _list_after(store: Store, after: int) -> list[Event]:
    def read() -> list[Event]:
        with store.read() as tx:
            return EVENTS.select(tx, "where seq > ? order by seq limit ?", after, FOLLOW_BATCH_EVENTS)

    return store.repeat_if_lost(read, times=FOLLOW_REPEATS)


def find_last_look(tx: Reader, task_id: str) -> str:
    """When a person last reopened a task or answered a question about it, as stored; empty if never."""
    row = tx.row(
        "select max(at) from event where session is null and ((entity_id = ? and action = 'reopened') or "
        "(action = 'answered' and entity_id in (select id from question where task_id = ?)))",
        task_id,
        task_id,
    )
    return row[0] if row and row[0] else ""
