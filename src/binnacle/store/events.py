"""The event log: who changed what, when. It is only ever appended to."""

from collections.abc import Iterator
from datetime import datetime

from binnacle.store.rows import Table
from binnacle.store.store import Reader, Store, stamp
from binnacle.work.journal import Event

EVENTS = Table("event", Event, json=("changes",), times=("at",))

BATCH = 500
"""Events read at once while following."""


def listed(
    tx: Reader, *, limit: int, entity_id: str | None = None, actor: str | None = None, since: datetime | None = None
) -> list[Event]:
    """The newest events that match, oldest first."""
    conditions = {"entity_id = ?": entity_id, "actor = ?": actor, "at >= ?": stamp(since) if since else None}
    given = {condition: value for condition, value in conditions.items() if value is not None}
    where = " and ".join(given) or "1 = 1"
    return EVENTS.select(tx, f"where {where} order by seq desc limit ?", *given.values(), limit)[::-1]


def last(tx: Reader) -> int:
    """Number of the newest event; 0 when there is none."""
    return tx.count("select coalesce(max(seq), 0) from event")


def follow(store: Store, *, after: int, wait: float) -> Iterator[list[Event]]:
    """Yields the events after number `after` as they are made, and an empty list whenever `wait` seconds pass without.

    The engine says when something changed; the table is read only then.
    """
    # The first wait only starts the watch: what happened before it is found by the read that follows.
    store.wait_change(0)
    while True:
        with store.read() as tx:
            found = EVENTS.select(tx, "where seq > ? order by seq limit ?", after, BATCH)
        if found:
            after = found[-1].seq
            yield found
        elif not store.wait_change(wait):
            yield []
