"""Events as sentences: what `bn log -H`, `bn undo` and the page say of a change."""

from collections.abc import Mapping
from typing import Any

import msgspec

from binnacle.work.evidence import LEVEL_WORDS, SHORT_COMMIT_CHARACTERS, describe_proof
from binnacle.work.journal import Event
from binnacle.work.status import STATUSES

MAX_QUOTED_CHARACTERS = 80
"""How much of a text is quoted in a sentence."""

_SENTENCES: Mapping[tuple[str, str], str] = {
    ("task", "observed"): "saw what an agent ran for {task}{said}",
    ("task", "waived"): "waived the checks of {task}{said}",
    ("report", "reported"): "reported {task} {kind}{said}",
    ("review", "opened"): "put {task}{commit} up for review by {require}{said}",
    ("review", "updated"): "wants the review of {task} to be by {require}",
    ("review", "accept"): "found {task}{commit} right{said}",
    ("review", "refuse"): "found {task}{commit} not right{said}",
    ("review", "accepted"): "accepted {task}{commit}{said}",
    ("review", "changes"): "asked for changes of {task}{commit}{said}",
    ("review", "handed_over"): "asked a person to decide on {task}{commit} in place of agents{said}",
    ("review", "replaced"): "replaced the review of {task}{commit} by that of a newer commit",
    ("review", "withdrawn"): "took {task}{commit} out of review{said}",
    ("review_remark", "added"): "commented on the change of {task}{place}{said}",
    ("review_remark", "addressed"): "saw that a comment on the change of {task} was followed ({id})",
    ("review_remark", "outdated"): "saw that a comment on the change of {task} is about code that is gone ({id})",
    ("quarantine", "added"): "put the test {test} of the check {id} into quarantine until {ends_at} (owner: {owner})",
    ("quarantine", "ended"): "took the test {test} of the check {id} out of quarantine",
    ("session", "started"): "began session {id}",
    ("session", "iteration"): "began iteration {number} of session {id}",
    ("session", "task"): "took {task} in iteration {number} of session {id}",
    ("session", "attempt"): "ended an attempt at {task} in session {id}: {outcome}",
    ("session", "summary"): "summed up iteration {number} of session {id}{said}",
    ("session", "complete"): "completed session {id}{said}",
    ("session", "aborted"): "aborted session {id}{said}",
    ("progress", "added"): "noted progress{said}",
    ("run", "started"): "began run {name} ({id})",
    ("run", "planned"): "planned the specification of run {id}",
    ("run", "ended"): "ended run {id}: {why}{said}",
    ("run", "sent message"): "sent a message to run {id}{said}",
    ("run", "sent stop"): "told run {id} to stop",
    ("attention", "opened"): "asked for a person: {title}",
    ("attention", "answered"): "answered {id}{said}",
    ("attention", "closed"): "closed {id}, which no longer waits for a person",
    ("agent", "registered"): "registered agent {id}",
    ("agent", "ended"): "noted that agent {id} has ended{said}",
    ("agent", "purpose"): "said what agent {id} is for{said}",
    ("feature", "merged"): "merged feature {from} into {id}",
    ("store", "imported"): "imported the data of another store",
    ("store", "cleared"): "removed the data of the store, to import another's",
    ("store", "salvaged"): "took over what was left of the damaged store {from}",
}
"""What somebody did, by entity and action. In braces: the task with its title, the id of the entity, what was said, and
the other values of the event."""

_VERDICTS = {
    "pass": "saw the check {check} pass{commit}{task_after}",
    "fail": "saw the check {check} fail{commit}{task_after}",
    "could_not_run": "could not run the check {check}{commit}{task_after}",
    "timeout": "ended the check {check}{commit}{task_after}, which took too long",
    "flaky": "saw the check {check} fail and then pass{commit}{task_after}: it is flaky",
}

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

_TEXT_KEYS = ("body", "content", "text", "reason", "message", "summary", "answer", "purpose", "note", "said", "title")
"""Where an event keeps what was said, the best first."""

_LONG_FIELDS = ("description", "hints", "pseudocode", "acceptance_criteria", "context_files", "output_artifacts")
"""Fields that are named when they change, but not quoted."""


def describe(event: Event, titles: Mapping[str, str]) -> str:
    """What happened, without who did it: `finished bn-1f3a "Fix the login": merged`."""
    if event.action in ("undone", "redone"):
        told = {name: event.changes[name] for name in ("task", "title") if name in event.changes}
        was = msgspec.structs.replace(event, action=str(event.changes.get("was")), changes=told)
        return f"{'undid' if event.action == 'undone' else 'did again'}: {describe(was, titles)}"
    if (sentence := _find_sentence(event)) is not None:
        return sentence.format_map(_Words(event, titles))
    match event.entity:
        case "task":
            return _describe_task(event, _named(event.entity_id, titles, event.changes))
        case "comment":
            return _describe_comment(event, _named(str(event.changes.get("task", "a task")), titles))
        case "question" if "task" in event.changes:
            said = _said(event.changes)
            return f"{event.action} question {event.entity_id} on {_named(event.changes['task'], titles)}{said}"
    return f"{event.action} {event.entity} {event.entity_id}{_changed(event.changes) or _said(event.changes)}"


def _find_sentence(event: Event) -> str | None:
    """The sentence for an event, without its words."""
    if event.entity == "evidence":
        return _VERDICTS.get(str(event.changes.get("verdict")))
    if (event.entity, event.action) == ("report", "settled") and event.changes.get("outcome") == "left":
        return "did not close {task}, although it was reported {kind}{said}"
    return _SENTENCES.get((event.entity, event.action))


class _Words(dict[str, str]):
    """The words for the braces of a sentence. What an event does not have is empty."""

    def __init__(self, event: Event, titles: Mapping[str, str]) -> None:
        changes = event.changes
        super().__init__({name: _value(value) for name, value in changes.items()})
        task_id = event.entity_id if event.entity == "task" else changes.get("task")
        task = _named(str(task_id), titles, changes if event.entity == "task" else None) if task_id else "a task"
        self.update(id=event.entity_id, task=task, task_after=f" for {task}" if task_id else "")
        self["commit"] = f" at {str(changes['commit'])[:SHORT_COMMIT_CHARACTERS]}" if changes.get("commit") else ""
        self["place"] = f" at {changes['place']}" if changes.get("place") else ""
        told = {name: value for name, value in changes.items() if name != "title"}
        self["said"] = _said(told)

    def __missing__(self, name: str) -> str:
        return ""


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
        return f"{_MOVES[event.action]} {task}{_level(changes)}{said}"
    return f"moved {task} to {event.action}{said}" if event.action in STATUSES else f"{event.action} {task}{said}"


def _level(changes: Mapping[str, Any]) -> str:
    """How well it is known that a task is done, where an event says it."""
    level, commit = changes.get("level"), str(changes.get("commit") or "")
    return f" ({describe_proof(level, commit)})" if level in LEVEL_WORDS else ""


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
