"""Who changed a task since somebody last saw it: two people who edit one task must not overwrite each other."""

from collections.abc import Collection

from binnacle.errors import StaleView
from binnacle.store import agents
from binnacle.store.events import EVENTS
from binnacle.store.transaction import Reader
from binnacle.work.event_sentences import describe
from binnacle.work.journal import Event
from binnacle.work.task import Task

MAX_NAMED_CHANGES = 5

_MOVING = ("started", "released")
"""Actions that change the status without naming it."""


def newest_about(tx: Reader, task_id: str) -> int:
    """Number of the newest change of a task; 0 if there is none."""
    return tx.count("select coalesce(max(seq), 0) from event where entity_id = ?", task_id)


def check_unchanged(tx: Reader, task: Task, seen: int, fields: Collection[str]) -> None:
    """Refuses to change fields of a task that were changed after the event `seen`. Other fields do not matter.

    Raises:
        StaleView: it says who changed what.
    """
    later = EVENTS.select(tx, "where entity_id = ? and seq > ? order by seq", task.id, seen)
    found = [event for event in later if _changes(event, fields)][-MAX_NAMED_CHANGES:]
    if not found:
        return
    names = agents.find_names(tx, {event.actor for event in found})
    said = [f"{names.get(event.actor, event.actor)} {describe(event, {task.id: task.title})}" for event in found]
    raise StaleView(
        f"this was changed meanwhile: {'; '.join(said)}",
        hint="look at the newer version, then save again to replace it",
    )


def _changes(event: Event, fields: Collection[str]) -> bool:
    """Whether an event says that one of these fields has another value now."""
    if "status" in fields and event.action in _MOVING:
        return True
    return any(isinstance(event.changes.get(field), list) for field in fields)
