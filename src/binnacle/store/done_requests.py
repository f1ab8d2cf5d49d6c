"""A `done` that is a request: kept as a report, until it is granted or refused.

In a run, an agent's `done` always is: the run grants it when the change is in its branch. Outside of runs it is one if
the task has checks: it is granted with a proof (`task_moves.finish`), and refused if they do not pass.
"""

from datetime import datetime

import msgspec

from binnacle.errors import Refused
from binnacle.store import events
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.sessions import SESSIONS
from binnacle.store.table import Table
from binnacle.store.tasks import TASKS
from binnacle.store.transaction import Reader, Writer, stamp
from binnacle.work.done_gate import DoneProof, DoneRequest, RequestState, TaskRequirements
from binnacle.work.report import Report
from binnacle.work.task import Task

REPORTS = Table("report", Report, json=("body",), times=("created_at", "settled_at"), key=("id",))

REPORT_PREFIX = "bnr-"
NOTED = "noted: it is closed when the run has taken the change over"
MAX_NOTE_CHARACTERS = 4000
_PROOF = "proof"
"""In the body of a request: what was proven of the merged tree, noted before the merge."""

_WAITING = "kind = 'done' and settled_at is null"


def is_for_run(tx: Writer, task: Task) -> bool:
    """Whether a run closes this task, instead of the agent who says that it is done.

    Raises:
        Refused: the agent's session is in a run, and works on another task.
    """
    if tx.by.kind != "agent" or not tx.session:
        return False
    session = SESSIONS.first(tx, "where id = ? and run is not null", tx.session)
    if session is None:
        return False
    if session.task_id != task.id:
        hint = f"finish {session.task_id}; add a comment or a note about {task.id}" if session.task_id else "leave it"
        raise Refused(f"{task.id} is not the task of this attempt", hint=hint)
    return True


def save(tx: Writer, task: Task, reason: str) -> str:
    """Notes that the actor calls a task done. Returns the id of the report."""
    report = Report(
        id=fresh_id(tx, "report", REPORT_PREFIX),
        session=tx.session,
        task_id=task.id,
        kind="done",
        body={"summary": reason},
        author=tx.by.name,
        created_at=tx.now,
    )
    REPORTS.insert(tx, [REPORTS.row(report)])
    tx.record("report", report.id, "reported", {"task": task.id, "kind": "done", "summary": reason[:200]})
    return report.id


def request(tx: Writer, task: Task, reason: str, needs: TaskRequirements) -> DoneRequest:
    """Notes a `done` that waits for checks. Asking again replaces the reason."""
    waiting = REPORTS.first(
        tx, f"where task_id = ? and author = ? and {_WAITING} order by number desc", task.id, tx.by.name
    )
    if waiting is None:
        return make_request(save(tx, task, reason), task, needs)
    if waiting.body.get("summary", "") != reason:
        REPORTS.update(tx, {"body": {"summary": reason}}, "id = ?", waiting.id)
        tx.record("report", waiting.id, "reported", {"task": task.id, "kind": "done", "summary": reason[:200]})
    return make_request(waiting.id, task, needs)


def make_request(report_id: str, task: Task, needs: TaskRequirements) -> DoneRequest:
    """A request, with what has to be proven."""
    return DoneRequest(
        report=report_id,
        task_id=task.id,
        checks=tuple(check.name for check in needs.checks),
        tests=needs.tests,
        problems=tuple(check.problem for check in needs.checks if check.problem),
        review=needs.review.require,
    )


def list_waiting(tx: Reader, task_id: str) -> list[Report]:
    """The requests for a task that are neither granted nor refused, oldest first."""
    return REPORTS.select(tx, f"where task_id = ? and {_WAITING} order by number", task_id)


def note_granted(tx: Writer, task_id: str) -> None:
    """Notes that a task is done, as was asked for."""
    REPORTS.update(tx, {"settled_at": tx.now, "outcome": "done"}, f"task_id = ? and {_WAITING}", task_id)


def is_granted(tx: Reader, task: Task, author: str) -> bool:
    """Whether a task is done because this author asked for it, and nothing has changed since."""
    return task.status == "done" and _was_granted(_find_newest(tx, author, "and task_id = ?", task.id), task)


def find_granted(tx: Reader, author: str) -> Report | None:
    """The newest request of this author, if its task is done because of it, and nothing has changed since."""
    report = _find_newest(tx, author, "")
    task = TASKS.first(tx, "where id = ? and status = 'done'", report.task_id) if report is not None else None
    return report if task is not None and _was_granted(report, task) else None


