"""Moves of tasks: start, release, finish, skip, block, reopen, enrich, split.

Every move checks the claim, changes the task and the tasks that wait for it, and records one event.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from binnacle.errors import InvalidInput, Refused, WrongStatus
from binnacle.store import (
    claim_holders,
    comments,
    dependencies,
    done_requests,
    lapsed_claims,
    observations,
    queue,
    review_remarks,
    reviews,
    sessions,
    task_requirements,
    tasks,
    waivers,
    work_starts,
)
from binnacle.store.lapsed_claims import UNCLAIMED
from binnacle.store.table import encode_cell
from binnacle.store.tasks import TASKS, TaskFilter
from binnacle.store.transaction import Writer
from binnacle.work import steps
from binnacle.work.done_gate import DoneProof, DoneRequest, TaskRequirements, describe_request
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, EvidenceLevel
from binnacle.work.ids import TaskId
from binnacle.work.observation import has_passed
from binnacle.work.review import describe_remark
from binnacle.work.status import Status, is_closed
from binnacle.work.task import (
    NewTask,
    Task,
    check_can_hold,
    check_close,
    check_start,
    find_held,
    lease_end,
)
from binnacle.work.text import clean_text

UNPROVEN = {"evidence_level": "", "evidence_commit": "", "evidence_at": None}
"""What is known of a task that is not done."""


MAX_TOLD_REMARKS = 30
"""Comments of reviewers that are told to whoever takes a task up again. `task show` has all."""


class TaskMove(NamedTuple):
    """The result of a move."""

    task: Task
    unblocked: tuple[TaskId, ...] = ()
    """Tasks that no longer wait for anything."""

    warnings: tuple[str, ...] = ()
    was_held: bool = False
    """Whether the actor held the task already and got it again instead of another one."""

    request: DoneRequest | None = None
    """What has to pass before the task is done, if it was called done and is not yet."""


def claim_next(tx: Writer, which: TaskFilter | None = None, *, force: bool = False) -> TaskMove | None:
    """Takes the first task in the ready order, in one atomic statement; None if nothing is ready.

    An agent that holds a task gets that one, whatever `which` says, and its claim is renewed; `force` takes another.
    """
    lapsed_claims.release_lapsed(tx)
    check_can_hold(tx.by)
    held = None if force else find_held(tasks.list_held_by(tx, tx.by.name), by=tx.by)
    if held is not None:
        return TaskMove(_renew(tx, held), was_held=True)
    where, values = tasks.ready_condition(which)
    taken = _claim_columns(tx)
    assignments = ", ".join(f"{name} = ?" for name in taken)
    row = tx.row(
        f"update task set {assignments}, fence = fence + 1 where number = (select number from task where {where} "
        f"order by queue_rank, priority, number limit 1{tx.dialect.skip_locked}) returning {TASKS.columns}",
        *taken.values(),
        *values,
    )
    if row is None:
        return None
    task = TASKS.value(row)
    if tx.is_remembering:
        before = {"status": "pending", **UNCLAIMED, "fence": task.fence - 1}
        tx.remember(TASKS, (task.id,), TASKS.row(msgspec.structs.replace(task, **before)))
    return _start(tx, task)


def start(tx: Writer, text: str, *, force: bool = False) -> TaskMove:
    """Takes a task. If the actor already holds it, the claim is renewed and keeps its fence."""
    task = _find_task(tx, text)
    check_can_hold(tx.by)
    check_start(task, by=tx.by, now=tx.now, holding=tasks.list_held_by(tx, tx.by.name), force=force)
    if task.status == "in_progress" and task.claimed_by == tx.by.name:
        return TaskMove(_renew(tx, task))
    TASKS.update(tx, {**_claim_columns(tx), "fence": task.fence + 1}, "id = ?", task.id)
    started = _start(tx, tasks.get(tx, task.id))
    return started._replace(warnings=(*_name_holder(tx, task), *started.warnings))


def release(tx: Writer, text: str, *, fence: int | None = None, force: bool = False) -> TaskMove:
    """Gives a task back: it is pending again, and others may take it."""
    task = _get_writable(tx, text, fence, force)
    if task.status != "in_progress":
        raise WrongStatus(f"{task.id} is {task.status}, not in progress", hint="there is nothing to release")
    return _move(tx, task, "pending", "released")


def finish(
    tx: Writer,
    text: str,
    *,
    reason: str = "",
    fence: int | None = None,
    force: bool = False,
    proof: DoneProof | None = None,
    waive: str = "",
    may_request: bool = True,
) -> TaskMove:
    """Marks a task done. Nothing else does, and it fails closed.

    A task that needs checks is done with a `proof` that they passed, or if a person waives them with a reason
    (`waive`). Without either, the word is a request, and the task stays as it is; the same holds for an agent's word in
    a run. `force` skips neither. Who asks again after the request was granted gets the same answer.

    Raises:
        Unproven: the proof does not suffice, or there is none and nobody may ask for it (`may_request`).
        PersonNeeded: someone else than a person waives checks.
    """
    known = tasks.get(tx, text)
    if done_requests.is_granted(tx, known, tx.by.name):
        return TaskMove(known)
    task = _get_writable(tx, text, fence, force)
    parts = tasks.list_parts(tx, task.id)
    check_close(task, by=tx.by, open_children=[part.id for part in parts if not is_closed(part.status)], force=force)
    reason = clean_text(reason, what="reason", limit=2000)
    if done_requests.is_for_run(tx, task):
        done_requests.save(tx, task, reason)
        return TaskMove(task, warnings=(done_requests.NOTED,))
    needs = task_requirements.find_requirements(tx, task, parts=parts)
    if waive:
        return _finish_waived(tx, task, needs, reason, waive)
    if needs and proof is None and may_request:
        request = done_requests.request(tx, task, reason, needs)
        return TaskMove(task, warnings=(describe_request(request),), request=request)
    level = task_requirements.check_proof(tx, task, needs, proof)
    if level == "said" and has_passed(observations.find(tx, task)):
        level = "observed"
    return _finish_at(tx, task, level, reason, proof=proof)


def _finish_waived(tx: Writer, task: Task, needs: TaskRequirements, reason: str, why: str) -> TaskMove:
    if not needs:
        raise InvalidInput(f"{task.id} needs no check, so there is nothing to waive", hint="leave out the waiver")
    waiver = waivers.add(tx, task.id, why, checks=needs.names)
    said = f"checks waived by {waiver.waived_by}: {waiver.reason}"
    return _finish_at(tx, task, "waived", f"{reason} ({said})" if reason else said)


def _finish_at(
    tx: Writer, task: Task, level: EvidenceLevel, reason: str, *, proof: DoneProof | None = None
) -> TaskMove:
    """Closes a task as done, with how well that is known."""
    columns: dict[str, Any] = {"closed_reason": reason, "evidence_level": level}
    if level != "said":
        columns |= {"evidence_commit": proof.commit_id if proof else "", "evidence_at": tx.now}
        done_requests.note_granted(tx, task.id)
    return _move(tx, task, "done", "done", **columns)


def skip(tx: Writer, text: str, *, reason: str, fence: int | None = None, force: bool = False) -> TaskMove:
    """Cancels a task. The reason is required, because the next reader will ask."""
    task = _get_writable(tx, text, fence, force)
    reason = clean_text(reason, what="reason", limit=2000)
    if not reason:
        raise InvalidInput("a reason is needed to skip a task", hint="say why it will not be done")
    if is_closed(task.status):
        raise WrongStatus(f"{task.id} is already {task.status}", hint=steps.reopen(task.id))
    return _move(tx, task, "cancelled", "cancelled", closed_reason=reason)


def block(
    tx: Writer,
    text: str,
    *,
    reason: str,
    on: str | None = None,
    author: str | None = None,
    fence: int | None = None,
    force: bool = False,
) -> TaskMove:
    """Blocks a task and comments why; the comment is by `author`, by default the actor.

    Blocked `on` another task, it waits for that one and becomes ready when that is done. If that one is
    already closed, the task is blocked until someone has looked at both.
    """
    task = _get_writable(tx, text, fence, force)
    if is_closed(task.status):
        raise WrongStatus(f"{task.id} is {task.status}", hint=steps.reopen(task.id))
    if not reason.strip():
        raise InvalidInput("a reason is needed to block a task", hint="say what blocks it")
    comments.add(tx, task.id, f"Blocked: {reason}", author=author)
    if on is None:
        return _move(tx, task, "blocked", "blocked", note=reason)
    other = tasks.get(tx, on)
    if is_closed(other.status):
        moved = _move(tx, task, "blocked", "blocked", note=reason)
        warning = f"{other.id} is {other.status}; someone has to look at it before this can continue"
        waiting = dependencies.add(tx, task.id, other.id, reason=reason[:500])
        return moved._replace(task=waiting, warnings=(*moved.warnings, warning))
    moved = _move(tx, task, "pending", "blocked", note=reason) if task.status != "pending" else TaskMove(task)
    return moved._replace(task=dependencies.add(tx, task.id, on, reason=reason[:500]))


def reopen(tx: Writer, text: str, *, fence: int | None = None, force: bool = False) -> TaskMove:
    """Makes a task pending again, from any status."""
    task = _get_writable(tx, text, fence, force)
    if task.status == "pending":
        return TaskMove(task)
    tasks.check_title_is_free(tx, task)
    return _move(tx, task, "pending", "reopened", closed_reason="")


def set_status(
    tx: Writer, text: str, status: Status, *, reason: str = "", fence: int | None = None, force: bool = False
) -> TaskMove:
    """Sets the status of a task by the move that leads there, with that move's rules."""
    match status:
        case "in_progress":
            return start(tx, text, force=force)
        case "done":
            return finish(tx, text, reason=reason, fence=fence, force=force)
        case "cancelled":
            return skip(tx, text, reason=reason, fence=fence, force=force)
        case "blocked":
            return block(tx, text, reason=reason, fence=fence, force=force)
        case "pending":
            return reopen(tx, text, fence=fence, force=force)
        case "draft" | "partial" | "needs_input" | "in_review":
            return _stop(tx, text, status, reason=reason, fence=fence, force=force)


