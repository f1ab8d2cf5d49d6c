"""Reports of agents on the task of their session, which are settled when the session ends."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec import Struct

from binnacle.errors import Ambiguous, BinnacleError, NotFound, Refused
from binnacle.store import (
    comments,
    dependencies,
    done_requests,
    questions,
    sessions,
    task_moves,
    task_requirements,
    tasks,
)
from binnacle.store.done_requests import REPORT_PREFIX, REPORTS
from binnacle.store.events import EVENTS
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.sessions import SESSIONS
from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader, Writer
from binnacle.work.actor import SYSTEM
from binnacle.work.done_gate import DoneProof, DoneRequest
from binnacle.work.ids import TaskId
from binnacle.work.journal import Event
from binnacle.work.recipe_names import recipe_name
from binnacle.work.report import (
    CLOSING,
    SILENT_REASON,
    Outcome,
    Question,
    Report,
    ReportKind,
    may_requeue,
    outcome_of,
    reason_of,
    remaining_of,
    stuck_in_a_row,
    words_of,
)
from binnacle.work.session import SessionRecord
from binnacle.work.status import is_closed
from binnacle.work.task import Task
from binnacle.work.text import fold

_CLOSING = f"kind in {placeholders(CLOSING)}"
MAX_TRIED_ATTEMPTS = 10
"""Earlier attempts that the next agent gets to see."""


class ReportTarget(NamedTuple):
    """The task that a call reports on."""

    task: Task
    session: SessionRecord | None
    """The session that is bound to the task. Without one, reports are settled at once."""


class SettledTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result for a task when the session that worked on it ended."""

    task_id: TaskId
    session: str | None = None
    report: ReportKind
    """The closing report that counted."""

    outcome: Outcome
    note: str = ""
    """Why the outcome differs from the report."""

    flags: tuple[str, ...] = ()
    """What the agent flagged as blocking."""

    questions: tuple[str, ...] = ()
    """Ids of the questions that block the task."""

    unblocked: tuple[TaskId, ...] = ()


class ClosingReport(NamedTuple):
    """A report that says how the work on a task ended."""

    target: ReportTarget
    report: Report
    settled: SettledTask | None = None
    """What it led to; None if that is decided later."""

    request: DoneRequest | None = None
    """What has to pass before it takes effect."""


class TaskAttempt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The closing report of one session, with its outcome."""

    report: Report
    said: str


class Outcomes(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the next agent on a task should know about earlier attempts."""

    remaining: str = ""
    tried: tuple[TaskAttempt, ...] = ()
    """Newest first."""

    stuck: int = 0
    """How many consecutive sessions got stuck."""

    questions: tuple[Question, ...] = ()
    """The questions in the order they were asked, with their answers."""


def find_target(tx: Writer) -> ReportTarget:
    """The task that a report is about: that of the session, or else the one that the caller holds."""
    session = SESSIONS.first(tx, "where id = ?", tx.session) if tx.session else None
    if session is not None and session.task_id:
        return ReportTarget(tasks.get(tx, session.task_id), session)
    held = tasks.list_held_by(tx, tx.by.name)
    if not held:
        raise Refused(
            f"nothing to report on: the session is bound to no task, and {tx.by.name} holds none",
            hint="take a task first; a report is about the task you work on",
        )
    if len(held) > 1:
        names = ", ".join(task.id for task in held)
        raise Ambiguous(f"{tx.by.name} holds several tasks: {names}", hint="finish or release all but one")
    return ReportTarget(held[0], None)


def save_report(
    tx: Writer, on: ReportTarget, kind: ReportKind, body: Mapping[str, Any], *, author: str | None = None
) -> Report:
    """Saves a report. A closing one is settled later; any other takes effect now."""
    report = Report(
        id=fresh_id(tx, "report", REPORT_PREFIX),
        session=on.session.id if on.session else tx.session,
        task_id=on.task.id,
        kind=kind,
        body={name: value for name, value in body.items() if value not in (None, "", ())},
        author=author or tx.by.name,
        created_at=tx.now,
        settled_at=None if kind in CLOSING else tx.now,
    )
    REPORTS.insert(tx, [REPORTS.row(report)])
    tx.record("report", report.id, "reported", {"task": report.task_id, "kind": kind, **_shorten(report.body)})
    return report


