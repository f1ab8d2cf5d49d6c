"""The event log: who changed what, when. Events are only appended."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct

from binnacle.store.store import Store
from binnacle.store.table import Table, escape_like, placeholders
from binnacle.store.transaction import Reader, stamp
from binnacle.work.journal import Event

EVENTS = Table("event", Event, json=("changes",), times=("at",))

FOLLOW_REPEATS = 5
"""How often a follower begins a read again whose connection was lost. Reading changes nothing."""

FOLLOW_BATCH_EVENTS = 500
"""Events read at once while following."""

MAX_SEARCHED_EVENTS = 20_000
"""Events that one page of the log looks through at most: a rare word in a long log is found in several steps."""

IDS_PER_STATEMENT = 500
"""Ids in one statement."""

MAX_TITLED_TASKS = 200
"""Tasks with a matching title whose events a search for text finds."""


class EventFilter(Struct, frozen=True, kw_only=True):
    """Which events of the log to show. What is empty does not restrict."""

    entity: str = ""
    action: str = ""
    actor: str = ""
    about: str = ""
    """The id of a task, which includes its comments and questions, or of anything else."""

    text: str = ""
    """Something that was written: a part of the changes, or of the title of a task."""

    since: datetime | None = None
    until: datetime | None = None


class EventPage(NamedTuple):
    """A part of the log, the newest events first."""

    events: list[Event]
    before: int | None
    """Where the next, older page begins; None at the end of the log."""


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
    where, values = _select_by(EventFilter(about=about or "", actor=actor or "", since=since))
    if entity_id is not None:
        where, values = f"{where} and entity_id = ?", [*values, entity_id]
    return EVENTS.select(tx, f"where {where} order by seq desc limit ?", *values, limit)[::-1]


def list_page(tx: Reader, which: EventFilter, *, limit: int, before: int | None = None, after: int = 0) -> EventPage:
    """The newest matching events of those with numbers below `before` and above `after`, newest first.

    It looks through a bounded part of the log, so a page may have fewer events than `limit`, although there are more.
    """
    before = last_number(tx) + 1 if before is None else before
    lowest = max(after + 1, before - MAX_SEARCHED_EVENTS)
    where, values = _select_by(which)
    where = f"where seq >= ? and seq < ? and {where} order by seq desc limit ?"
    found = EVENTS.select(tx, where, lowest, before, *values, limit)
    following = found[-1].seq if len(found) == limit else lowest
    return EventPage(found, following if following > max(after + 1, 1) else None)


def list_kinds(tx: Reader) -> list[tuple[str, str]]:
    """What happened lately: the kinds of entities and what was done with them, in order."""
    newest = last_number(tx)
    rows = tx.rows("select distinct entity, action from event where seq > ?", newest - MAX_SEARCHED_EVENTS)
    return sorted((row[0], row[1]) for row in rows)


def list_actors(tx: Reader, *, limit: int) -> list[str]:
    """Who changed something lately, who did most first."""
    newest = last_number(tx)
    rows = tx.rows(
        "select actor from event where seq > ? group by actor order by count(*) desc, actor limit ?",
        newest - MAX_SEARCHED_EVENTS,
        limit,
    )
    return [row[0] for row in rows]


def find(tx: Reader, number: int) -> Event | None:
    """The event with this number, or None."""
    return EVENTS.first(tx, "where seq = ?", number)


def _select_by(which: EventFilter) -> tuple[str, list[object]]:
    """The condition for the events that a filter lets through, with its values."""
    equal = {name: getattr(which, name) for name in ("entity", "action", "actor")}
    parts: list[tuple[str, tuple[object, ...]]] = [(f"{name} = ?", (value,)) for name, value in equal.items() if value]
    if which.about:
        parts.append(("(entity_id = ? or changes like ? escape '!')", (which.about, _pattern_about(which.about))))
    if which.text:
        parts.append(_select_text(which.text))
    if which.since:
        parts.append(("at >= ?", (stamp(which.since),)))
    if which.until:
        parts.append(("at < ?", (stamp(which.until),)))
    return " and ".join(part for part, _ in parts) or "1 = 1", [value for _, values in parts for value in values]


def _select_text(text: str) -> tuple[str, tuple[object, ...]]:
    """The condition for events with this text in them, or about a task with it in its title."""
    # Changes are kept as JSON, in which quotes and the like are escaped.
    written = msgspec.json.encode(text).decode()[1:-1]
    exact, folded = f"%{escape_like(written)}%", f"%{escape_like(written.lower())}%"
    titled = (
        "select id from task where lower(title) like ? escape '!' or title like ? escape '!' "
        f"order by number desc limit {MAX_TITLED_TASKS}"
    )
    condition = (
        "(lower(changes) like ? escape '!' or changes like ? escape '!' or entity_id = ? "
        f"or entity_id in (select id from ({titled}) as titled))"
    )
    title, folded_title = f"%{escape_like(text)}%", f"%{escape_like(text.lower())}%"
    return condition, (folded, exact, text, folded_title, title)


def _pattern_about(task_id: str) -> str:
    """A pattern that finds a task in the changes of an event. Quotes in text are escaped, so text does not match."""
    return f"%{escape_like(msgspec.json.encode({'task': task_id}).decode()[1:-1])}%"


def find_titles(tx: Reader, found: Sequence[Event]) -> dict[str, str]:
    """The titles of the tasks that events are about, by id, without deleted tasks."""
    ids = {event.entity_id for event in found if event.entity == "task"}
    ids |= {str(event.changes["task"]) for event in found if "task" in event.changes}
    return dict(_find_titles(tx, sorted(ids)))


def _find_titles(tx: Reader, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        part = ids[start : start + IDS_PER_STATEMENT]
        for row in tx.rows(f"select id, title from task where id in {placeholders(part)}", *part):
            yield row[0], row[1]


def last_number(tx: Reader) -> int:
    """Number of the newest event; 0 when there is none."""
    return tx.count("select coalesce(max(seq), 0) from event")


def list_events_after(tx: Reader, number: int, *, limit: int) -> list[Event]:
    """The events that come next after number `number`, oldest first."""
    return EVENTS.select(tx, "where seq > ? order by seq limit ?", number, limit)


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
            return list_events_after(tx, after, limit=FOLLOW_BATCH_EVENTS)

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
