"""The log: what happened, as sentences, page by page and as it goes on."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from binnacle.errors import BinnacleError, NotFound
from binnacle.store import agents, events, tasks
from binnacle.store.events import EventFilter
from binnacle.store.transaction import Reader
from binnacle.web.endpoints import NoArguments, reads
from binnacle.web.page_project import PageProject
from binnacle.work.event_sentences import describe
from binnacle.work.journal import Event

MAX_LOG_PAGE = 200
"""Events in one page of the log."""

MAX_LOG_ACTORS = 200
"""Actors that can be chosen from."""

MAX_SHOWN_CHANGES = 200_000
"""Characters of an event's changes that are shown."""


class LogQuery(Struct, frozen=True, kw_only=True):
    """Which part of the log is wanted. What is empty does not restrict."""

    entity: str = ""
    action: str = ""
    actor: str = ""
    about: str = ""
    """A task, by the beginning of its id; or anything else, by its whole id."""

    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    """Only events with a lower number: the next page."""

    after: int = 0
    """Only events with a higher number: what is new."""

    limit: int = 100


class LogEntry(Struct, frozen=True, kw_only=True):
    """One event, as a sentence."""

    seq: int
    at: datetime
    actor: str
    actor_name: str
    """The name of the agent, or the actor again."""

    session: str | None
    entity: str
    entity_id: str
    action: str
    sentence: str
    """What happened, without who did it."""

    task: str | None
    """The task that it is about."""

    has_changes: bool


class LogPage(Struct, frozen=True, kw_only=True):
    """A part of the log, the newest events first."""

    entries: list[LogEntry]
    before: int | None
    """Where the next, older page begins; None at the end of the log."""

    newest: int
    """The number of the newest event there is, whatever the filter."""


class LogKind(Struct, frozen=True, kw_only=True):
    """A kind of entity, and what was done with such."""

    entity: str
    actions: list[str]


class LogWords(Struct, frozen=True, kw_only=True):
    """What the log can be filtered by."""

    kinds: list[LogKind]
    actors: list[tuple[str, str]]
    """Each with its name."""


class EventNumber(Struct, frozen=True, kw_only=True):
    """Names an event."""

    seq: int


class EventChanges(Struct, frozen=True, kw_only=True):
    """What an event recorded, as JSON text."""

    seq: int
    text: str
    cut: bool


@reads("log")
async def read_log(project: PageProject, asked: LogQuery) -> LogPage:
    return await project.read(lambda tx: _load(tx, asked))


@reads("log_words")
async def read_words(project: PageProject, asked: NoArguments) -> LogWords:  # noqa: ARG001
    return await project.read(_load_words)


@reads("event_changes")
async def read_changes(project: PageProject, asked: EventNumber) -> EventChanges:
    found = await project.read(lambda tx: events.find(tx, asked.seq))
    if found is None:
        raise NotFound(f"no event {asked.seq}", hint="the log may be that of another store")
    text = msgspec.json.format(msgspec.json.encode(found.changes), indent=2).decode()
    return EventChanges(seq=found.seq, text=text[:MAX_SHOWN_CHANGES], cut=len(text) > MAX_SHOWN_CHANGES)


def _load(tx: Reader, asked: LogQuery) -> LogPage:
    which = EventFilter(
        entity=asked.entity,
        action=asked.action,
        actor=asked.actor,
        about=_find_entity(tx, asked.about),
        text=asked.text.strip(),
        since=asked.since,
        until=asked.until,
    )
    limit = min(max(asked.limit, 1), MAX_LOG_PAGE)
    page = events.list_page(tx, which, limit=limit, before=asked.before, after=asked.after)
    return LogPage(entries=make_entries(tx, page.events), before=page.before, newest=events.last_number(tx))


def _find_entity(tx: Reader, text: str) -> str:
    """The id that a person means: of a task by its beginning, of anything else only complete."""
    try:
        return tasks.resolve(tx, text) if text else ""
    except BinnacleError:
        return text


def make_entries(tx: Reader, found: Sequence[Event]) -> list[LogEntry]:
    """Events as sentences."""
    titles = events.find_titles(tx, found)
    names = agents.find_names(tx, {event.actor for event in found})
    return [
        LogEntry(
            seq=event.seq,
            at=event.at,
            actor=event.actor,
            actor_name=names.get(event.actor, event.actor),
            session=event.session,
            entity=event.entity,
            entity_id=event.entity_id,
            action=event.action,
            sentence=describe(event, titles),
            task=_task_of(event),
            has_changes=bool(event.changes),
        )
        for event in found
    ]


def _task_of(event: Event) -> str | None:
    if event.entity == "task":
        return event.entity_id
    task = event.changes.get("task")
    return task if isinstance(task, str) else None


def _load_words(tx: Reader) -> LogWords:
    kinds: dict[str, list[str]] = {}
    for entity, action in events.list_kinds(tx):
        kinds.setdefault(entity, []).append(action)
    actors = events.list_actors(tx, limit=MAX_LOG_ACTORS)
    names = agents.find_names(tx, actors)
    return LogWords(
        kinds=[LogKind(entity=entity, actions=actions) for entity, actions in kinds.items()],
        actors=[(actor, names.get(actor, actor)) for actor in actors],
    )