def close(tx: Writer, kind: ReportKind, body: Mapping[str, Any]) -> ClosingReport:
    """Reports how the work on the task ended.

    A `done` that has to be proven is a request, except in a run, which proves it itself. Any other report is settled
    now if no session is bound to the task.
    """
    if kind == "done" and (granted := _find_granted(tx)) is not None:
        return granted
    on = find_target(tx)
    report = save_report(tx, on, kind, body)
    if on.session is not None and on.session.run is not None:
        return ClosingReport(on, report)  # the run decides when the agent has ended
    if kind == "done":
        needs = task_requirements.find_requirements(tx, on.task, parts=tasks.list_parts(tx, on.task.id))
        if needs:
            return ClosingReport(on, report, request=done_requests.make_request(report.id, on.task, needs))
    if on.session is not None:
        return ClosingReport(on, report)
    return ClosingReport(on, report, settled=_settle_task(tx, on.task, report))


def _find_granted(tx: Writer) -> ClosingReport | None:
    """The report that was granted while its checks ran, for an agent that asks again and works on nothing else."""
    session = SESSIONS.first(tx, "where id = ?", tx.session) if tx.session else None
    if (session is not None and session.run is not None) or tasks.list_held_by(tx, tx.by.name):
        return None
    report = done_requests.find_granted(tx, tx.by.name)
    if report is None or (session is not None and session.task_id not in (None, report.task_id)):
        return None
    task = tasks.get(tx, report.task_id)
    settled = SettledTask(task_id=task.id, session=report.session, report="done", outcome="done")
    return ClosingReport(ReportTarget(task, session), report, settled=settled)


def is_bound(tx: Reader, report: Report) -> bool:
    """Whether a report is of a session that is bound to its task, and so settled with it."""
    return SESSIONS.first(tx, "where id = ? and task_id = ?", report.session, report.task_id) is not None


def describe_loss(tx: Reader, on: ReportTarget, *, agents: Collection[str] = ()) -> str:
    """How a session lost its task to someone else; empty if it did not.

    `agents` are names under which the session worked, in addition to those in its reports.
    """
    session, task = on.session, on.task
    if session is None:
        return ""
    taken, began = _newest_start(tx, task.id), _newest_start(tx, session.id)
    if taken is None or taken.session == session.id:
        return ""
    holder = str(taken.changes.get("claimed_by") or taken.actor)
    is_later = began is None or taken.seq > began.seq
    if is_later and (taken.session or "").startswith("bns-"):
        return f"it was taken by {holder} in session {taken.session}"
    names = {*agents, *(row[0] for row in tx.rows("select author from report where session = ?", session.id))}
    opened = began is not None and began.actor == holder and (not is_later or task.claim_expires_at is not None)
    if holder in names or opened or not (is_later or task.status == "in_progress"):
        return ""
    return f"it was taken by {holder} (claim {task.fence})"


def settle(tx: Writer, session_id: str, *, proof: DoneProof | None = None) -> SettledTask | None:
    """Carries out the effects of a session's reports, once; None if there is nothing to settle.

    Call it when the session ends. The last closing report counts; without one the agent was stuck. A task that needs
    checks is done with a `proof` only.
    """
    agents = (tx.by.name,) if tx.by.kind == "agent" else ()
    return _settle(tx, sessions.get(tx, session_id), agents, proof=proof)


def is_due(tx: Reader, session: SessionRecord) -> bool:
    """Whether a session without reports has something to settle, because it still holds its task."""
    task = tasks.TASKS.first(tx, "where id = ?", session.task_id)
    return task is not None and _holds(tx, ReportTarget(task, session))


def settle_abandoned(tx: Writer, task_id: str, *, but: str, alive: Collection[str] = ()) -> list[SettledTask]:
    """Settles the sessions on a task before `but` that were never settled, because their server was killed.

    Sessions in `alive` are still running and left alone. Call it before `but` takes the task. A session without
    reports was stuck if it still holds the task, or if it never ended and had the same recipe as `but`: a session
    that only discussed the task did not get stuck on it.
    """
    current = sessions.get(tx, but)
    number = "(select number from session where id = ?)"
    earlier = SESSIONS.select(tx, f"where task_id = ? and number < {number} order by number", task_id, current.id)
    unsettled = "select distinct session from report where task_id = ? and settled_at is null"
    reported = {row[0] for row in tx.rows(unsettled, task_id)}
    found = [
        _settle(tx, session, ())
        for session in earlier
        if session.id not in alive
        and (
            session.id in reported
            or (session.status == "active" and recipe_name(session.recipe) == recipe_name(current.recipe))
            or is_due(tx, session)
        )
    ]
    return [one for one in found if one is not None]


