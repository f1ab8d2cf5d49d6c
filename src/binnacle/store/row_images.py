"""What rows were like before and after a change by a person, kept so that `undo` can restore them.

`Table` remembers every row of such a change before it is first touched (`Writer.remember`). When the change is written,
the same rows are read again, and what differs is kept beside the events. A change is kept without images, and so cannot
be undone, if one of its events is of something whose rows were not remembered, or if it touches too many.

What follows from other rows, or only says when a row was touched, is no part of an image. A fence never goes back.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from binnacle.store.transaction import Cells, RecordedEvent, Writer
from binnacle.work.actor import SYSTEM

UNDOABLE = ("task", "comment", "learning", "note")
"""Entities whose changes can be undone."""

MAX_UNDOABLE_CHANGES = 200
"""How many changes of one person can be undone."""

_NOT_COMPARED = frozenset({"number", "open_dependencies", "fence", "updated_at"})


class RowImage(Struct, frozen=True, kw_only=True):
    """One row, as far as a change changed it."""

    table: str
    key: tuple[str, ...]
    before: Cells | None
    """`None` if the row was not there."""

    after: Cells | None


def save_images(tx: Writer, events: Sequence[RecordedEvent]) -> None:
    """Keeps what it takes to undo the change that has just written these events."""
    last = tx.number = tx.count("select max(seq) from event")
    images = _images(tx) if _is_covered(tx, events) else ()
    tx.run(
        "insert into undo (last_event, first_event, actor, images, undoes) values (?, ?, ?, ?, ?)",
        last,
        last - len(events) + 1,
        tx.by.name,
        msgspec.json.encode(images).decode() if images else "",
        msgspec.json.encode(tx.undoes).decode(),
    )
    tx.run(
        "delete from undo where actor = ? and last_event <= "
        "(select last_event from undo where actor = ? order by last_event desc limit 1 offset ?)",
        tx.by.name,
        tx.by.name,
        MAX_UNDOABLE_CHANGES,
    )


def _is_covered(tx: Writer, events: Sequence[RecordedEvent]) -> bool:
    """Whether the images hold all that the change did."""
    names = [(table.name, key) for table, key in tx.remembered]
    touched = {("task" if name == "dependency" else name, key[0]) for name, key in names}
    own = [event for event in events if event.actor != SYSTEM.name]
    return not tx.has_forgotten and all(
        event.actor == tx.by.name and event.entity in UNDOABLE and (event.entity, event.entity_id) in touched
        for event in own
    )


def _images(tx: Writer) -> tuple[RowImage, ...]:
    made = (_image(table.name, key, before, table.find(tx, key)) for (table, key), before in tx.remembered.items())
    return tuple(image for image in made if image is not None)


def _image(name: str, key: tuple[str, ...], before: Cells | None, after: Cells | None) -> RowImage | None:
    if before is None or after is None:
        return None if before is after else RowImage(table=name, key=key, before=before, after=after)
    differing = {field for field in before if before[field] != after[field]} - _NOT_COMPARED
    if not differing:
        return None
    return RowImage(
        table=name,
        key=key,
        before={field: before[field] for field in differing},
        after={field: after[field] for field in differing},
    )


def is_as_left(image: RowImage, now: Cells | None) -> bool:
    """Whether a row is still what the change made of it."""
    if image.after is None or now is None:
        return image.after is now
    return all(now[field] == value for field, value in image.after.items() if field not in _NOT_COMPARED)
