"""The enumerations of the work model and the words accepted for them."""

from typing import Literal, get_args

from binnacle.errors import InvalidInput, did_you_mean

Status = Literal[
    "draft", "pending", "in_progress", "in_review", "partial", "blocked", "needs_input", "done", "cancelled"
]
"""`in_review`: the work is there, and someone has to look at it; it is open, not ready, and nobody holds it."""

Kind = Literal["task", "bug", "idea"]
Provenance = Literal["human", "agent", "system"]
Priority = int
"""0 critical, 1 high, 2 medium, 3 low, 4 backlog."""

STATUSES: tuple[Status, ...] = get_args(Status)
CLOSED: tuple[Status, ...] = ("done", "cancelled")
"""Nothing is left to do; tasks that depend on it need not wait."""

STARTABLE: tuple[Status, ...] = ("pending", "partial", "blocked", "needs_input")
KINDS: tuple[Kind, ...] = get_args(Kind)
PROVENANCES: tuple[Provenance, ...] = get_args(Provenance)
PRIORITIES = ("critical", "high", "medium", "low", "backlog")

_STATUS_ALIASES: dict[str, Status] = {
    "remaining": "pending",
    "open": "pending",
    "reopened": "pending",
    "completed": "done",
    "complete": "done",
    "closed": "done",
    "skipped": "cancelled",
    "canceled": "cancelled",
    "inprogress": "in_progress",
    "started": "in_progress",
    "review": "in_review",
    "reviewing": "in_review",
    "inreview": "in_review",
    "for_review": "in_review",
    "needs_review": "in_review",
    "awaiting_review": "in_review",
}


def parse_status(word: str) -> Status:
    """The status that `word` means; words of older systems are accepted."""
    if word in STATUSES:
        return word
    key = word.strip().casefold().replace("-", "_").replace(" ", "_")
    if key in STATUSES:
        return key
    if alias := _STATUS_ALIASES.get(key):
        return alias
    hint = did_you_mean(key, [*STATUSES, *_STATUS_ALIASES]) or f"one of: {', '.join(STATUSES)}"
    raise InvalidInput(f"unknown status {word!r}", hint=hint)


def parse_priority(word: str | int) -> Priority:
    """The priority with this number or name."""
    key = str(word).strip().casefold()
    key = key[1:] if key[:1] == "p" and key[1:].isdigit() else key
    if key in {"0", "1", "2", "3", "4"}:
        return int(key)
    if key in PRIORITIES:
        return PRIORITIES.index(key)
    raise InvalidInput(f"unknown priority {word!r}", hint="0 critical, 1 high, 2 medium, 3 low, 4 backlog")


def parse_kind(word: str) -> Kind:
    """The kind of task that `word` names."""
    if word in KINDS:
        return word
    key = word.strip().casefold()
    if key in KINDS:
        return key
    raise InvalidInput(f"unknown kind {word!r}", hint=did_you_mean(key, KINDS))


def is_closed(status: Status) -> bool:
    """Whether nothing is left to do on a task in `status`."""
    return status in CLOSED
