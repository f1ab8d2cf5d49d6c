"""Tasks, their fields, and the rules of their fields and status."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from binnacle.errors import (
    Claimed,
    Flag,
    HoldsAnother,
    InvalidInput,
    NotReady,
    Refused,
    StaleClaim,
    WrongStatus,
    did_you_mean,
)
from binnacle.work import steps
from binnacle.work.acceptance import clean_check_names
from binnacle.work.actor import Actor
from binnacle.work.evidence import EvidenceLevel
from binnacle.work.ids import TaskId
from binnacle.work.status import CLOSED, STARTABLE, Kind, Provenance, Status, is_closed
from binnacle.work.text import clean_line, clean_lines, clean_name, clean_paths, clean_text


class TaskFields(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a person or an agent says about a piece of work."""

    title: str
    description: str = ""
    kind: Kind = "task"
    priority: Annotated[int, Meta(ge=0, le=4)] = 2
    feature: str | None = None
    discipline: str | None = None
    parent: TaskId | None = None
    acceptance_criteria: tuple[str, ...] = ()
    context_files: tuple[str, ...] = ()
    """Files worth reading first, relative to the repository."""

    hints: str = ""
    pseudocode: str = ""
    output_artifacts: tuple[str, ...] = ()
    """Files the work is expected to produce."""

    estimated_turns: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    tags: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    """The requirements of the specification that it meets, such as `R12`."""

    checks: tuple[str, ...] = ()
    """Names of checks that it needs, in addition to those of its feature and of the project."""

    provenance: Provenance = "human"