def find_state(tx: Reader, task_id: str) -> RequestState | None:
    """What became of the newest `done` of a task that had to be proven; None if there was none."""
    report = REPORTS.first(tx, "where task_id = ? and kind = 'done' order by number desc", task_id)
    if report is None:
        return None
    return RequestState(
        report=report.id,
        state="waiting" if report.settled_at is None else "granted" if report.outcome == "done" else "refused",
        asked_by=report.author,
        asked_at=report.created_at,
        settled_at=report.settled_at,
        commit=str(report.body.get("commit", "")),
        reason=report.note,
    )


def _find_newest(tx: Reader, author: str, condition: str, *values: str) -> Report | None:
    return REPORTS.first(tx, f"where author = ? and kind = 'done' {condition} order by number desc", author, *values)


def _was_granted(report: Report | None, task: Task) -> bool:
    return report is not None and report.outcome == "done" and report.settled_at == task.closed_at


def find(tx: Reader, report_id: str) -> Report | None:
    """The report of a request, whatever became of it."""
    return REPORTS.first(tx, "where id = ?", report_id)


def refuse(tx: Writer, task_id: str, why: str, *, commit: str = "") -> None:
    """Notes that a task is not done at a commit, although it was asked for, because of what its checks showed."""
    columns = {"settled_at": tx.now, "outcome": "left", "note": why[:MAX_NOTE_CHARACTERS]}
    for report in list_waiting(tx, task_id):
        REPORTS.update(tx, {**columns, "body": {**report.body, "commit": commit}}, "id = ?", report.id)
        said = {"task": task_id, "kind": "done", "outcome": "left", "note": why[:200]}
        tx.record("report", report.id, "settled", said)


def note_in_review(tx: Writer, task_id: str, why: str) -> None:
    """Notes that a review decides about what was asked for."""
    for report in list_waiting(tx, task_id):
        REPORTS.update(
            tx, {"settled_at": tx.now, "outcome": "left", "note": why[:MAX_NOTE_CHARACTERS]}, "id = ?", report.id
        )
        tx.record(
            "report", report.id, "settled", {"task": task_id, "kind": "done", "outcome": "left", "note": why[:200]}
        )


def find_words(tx: Reader, task_id: str) -> str:
    """What was said when a task was called done the last time; empty if it never was."""
    found = REPORTS.first(tx, "where task_id = ? and kind = 'done' order by number desc", task_id)
    return str(found.body.get("summary", "")) if found else ""


def count_refused_commits(tx: Reader, task_id: str) -> int:
    """For how many commits a task was not done although it was asked for, since a person last looked at it."""
    where = "where task_id = ? and kind = 'done' and outcome = 'left' and created_at > ?"
    found = REPORTS.select(tx, where, task_id, events.find_last_look(tx, task_id))
    return len({one.body["commit"] for one in found if one.body.get("commit")})


def find_refused(tx: Reader, session_id: str, task_id: str, *, since: datetime) -> str:
    """Why the last `done` of a session was refused because of its checks; empty if it was not."""
    where = "where session = ? and task_id = ? and kind = 'done' and created_at >= ? order by number desc"
    newest = REPORTS.first(tx, where, session_id, task_id, stamp(since))
    is_refused = newest is not None and newest.outcome == "left" and newest.body.get("commit")
    return newest.note if newest is not None and is_refused else ""


def note_proof(tx: Writer, task_id: str, proof: DoneProof) -> None:
    """Notes what is proven of a tree that is about to be integrated, in case the run is killed right after that."""
    for report in list_waiting(tx, task_id):
        REPORTS.update(tx, {"body": {**report.body, _PROOF: msgspec.to_builtins(proof)}}, "id = ?", report.id)


def find_noted_proof(tx: Reader, task_id: str) -> DoneProof | None:
    """The newest proof that was noted for a task, and with which it was not closed."""
    opened = tx.row("select max(at) from event where entity_id = ? and action = 'reopened'", task_id)
    where = "where task_id = ? and kind = 'done' and created_at > ? order by number desc limit 50"
    for report in REPORTS.select(tx, where, task_id, opened[0] if opened and opened[0] else ""):
        if report.outcome == "done":
            return None
        if _PROOF in report.body:
            return msgspec.convert(report.body[_PROOF], DoneProof)
    return None


def is_pending(tx: Reader, session_id: str, task_id: str) -> bool:
    """Whether a session's agent calls its task done, and the run has not decided yet."""
    where = "where session = ? and task_id = ? and settled_at is null order by number desc"
    newest = REPORTS.first(tx, where, session_id, task_id)
    return newest is not None and newest.kind == "done"


def withdraw(tx: Writer, session_id: str, task_id: str, why: str) -> None:
    """Notes that the run does not grant what the agent reported."""
    columns = {"settled_at": tx.now, "outcome": "left", "note": why}
    REPORTS.update(tx, columns, "session = ? and task_id = ? and settled_at is null", session_id, task_id)