def load_outcomes(tx: Reader, task_id: str) -> Outcomes:
    """The results of the work on a task so far, for the next agent."""
    reports = _list_attempts(tx, task_id)
    counted = [report for report in reports if report.outcome not in ("", "superseded")]
    return Outcomes(
        remaining=remaining_of(counted),
        tried=tuple(TaskAttempt(report=report, said=words_of(report)) for report in counted[:MAX_TRIED_ATTEMPTS]),
        stuck=len(stuck_in_a_row(counted)),
        questions=tuple(questions.list_task_questions(tx, task_id)),
    )


def _settle(
    tx: Writer, session: SessionRecord, agents: Collection[str], *, proof: DoneProof | None = None
) -> SettledTask | None:
    task = tasks.TASKS.first(tx, "where id = ?", session.task_id)
    if task is None:
        return None
    on = ReportTarget(task, session)
    closing = REPORTS.select(
        tx, f"where session = ? and task_id = ? and {_CLOSING} order by number", session.id, task.id, *CLOSING
    )
    unsettled = [report for report in closing if report.settled_at is None]
    gone = describe_loss(tx, on, agents=agents)
    if closing and not unsettled and (gone or not _holds(tx, on)):
        return None
    if not unsettled:
        unsettled = [save_report(tx, on, "stuck", {"reason": SILENT_REASON}, author=SYSTEM.name)]
    *others, report = unsettled
    for other in others:
        REPORTS.update(tx, {"settled_at": tx.now, "outcome": "superseded"}, "id = ?", other.id)
    return _settle_task(tx, task, report, gone=gone, proof=proof)


def _holds(tx: Reader, on: ReportTarget) -> bool:
    """Whether this session took the task, and no one else has since."""
    if on.session is None or on.task.status != "in_progress":
        return False
    taken = _newest_start(tx, on.task.id)
    return taken is not None and taken.session == on.session.id


def _newest_start(tx: Reader, entity_id: str) -> Event | None:
    """The event of the last start of a task or session."""
    return EVENTS.first(tx, "where entity_id = ? and action = 'started' order by seq desc", entity_id)


def _settle_task(
    tx: Writer, task: Task, report: Report, *, gone: str = "", proof: DoneProof | None = None
) -> SettledTask:
    """Settles the report that counts; `gone` says how the task was lost, if it was."""
    flags = _blocking_flags(tx, task.id)
    outcome, note, unblocked = _leave(tx, task, report, gone) if gone else _carry_out(tx, task, report, proof)
    REPORTS.update(tx, {"settled_at": tx.now, "outcome": outcome, "note": note}, "id = ?", report.id)
    said = {"task": task.id, "kind": report.kind, "outcome": outcome}
    tx.record("report", report.id, "settled", {**said, "note": note} if note else said)
    return SettledTask(
        task_id=task.id,
        session=report.session,
        report=report.kind,
        outcome=outcome,
        note=note,
        flags=flags,
        questions=tuple(one.id for one in questions.list_blocking(tx, task.id)),
        unblocked=unblocked,
    )


Settlement = tuple[Outcome, str, tuple[TaskId, ...]]


def _leave(tx: Writer, task: Task, report: Report, why: str) -> Settlement:
    """Leaves a task as it is, and keeps the report as a comment."""
    said = words_of(report) if report.author != SYSTEM.name else f"{SILENT_REASON[0].upper()}{SILENT_REASON[1:]}"
    comments.add(tx, task.id, f"{said}\n\n(Nothing was changed: {why}.)", author=report.author)
    return "left", why, ()


def _leave_open(tx: Writer, task: Task, report: Report) -> Settlement:
    """Leaves a task to those who look at it now, whatever its agent reported."""
    why = f"the task was already {task.status}"
    return ("left", why, ()) if report.author == SYSTEM.name else _leave(tx, task, report, why)