class Dependency(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That one task waits for another."""

    task_id: TaskId
    depends_on: TaskId
    reason: str = ""
    created_at: datetime


class NewTask(TaskFields, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A task to create."""

    priority: Annotated[int, Meta(ge=0, le=4)] | None = None  # type: ignore[assignment]
    """Medium when left out; a part then gets the priority of the task that is split."""

    status: Status = "pending"
    depends_on: tuple[str, ...] = ()
    """Ids of existing tasks, or `#1`, `#2`, … for earlier tasks of the same batch."""

    reason: str = ""
    """Why it depends on them."""


class Task(TaskFields, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of work in the store."""

    id: TaskId
    number: int
    """Order of creation; never reused."""

    # Repeated from TaskFields without a default, so that they are always encoded.
    kind: Kind
    priority: int
    status: Status
    open_dependencies: int = 0
    """How many of the tasks it depends on are not closed yet. The store keeps it up to date."""

    queue_position: int | None = None
    """Place in the work queue, if the task itself was put there."""

    claimed_by: str | None = None
    claim_expires_at: datetime | None = None
    """When the claim lapses; None for a person's claim, which does not."""

    fence: int = 0
    """Number of the newest claim. A write with an older number is refused."""

    closed_reason: str = ""
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    enriched_at: datetime | None = None
    evidence_level: EvidenceLevel = ""
    """How well it is known that it is done; empty while it is not."""

    evidence_commit: str = ""
    """The commit that the evidence is about."""

    evidence_at: datetime | None = None
    """When it was proven."""


EDITABLE = tuple(field.name for field in msgspec.structs.fields(TaskFields) if field.name != "provenance")
"""Fields that an update may change. The status changes only by moves."""


_read_fields = attrgetter(*TaskFields.__struct_fields__)


def validate(fields: TaskFields) -> dict[str, Any]:
    """The fields cleaned and within their limits, ready for the store.

    Raises:
        InvalidInput: it names the field and what is expected.
    """
    raw = dict(zip(TaskFields.__struct_fields__, _read_fields(fields), strict=True))
    raw["title"] = clean_line(fields.title, what="title")
    raw["priority"] = 2 if fields.priority is None else fields.priority  # type: ignore[redundant-expr]
    for name in ("description", "hints", "pseudocode"):
        raw[name] = clean_text(raw[name], what=name)
    for name in ("feature", "discipline"):
        raw[name] = clean_name(raw[name], what=name) if raw[name] else None
    raw["acceptance_criteria"] = clean_lines(fields.acceptance_criteria, what="acceptance_criteria")
    names = (clean_name(tag, what="tag") for tag in clean_lines(fields.tags, what="tags", limit=30))
    raw["tags"] = tuple(dict.fromkeys(names))
    raw["covers"] = tuple(dict.fromkeys(clean_lines(fields.covers, what="covers", limit=200)))
    raw["checks"] = clean_check_names(fields.checks)
    for name in ("context_files", "output_artifacts"):
        raw[name] = clean_paths(raw[name], what=name)
    raw["parent"] = raw["parent"] or None
    try:
        msgspec.convert(raw, TaskFields)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"task: {error}", hint="priority is 0 to 4; estimated_turns is 1 or more") from error
    return raw


def find_changes(task: Task, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `task` that `changes` actually changes, validated.

    Raises:
        InvalidInput: an unknown field, or a value that does not fit.
    """
    for name in changes:
        if name not in EDITABLE:
            raise InvalidInput(f"a task has no field {name!r} to update", hint=did_you_mean(name, EDITABLE))
    try:
        merged = msgspec.structs.replace(task, **changes)
        fields = validate(merged)
    except (TypeError, AttributeError) as error:
        raise InvalidInput(f"a value has the wrong type: {error}", hint=f"fields: {', '.join(EDITABLE)}") from error
    return {name: value for name, value in fields.items() if value != getattr(task, name)}


def may_take(task: Task, *, by: Actor, now: datetime) -> bool:
    """Whether `by` may take `task`: it is free, its claim has lapsed, or `by` already holds it."""
    return task.claimed_by in (None, by.name) or (task.claim_expires_at is not None and task.claim_expires_at <= now)


def is_held_by_person(task: Task) -> bool:
    """Whether a person works on the task: only claims of people never lapse."""
    return task.claimed_by is not None and task.claim_expires_at is None


def may_change(task: Task, *, by: Actor, now: datetime) -> bool:
    """Whether `by` may change `task`. People may change what an agent holds: they supervise agents."""
    if by.kind == "system" or (by.kind == "human" and not is_held_by_person(task)):
        return True
    return may_take(task, by=by, now=now)


def lease_end(by: Actor, *, now: datetime, lease: timedelta) -> datetime | None:
    """When a claim taken now lapses; None for a person's claim, which does not."""
    return now + lease if by.kind == "agent" else None


def _force_hint(by: Actor, words: str) -> tuple[Flag, ...]:
    """The hint that `force` skips the check, for people only."""
    return (Flag("force", words),) if by.kind == "human" else ()


def check_can_hold(by: Actor) -> None:
    """Refuses a claim by an actor whose callers cannot be distinguished: all of them would hold it."""
    if by.is_shared:
        raise NotReady(
            "several clients may be calling here, and nothing distinguishes them",
            hint=steps.OPEN_SESSION,
        )


def check_start(task: Task, *, by: Actor, now: datetime, holding: Sequence[Task], force: bool = False) -> None:
    """Refuses a start that the rules forbid. `holding` are the tasks that `by` already works on."""
    if task.status not in (*STARTABLE, "in_progress"):
        words = "reopen it first" if is_closed(task.status) else "move it to pending first"
        hint = steps.reopen(task.id, words=words)
        raise WrongStatus(f"{task.id} is {task.status} and cannot be started", hint=hint)
    if not may_take(task, by=by, now=now) and not force:
        raise Claimed(
            f"{task.id} is held by {task.claimed_by}",
            hint=(steps.TAKE_ANOTHER, *_force_hint(by, "takes it from them")),
            details=claim_of(task),
        )
    if task.open_dependencies and not force:
        raise Refused(
            f"{task.id} waits for {task.open_dependencies} unfinished task(s)",
            hint=(steps.TAKE_ANOTHER, steps.show_dependencies(task.id), Flag("force", "starts it anyway")),
        )
    check_holds_none_but(task.id, by=by, holding=holding, force=force)


def find_held(holding: Sequence[Task], *, by: Actor) -> Task | None:
    """The task that `by` must continue before taking another: an agent works on one at a time, people on any number."""
    return holding[0] if by.kind == "agent" and holding else None


def check_holds_none_but(task_id: str, *, by: Actor, holding: Sequence[Task], force: bool) -> None:
    """Refuses an agent a second task: agents that take several finish none."""
    others = [held.id for held in holding if held.id != task_id]
    if by.kind == "agent" and others and not force:
        raise HoldsAnother(
            f"{by.name} already works on {', '.join(others)}",
            hint=(steps.finish_or_release(others[0]), Flag("force", "takes a second one")),
        )


def check_write(task: Task, *, by: Actor, now: datetime, fence: int | None, force: bool = False) -> None:
    """Refuses a change by someone who lost the task or never had it.

    A fence is compared with the claim: an agent whose claim lapsed cannot overwrite the work
    of its successor. Without a fence, only the holder of a live claim may write; people may
    also change what an agent holds.
    """
    if fence is not None and fence != task.fence:
        raise StaleClaim(
            f"claim {fence} on {task.id} was lost; the task is now at claim {task.fence}",
            hint=steps.DROP_AND_TAKE_ANOTHER,
            details=claim_of(task),
        )
    if not force and not may_change(task, by=by, now=now):
        raise Claimed(
            f"{task.id} is held by {task.claimed_by}",
            hint=("leave it to them", steps.comment(task.id), *_force_hint(by, "changes it anyway")),
            details=claim_of(task),
        )


def check_close(task: Task, *, by: Actor, open_children: Sequence[str], force: bool = False) -> None:
    """Refuses to finish a task that still waits for other work, or for a review that is not the agent's own."""
    if task.status in CLOSED:
        raise WrongStatus(f"{task.id} is already {task.status}", hint=steps.reopen(task.id))
    if task.status == "in_review" and by.kind == "agent":
        raise WrongStatus(f"{task.id} waits for a review", hint=(steps.TAKE_ANOTHER, steps.comment(task.id)))
    if task.status == "draft" and not force:
        raise WrongStatus(f"{task.id} is a draft", hint=steps.reopen(task.id, words="move it to pending first"))
    waiting = task.open_dependencies
    if waiting and not force:
        raise Refused(
            f"{task.id} depends on {waiting} task(s) that are not finished",
            hint=("finish those first", steps.show_dependencies(task.id), Flag("force", "finishes it anyway")),
        )
    if open_children and not force:
        raise Refused(
            f"{task.id} has unfinished parts: {', '.join(open_children[:5])}",
            hint=("finish those first", Flag("force", "finishes it anyway")),
        )


def claim_of(task: Task) -> dict[str, object]:
    """Who holds the task, for error details."""
    return {
        "holder": task.claimed_by,
        "fence": task.fence,
        "expires_at": task.claim_expires_at.isoformat() if task.claim_expires_at else None,
    }


class Brief(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task in a list: what a reader needs to choose it, not to do it."""

    id: TaskId
    title: str
    status: Status
    priority: int
    kind: Kind = "task"
    feature: str | None = None
    discipline: str | None = None
    tags: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    waits_for: int = 0
    """How many unfinished tasks it depends on."""

    claimed_by: str | None = None
    queued: bool = False
    level: EvidenceLevel = ""
    """How well it is known that it is done; empty while it is not."""

    commit: str = ""
    """The commit that was proven."""

    proven_at: datetime | None = None


def brief(task: Task) -> Brief:
    """`task` as an entry of a list."""
    return Brief(
        id=task.id,
        title=task.title,
        status=task.status,
        priority=task.priority,
        kind=task.kind,
        feature=task.feature,
        discipline=task.discipline,
        tags=task.tags,
        covers=task.covers,
        waits_for=task.open_dependencies,
        claimed_by=task.claimed_by,
        queued=task.queue_position is not None,
        level=task.evidence_level,
        commit=task.evidence_commit,
        proven_at=task.evidence_at,
    )
