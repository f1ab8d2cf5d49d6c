"""An agent's `done` in a run: a request, which the run grants when the change is in its branch.

Outside of runs, `done` takes effect at once.
"""

from binnacle.errors import Refused
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.sessions import SESSIONS
from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work.report import Report
from binnacle.work.task import Task

REPORTS = Table("report", Report, json=("body",), times=("created_at", "settled_at"), key=("id",))

REPORT_PREFIX = "bnr-"
NOTED = "noted: it is closed when the run has taken the change over"


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


def save(tx: Writer, task: Task, reason: str) -> None:
    """Notes that the agent calls its task done."""
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


def is_pending(tx: Reader, session_id: str, task_id: str) -> bool:
    """Whether a session's agent calls its task done, and the run has not decided yet."""
    where = "where session = ? and task_id = ? and settled_at is null order by number desc"
    newest = REPORTS.first(tx, where, session_id, task_id)
    return newest is not None and newest.kind == "done"


def withdraw(tx: Writer, session_id: str, task_id: str, why: str) -> None:
    """Notes that the run does not grant what the agent reported."""
    columns = {"settled_at": tx.now, "outcome": "left", "note": why}
    REPORTS.update(tx, columns, "session = ? and task_id = ? and settled_at is null", session_id, task_id)
