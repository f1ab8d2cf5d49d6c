"""Written records of the work: comments on tasks, notes of a session, the progress log, the event log."""

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from binnacle.errors import InvalidInput, did_you_mean

NoteType = Literal["learning", "stuck", "tip", "decision"]
NOTE_TYPES: tuple[NoteType, ...] = ("learning", "stuck", "tip", "decision")

MAX_BODY_CHARACTERS = 20_000


class Comment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A comment on a task. All comments together are the history of its attempts."""

    id: str
    task_id: str
    author: str
    discipline: str | None = None
    body: str
    created_at: datetime
    updated_at: datetime


class Note(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something to remember in a session, or in the project if there is no session."""

    id: str
    type: NoteType
    content: str
    session: str | None = None
    iteration: int | None = None
    author: str
    created_at: datetime


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of the project's running log."""

    number: int
    text: str
    author: str
    session: str | None = None
    created_at: datetime


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change. Events are only appended, never changed."""

    seq: int
    at: datetime
    actor: str
    session: str | None = None
    entity: str
    entity_id: str
    action: str
    changes: dict[str, Any] = {}


def is_about(event: Event, entity_id: str) -> bool:
    """Whether an event is about this entity, or about a comment or question on it."""
    return event.entity_id == entity_id or event.changes.get("task") == entity_id


def parse_note_type(word: str) -> NoteType:
    """The type of note that `word` names."""
    key = word.strip().casefold()
    if key in NOTE_TYPES:
        return key
    raise InvalidInput(f"unknown note type {word!r}", hint=did_you_mean(key, NOTE_TYPES))
