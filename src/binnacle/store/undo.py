"""Undoes changes of a person by restoring the rows before them.

A change is identified by the number of its last event. Undoing it is a change like any other: it records events, and it
can be undone itself, which makes the first change again. Repeated undoing goes further back.

Later changes are never overwritten. Undoing is refused if a row is no longer as the change left it, or if what it
removed or added is needed or in use by now. Either all of a change is undone or nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct

from binnacle.errors import BinnacleError, Hint, NextStep, NotFound, Refused
from binnacle.store import row_restoration
from binnacle.store.events import EVENTS
from binnacle.store.row_images import UNDOABLE, RowImage, is_as_left
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.journal import Event


class RecordedChange(Struct, frozen=True, kw_only=True):
    """The change of one command of a person."""

    number: int
    """Number of its last event."""

    at: datetime
    events: tuple[Event, ...]
    undoes: tuple[int, ...] = ()
    """The changes that it undid."""

    is_undone: bool = False
    can_be_undone: bool = False
    """Whether the rows before it are known. They may still have changed since."""


class UndoneChange(Struct, frozen=True, kw_only=True):
    """The result of undoing."""

    changes: tuple[RecordedChange, ...]
    """The changes that were undone, the newest first."""

    task_ids: tuple[str, ...]
    """The affected tasks, including deleted ones."""

    warnings: tuple[str, ...]


class _Entry(NamedTuple):
    """A change in the table."""

    number: int
    first: int
    undoes: tuple[int, ...]
    has_images: bool


def list_changes(tx: Reader, actor: str, *, limit: int) -> tuple[list[RecordedChange], int]:
    """The newest changes of a person, newest first, and the total number."""
    entries = _list_entries(tx, actor)
    undone = _find_undone(entries)
    return [_load_change(tx, entry, is_undone=entry.number in undone) for entry in entries[:limit]], len(entries)


def choose_last(tx: Reader, actor: str, *, count: int) -> list[RecordedChange]:
    """The last changes of a person that were not undone yet, the newest first.

    Raises:
        NotFound: there are not that many.
    """
    entries = _list_entries(tx, actor)
    undone = _find_undone(entries)
    chosen = [entry for entry in entries if entry.number not in undone and not entry.undoes][:count]
    if len(chosen) < count:
        have = f"only {len(chosen)} of the {count} changes" if chosen else "no change"
        raise NotFound(f"there is {have} of {actor} to undo", hint=steps.LIST_CHANGES)
    return [_load_change(tx, entry, is_undone=False) for entry in chosen]


def choose(tx: Reader, actor: str, number: int) -> RecordedChange:
    """One change of a person, by the number of one of its events.

    Raises:
        NotFound: the person made no such change, or it is too long ago.
        Refused: it is already undone.
    """
    entries = _list_entries(tx, actor)
    entry = next((one for one in entries if one.first <= number <= one.number), None)
    if entry is None:
        raise NotFound(f"no change {number} of {actor}", hint=steps.LIST_CHANGES)
    undone = _find_undone(entries)
    if entry.number in undone:
        by = next(one.number for one in entries if entry.number in one.undoes and one.number not in undone)
        step = NextStep("make it again", f"undo {by}", for_person=True)
        raise Refused(f"change {number} is already undone, by change {by}", hint=step)
    return _load_change(tx, entry, is_undone=False)


def undo(tx: Writer, changes: Sequence[RecordedChange]) -> UndoneChange:
    """Undoes changes, the newest first, all or none.

    Raises:
        Refused: one of them cannot be undone; the error says why.
    """
    warnings: list[str] = []
    touched: dict[str, None] = {}
    for change in changes:
        images = _load_images(tx, change)
        for image in images:
            _check_as_left(tx, change, image)
        try:
            warnings += row_restoration.restore(tx, images)
        except BinnacleError as error:
            raise _make_refusal(change, error.message, error.next_steps) from error
        touched |= dict.fromkeys(row_restoration.list_task_ids(images))
        _record(tx, change)
    tx.undoes = tuple(change.number for change in changes)
    return UndoneChange(changes=tuple(changes), task_ids=tuple(touched), warnings=tuple(warnings))


def _list_entries(tx: Reader, actor: str) -> list[_Entry]:
    rows = tx.rows(
        "select last_event, first_event, undoes, images from undo where actor = ? order by last_event desc", actor
    )
    return [_Entry(row[0], row[1], msgspec.json.decode(row[2], type=tuple[int, ...]), bool(row[3])) for row in rows]


def _find_undone(entries: Sequence[_Entry]) -> set[int]:
    """The numbers of undone changes, from entries with the newest first. An undo may be undone itself."""
    undone: set[int] = set()
    for entry in entries:
        if entry.number not in undone:
            undone.update(entry.undoes)
    return undone


def _load_change(tx: Reader, entry: _Entry, *, is_undone: bool) -> RecordedChange:
    events = EVENTS.select(tx, "where seq between ? and ? order by seq", entry.first, entry.number)
    return RecordedChange(
        number=entry.number,
        at=events[-1].at,
        events=tuple(events),
        undoes=entry.undoes,
        is_undone=is_undone,
        can_be_undone=entry.has_images,
    )


def _load_images(tx: Reader, change: RecordedChange) -> tuple[RowImage, ...]:
    row = tx.row("select images from undo where last_event = ?", change.number)
    if row is None or not row[0]:
        others = [event for event in change.events if event.entity not in UNDOABLE]
        what = f"it {others[0].action} {others[0].entity} {others[0].entity_id}" if others else "it changed too much"
        words = "only changes of tasks, comments, learnings, notes and reviews can be undone"
        raise _make_refusal(change, what, (words, steps.LIST_CHANGES))
    return msgspec.json.decode(row[0], type=tuple[RowImage, ...])


def _check_as_left(tx: Reader, change: RecordedChange, image: RowImage) -> None:
    if is_as_left(image, row_restoration.TABLES[image.table].find(tx, image.key)):
        return
    entity_id = image.key[0]
    later = EVENTS.first(tx, "where entity_id = ? and seq > ? order by seq desc", entity_id, change.number)
    since = f" by {later.actor} ({later.action})" if later else ""
    raise _make_refusal(change, f"{entity_id} was changed since{since}", steps.show_log(entity_id))


def _make_refusal(change: RecordedChange, reason: str, hint: Hint) -> Refused:
    return Refused(f"change {change.number} cannot be undone: {reason}", hint=hint, details={"change": change.number})


def _record(tx: Writer, change: RecordedChange) -> None:
    """Records an event for each distinct action that was undone, with what is needed to describe it."""
    recorded: set[tuple[str, str, str]] = set()
    for event in change.events:
        was = event.changes.get("was", "") if event.action in ("undone", "redone") else event.action
        if event.entity in UNDOABLE and (event.entity, event.entity_id, was) not in recorded:
            recorded.add((event.entity, event.entity_id, was))
            told = {name: event.changes[name] for name in ("task", "title") if isinstance(event.changes.get(name), str)}
            action = "redone" if event.action == "undone" else "undone"
            tx.record(event.entity, event.entity_id, action, {"change": change.number, "was": was, **told})