def _stop(tx: Writer, text: str, status: Status, *, reason: str, fence: int | None, force: bool) -> TaskMove:
    """Sets the status of a task that waits for someone, and comments why.

    In a run, an agent that puts its task up for review calls it done: the run decides who looks at it.
    """
    task = _get_writable(tx, text, fence, force)
    if is_closed(task.status):
        raise WrongStatus(f"{task.id} is {task.status}", hint=steps.reopen(task.id))
    if status == "in_review" and done_requests.is_for_run(tx, task):
        done_requests.save(tx, task, clean_text(reason, what="reason", limit=2000))
        return TaskMove(task, warnings=(done_requests.NOTED,))
    if reason:
        comments.add(tx, task.id, reason)
    return _move(tx, task, status, status, note=reason)


def enrich(tx: Writer, text: str, changes: dict[str, Any], *, fence: int | None = None) -> Task:
    """Turns a draft into a task that can be taken."""
    task = tasks.get(tx, text)
    if task.status != "draft":
        raise WrongStatus(f"{task.id} is {task.status}; only a draft can be enriched", hint=steps.update(task.id))
    if not str(changes.get("pseudocode") or "").strip():
        raise InvalidInput("an enriched task needs pseudocode", hint="say in steps how to do it")
    tasks.update(tx, task.id, changes, fence=fence)
    TASKS.update(tx, {"enriched_at": tx.now}, "id = ?", task.id)
    return _move(tx, tasks.get(tx, task.id), "pending", "enriched").task