def _carry_out(tx: Writer, task: Task, report: Report, proof: DoneProof | None) -> Settlement:
    is_silent = report.author == SYSTEM.name
    if is_closed(task.status):
        if report.kind == task.status:
            return "done", "", ()
        why = f"the task was already {task.status}"
        return ("left", why, ()) if is_silent else _leave(tx, task, report, why)
    if task.status == "in_review" or (is_silent and not may_requeue(task.status)):
        return _leave_open(tx, task, report)
    if task.status == "in_progress" and task.claimed_by != tx.by.name:
        task = task_moves.release(tx, task.id, force=True).task
    unfinished = ""
    if report.kind == "done":
        try:
            summary = report.body["summary"]
            moved = task_moves.finish(tx, task.id, reason=summary, proof=proof, may_request=False)
            is_done = moved.task.status == "done"
            return "done" if is_done else "left", "" if is_done else "; ".join(moved.warnings), moved.unblocked
        except Refused as error:
            unfinished = error.message
    stuck = stuck_in_a_row(_list_attempts(tx, task.id))
    outcome = outcome_of(
        report.kind,
        unfinished=unfinished,
        awaits_answer=bool(questions.list_blocking(tx, task.id)),
        stuck_before=len(stuck),
        waits_for_task=report.kind == "blocked" and _wait_for_blocker(tx, task, report),
    )
    return _move(tx, task, report, outcome, unfinished=unfinished, stuck=stuck)


def _move(
    tx: Writer, task: Task, report: Report, outcome: Outcome, *, unfinished: str, stuck: list[Report]
) -> Settlement:
    """Moves a task that is not done, and comments why. A status that someone else set meanwhile stays."""
    if not may_requeue(task.status):
        return _leave(tx, task, report, f"the task is {task.status}")
    if outcome == "blocked":
        task_moves.block(tx, task.id, reason=_why_blocked(report, stuck), author=report.author, force=True)
        return outcome, "", ()
    said = words_of(report)
    if unfinished:
        said = f"Reported done, but not finished: {unfinished}.\n\n{said}"
    comments.add(tx, task.id, said, author=report.author)
    if outcome == "needs_input":
        task_moves.set_status(tx, task.id, "needs_input", force=True)
    elif task.status == "in_progress":
        task_moves.release(tx, task.id, force=True)
    else:
        task_moves.reopen(tx, task.id, force=True)
    return outcome, unfinished, ()


def _why_blocked(report: Report, stuck: list[Report]) -> str:
    if report.kind == "blocked":
        return reason_of(report)
    reasons = dict.fromkeys(reason_of(one) for one in (*reversed(stuck), report))
    return f"stuck {len(stuck) + 1} times in a row\n" + "\n".join(f"- {reason}" for reason in reasons)


def find_blocking_task(tx: Reader, body: Mapping[str, Any]) -> Task | None:
    """The task that a blocker names, by its id or its title."""
    if body.get("kind") == "external":
        return None
    named = str(body["on"])
    found = tasks.TASKS.first(
        tx, "where title_key = ? order by case when status = 'cancelled' then 1 else 0 end, number desc", fold(named)
    )
    if found is not None:
        return found
    for word in (part.strip(".,;:()") for part in named.split()):
        if word.casefold().startswith("bn-") or word == named:
            with suppress(BinnacleError):  # not an id, or not of one task
                return tasks.get(tx, word)
    return None


def _wait_for_blocker(tx: Writer, task: Task, report: Report) -> bool:
    """Makes the task wait for the one that blocks it, if that is known and open and closes no cycle."""
    target = find_blocking_task(tx, report.body)
    if target is None or is_closed(target.status):
        return False
    try:
        dependencies.add(tx, task.id, target.id, reason=reason_of(report)[:500])
    except (Refused, NotFound):
        return False
    return True


def _list_attempts(tx: Reader, task_id: str) -> list[Report]:
    """The closing reports on a task that were settled, newest first."""
    where = f"where task_id = ? and {_CLOSING} and settled_at is not null order by number desc limit 100"
    return REPORTS.select(tx, where, task_id, *CLOSING)


def _blocking_flags(tx: Reader, task_id: str) -> tuple[str, ...]:
    """What was flagged as blocking since the task was last settled."""
    last = "(select max(number) from report where task_id = ? and outcome not in ('', 'superseded'))"
    flags = REPORTS.select(
        tx,
        f"where task_id = ? and kind = 'flag' and number > coalesce({last}, 0) order by number",
        task_id,
        task_id,
    )
    return tuple(flag.body["what"] for flag in flags if flag.body["severity"] == "blocking")


def _shorten(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[:200] if isinstance(value, str) else value for name, value in body.items() if name != "kind"}
