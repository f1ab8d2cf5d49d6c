"""Events as sentences: what `bn log -H` and `bn undo` say of a change."""

from collections.abc import Mapping
from typing import Any

import msgspec

from binnacle.work.journal import Event
from binnacle.work.status import STATUSES

MAX_QUOTED_CHARACTERS = 80
"""How much of a text is quoted in a sentence."""

_MOVES = {
    "started": "started",
    "released": "gave back",
    "done": "finished",
    "cancelled": "cancelled",
    "blocked": "blocked",
    "reopened": "reopened",
    "enriched": "worked out",
    "split": "split",
    "deleted": "deleted",
}
"""What somebody does with a task, by the action of its event."""

_TEXT_KEYS = ("body", "content", "text", "reason", "summary", "answer", "purpose", "note", "title")
"""Where an event keeps what was said, the best first."""

_LONG_FIELDS = ("description", "hints", "pseudocode", "acceptance_criteria", "context_files", "output_artifacts")
"""Fields that are named when they change, but not quoted."""


def describe(event: Event, titles: Mapping[str, str]) -> str:
    """What happened, without who did it: `finished bn-1f3a "Fix the login": merged`."""
    if event.action in ("undone", "redone"):
        told = {name: event.changes[name] for name in ("task", "title") if name in event.changes}
        was = msgspec.structs.replace(event, action=str(event.changes.get("was")), changes=told)
        return f"{'undid' if event.action == 'undone' else 'did again'}: {describe(was, titles)}"
    match event.entity:
        case "task":
            return _describe_task(event, _named(event.entity_id, titles, event.changes))
        case "comment":
            return _describe_comment(event, _named(str(event.changes.get("task", "a task")), titles))
        case "question" | "report" if "task" in event.changes:
            said = _said(event.changes)
            return f"{event.action} {event.entity} {event.entity_id} on {_named(event.changes['task'], titles)}{said}"
        case "progress":
            return f"noted progress{_said(event.changes)}"
    return f"{event.action} {event.entity} {event.entity_id}{_changed(event.changes) or _said(event.changes)}"


def _describe_task(event: Event, task: str) -> str:
    changes = event.changes
    others = changes.get("on") or changes.get("depends_on") or ()
    named = others if isinstance(others, str) else ", ".join(others)
    sentences = {
        "added": f"added {task}{', which waits for ' + named if named else ''}",
        "updated": f"changed {task}{_changed(changes)}",
        "lapsed": f"took {task} back from {changes.get('claimed_by')}: {changes.get('reason', 'the claim ran out')}",
        "waits": f"made {task} wait for {named or 'another'}{_said(changes)}",
        "waits no more": f"let {task} no longer wait for {named or 'another'}",
        "queued": f"put {task} into the queue",
        "unqueued": f"took {task} out of the queue",
    }
    if event.action in sentences:
        return sentences[event.action]
    said = _said({name: value for name, value in changes.items() if name != "title"})
    if event.action in _MOVES:
        return f"{_MOVES[event.action]} {task}{said}"
    return f"moved {task} to {event.action}{said}" if event.action in STATUSES else f"{event.action} {task}{said}"


def _describe_comment(event: Event, task: str) -> str:
    match event.action:
        case "added":
            return f"commented on {task}{_said(event.changes)}"
        case "updated":
            return f"changed comment {event.entity_id} on {task}"
    return f"{event.action} comment {event.entity_id} on {task}{_said(event.changes)}"


def _named(task_id: str, titles: Mapping[str, str], changes: Mapping[str, Any] | None = None) -> str:
    """A task by its id and title: the one it has now, or had when it was added or deleted."""
    title = (changes or {}).get("title") or titles.get(task_id)
    return f"{task_id} {_quote(title)}" if isinstance(title, str) else task_id


def _changed(changes: Mapping[str, Any]) -> str:
    """Old and new values, where an event has both."""
    pairs = {name: both for name, both in changes.items() if isinstance(both, list) and len(both) == 2}
    told = [
        name.replace("_", " ") if name in _LONG_FIELDS else f"{name.replace('_', ' ')} {_value(old)} → {_value(new)}"
        for name, (old, new) in pairs.items()
    ]
    return f": {', '.join(told)}" if told else ""


def _said(changes: Mapping[str, Any]) -> str:
    found = next((str(changes[key]) for key in _TEXT_KEYS if isinstance(changes.get(key), str) and changes[key]), "")
    return f": {_shorten(found)}" if found else ""


def _value(value: Any) -> str:
    if value in (None, "", []):
        return "none"
    return " ".join(map(str, value)) if isinstance(value, list) else _shorten(str(value))


def _quote(text: str) -> str:
    return f'"{_shorten(text)}"'


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_QUOTED_CHARACTERS else f"{flat[: MAX_QUOTED_CHARACTERS - 1]}…"