def split(
    tx: Writer, text: str, parts: Sequence[NewTask], *, chain: bool = False, force: bool = False
) -> tuple[Task, list[Task]]:
    """Splits a task into parts that it then waits for; `chain` makes each part wait for the one before.

    When the parts are done, the task itself becomes ready, to be checked and finished.
    """
    task = _get_writable(tx, text, None, force)
    if is_closed(task.status):
        raise WrongStatus(f"{task.id} is {task.status}", hint=steps.reopen(task.id))
    if len(parts) < 2:
        raise Refused("a task must be split into at least two parts", hint="give two titles or more")
    inherited = {
        "parent": task.id,
        "feature": task.feature,
        "discipline": task.discipline,
        "status": "draft" if task.status == "draft" else "pending",
    }
    drafts = [
        msgspec.structs.replace(
            part,
            **{name: value for name, value in inherited.items() if not getattr(part, name) or name == "status"},
            priority=part.priority if part.priority is not None else task.priority,
            depends_on=(*part.depends_on, f"#{index}") if chain and index else part.depends_on,
        )
        for index, part in enumerate(parts)
    ]
    made = tasks.add(tx, drafts)
    if task.status not in ("draft", "pending"):
        _move(tx, task, "pending", "split")
    for part in made:  # one by one: a part may wait for a task that waits for the whole
        dependencies.add(tx, task.id, part.id, reason="split into these parts", force=force)
    return tasks.get(tx, task.id), made


