"""Rows before and after a person's change, saved so that `undo` can restore them.

`Table` remembers every row of such a change before it is first modified (`Writer.remember`). When the change is
written, the same rows are read again, and the differences are saved with the events. A change is saved without images,
and so cannot be undone, if one of its events is about rows that were not remembered, or if it modifies too many rows.

Derived columns and times of modification are not part of an image. A fence never goes back.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from binnacle.store.transaction import Cells, RecordedEvent, Writer
from binnacle.work.actor import SYSTEM

UNDOABLE = ("task", "comment", "learning", "note", "review", "review_remark")
"""Entities whose changes can be undone."""

MAX_UNDOABLE_CHANGES = 200
"""How many changes of one person can be undone."""

_NOT_COMPARED = frozenset({"number", "open_dependencies", "fence", "updated_at"})


class RowImage(Struct, frozen=True, kw_only=True):
    """The cells of one row that a change modified."""

    table: str
    key: tuple[str, ...]
    before: Cells | None
    """None if the row did not exist."""

    after: Cells | None


def save_images(tx: Writer, events: Sequence[RecordedEvent]) -> None:
    """Saves what is needed to undo the change that has just written these events."""
    last = tx.number = tx.count("select max(seq) from event")
    images = _make_images(tx) if _is_covered(tx, events) else ()
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
    """Whether the images cover the whole change."""
    names = [(table.name, key) for table, key in tx.remembered]
    touched = {("task" if name == "dependency" else name, key[0]) for name, key in names}
    own = [event for event in events if event.actor != SYSTEM.name]
    return not tx.has_forgotten and all(
        event.actor == tx.by.name and event.entity in UNDOABLE and (event.entity, event.entity_id) in touched
        for event in own
    )


def _make_images(tx: Writer) -> tuple[RowImage, ...]:
    made = (_make_image(table.name, key, before, table.find(tx, key)) for (table, key), before in tx.remembered.items())
    return tuple(image for image in made if image is not None)


def _make_image(name: str, key: tuple[str, ...], before: Cells | None, after: Cells | None) -> RowImage | None:
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
    """Whether a row is still as the change left it."""
    if image.after is None or now is None:
        return image.after is now
    return all(now[field] == value for field, value in image.after.items() if field not in _NOT_COMPARED)