def _claim_columns(tx: Writer) -> dict[str, Any]:
    columns = {
        "status": "in_progress",
        "claimed_by": tx.by.name,
        "claim_expires_at": lease_end(tx.by, now=tx.now, lease=tx.lease),
        "updated_at": tx.now,
    }
    return {name: encode_cell(value) for name, value in columns.items()}


def _renew(tx: Writer, task: Task) -> Task:
    """Renews the lease of a task's claim and keeps its fence."""
    TASKS.update(tx, _claim_columns(tx), "id = ?", task.id)
    return tasks.get(tx, task.id)


def _start(tx: Writer, task: Task) -> TaskMove:
    sessions.note_start(tx, task.id)
    work_starts.note(tx, task.id)
    tx.record("task", task.id, "started", {"claimed_by": task.claimed_by, "fence": task.fence})
    dropped = dependencies.list_cancelled(tx, task.id)
    warnings = (f"depends on cancelled work: {', '.join(dropped)}",) if dropped else ()
    return TaskMove(task, warnings=(*warnings, *_tell_remarks(tx, task)))


def _tell_remarks(tx: Writer, task: Task) -> list[str]:
    """What reviewers asked for, for whoever takes the task up again. An agent has then seen it."""
    wanted = review_remarks.list_for_agent(tx, task.id)
    if tx.by.kind == "agent" and wanted:
        review_remarks.note_seen(tx, task.id)
    return [f"a review asks for a change: {describe_remark(one)}" for one in wanted[:MAX_TOLD_REMARKS]]


def _get_writable(tx: Writer, text: str, fence: int | None, force: bool) -> Task:
    task = tasks.get(tx, text) if force else _find_task(tx, text)
    claim_holders.check_change(tx, task, fence=fence, force=force)
    return task


def _find_task(tx: Writer, text: str) -> Task:
    """A task, given back first if its holder is gone."""
    task = tasks.get(tx, text)
    if task.claimed_by not in (None, tx.by.name) and lapsed_claims.release_lapsed(tx):
        task = tasks.get(tx, task.id)
    return task


def _move(tx: Writer, task: Task, status: Status, action: str, *, note: str = "", **columns: Any) -> TaskMove:
    """Changes the status and everything that depends on it."""
    closing, opening = (
        is_closed(status) and not is_closed(task.status),
        is_closed(task.status) and not is_closed(status),
    )
    if closing or opening:
        columns["closed_at"] = tx.now if closing else None
    if task.status == "in_review" != status:
        _check_review_is_over(tx, task)
        reviews.withdraw(tx, task.id)
    if opening:
        columns |= UNPROVEN
        if task.status == "done":  # else the work goes on: whoever cancels a task and opens it again hides nothing
            work_starts.forget(tx, task.id)
    TASKS.update(tx, {"status": status, **UNCLAIMED, "updated_at": tx.now, **columns}, "id = ?", task.id)
    reason = note or columns.get("closed_reason")
    said = {"reason": reason} if reason else {}
    if columns.get("evidence_at"):
        said |= {"level": columns["evidence_level"], "commit": columns["evidence_commit"]}
    tx.record("task", task.id, action, {"status": [task.status, status], **said})
    unblocked: tuple[TaskId, ...] = ()
    if closing or opening:
        waiting = [known.task_id for known in dependencies.dependents_of(tx, [task.id]).get(task.id, ())]
        dependencies.recount(tx, waiting)
        if closing:
            queue.drop(tx, task)
            found = tasks.get_many(tx, waiting).values()
            unblocked = tuple(sorted(t.id for t in found if not t.open_dependencies and not is_closed(t.status)))
    return TaskMove(tasks.get(tx, task.id), unblocked, _name_holder(tx, task))


def _check_review_is_over(tx: Writer, task: Task) -> None:
    """Refuses an agent's move of a task that somebody looks at.

    Raises:
        Refused: its review is open.
    """
    if tx.by.kind == "agent" and (found := reviews.find_open(tx, task.id)) is not None:
        hint = (steps.TAKE_ANOTHER, steps.comment(task.id))
        raise Refused(f"{task.id} waits for a review of commit {found.commit_id[:SHORT_COMMIT_CHARACTERS]}", hint=hint)


def _name_holder(tx: Writer, task: Task) -> tuple[str, ...]:
    """A warning for a person who changes a task that someone else held."""
    is_others = tx.by.kind == "human" and task.claimed_by not in (None, tx.by.name)
    return (f"{task.id} was held by {task.claimed_by}",) if is_others else ()
