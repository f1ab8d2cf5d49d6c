"""Sessions with their iterations."""

import msgspec

from binnacle.config import access_tokens
from binnacle.errors import NotFound, Refused
from binnacle.store.claim_holders import AGENTS
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import Table, placeholders
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.ids import SessionId
from binnacle.work.session import (
    PLANNED_PREFIX,
    Iteration,
    SessionRecord,
    check_complete,
    check_start_in_iteration,
    check_summary,
)
from binnacle.work.text import clean_optional_line, clean_text

SESSIONS = Table("session", SessionRecord, times=("created_at", "ended_at"))
ITERATIONS = Table("iteration", Iteration, times=("started_at", "ended_at"))


def start(
    tx: Writer,
    *,
    name: str = "",
    recipe: str = "",
    discipline: str | None = None,
    feature: str | None = None,
    task_id: str | None = None,
) -> SessionRecord:
    """Opens a session."""
    session = SessionRecord(
        id=SessionId(fresh_id(tx, "session", PLANNED_PREFIX)),
        name=clean_optional_line(name, what="session name", limit=64),
        recipe=clean_optional_line(recipe, what="recipe", limit=64),
        discipline=discipline,
        feature=feature,
        task_id=task_id,
        created_at=tx.now,
    )
    SESSIONS.insert(tx, [SESSIONS.row(session)])
    tx.record("session", session.id, "started", {"name": session.name, "recipe": session.recipe})
    return session


def get(tx: Reader, session_id: str) -> SessionRecord:
    """The session with this id."""
    found = SESSIONS.first(tx, "where id = ?", session_id)
    if found is None:
        raise NotFound(f"no session {session_id!r}", hint="it may belong to another project")
    return found


def is_known(tx: Reader, session_id: str) -> bool:
    """Whether there is a session with this id, which may have ended."""
    return tx.row("select 1 from session where id = ?", session_id) is not None


def issue_secret(tx: Writer, session_id: str) -> str:
    """Issues a new secret, which proves that a process or a client belongs to a session, and revokes the old one."""
    issued = access_tokens.issue(get(tx, session_id).id)
    tx.run("update session set secret = ? where id = ?", issued.digest, session_id)
    return issued.text


def has_secret(tx: Reader, session_id: str, text: str) -> bool:
    """Whether this is the secret of a session, which may have ended."""
    row = tx.row("select secret from session where id = ?", session_id)
    return row is not None and access_tokens.id_of(text) == session_id and access_tokens.matches(text, row[0])


def find_by_secret(tx: Reader, text: str) -> SessionRecord | None:
    """The active session that a secret belongs to, or None."""
    session_id = access_tokens.id_of(text)
    found = SESSIONS.first(tx, "where id = ? and status = 'active'", session_id)
    return found if found is not None and has_secret(tx, session_id, text) else None


def find(tx: Reader, text: str) -> SessionRecord:
    """The session with this id, or the newest with this name."""
    found = SESSIONS.first(tx, "where id = ? or name = ? order by number desc", text, text)
    if found is None:
        raise NotFound(f"no session {text[:60]!r}", hint=steps.LIST_SESSIONS)
    return found


def list_sessions(tx: Reader, *, limit: int = 50) -> list[SessionRecord]:
    """The newest sessions, newest first."""
    return SESSIONS.select(tx, "order by number desc limit ?", limit)


def list_active_on(tx: Reader, task_id: str) -> list[SessionRecord]:
    """The sessions on a task that have not ended, oldest first."""
    return SESSIONS.select(tx, "where task_id = ? and status = 'active' order by number", task_id)


def list_active_named(tx: Reader, name: str) -> list[SessionRecord]:
    """The sessions with this name that have not ended, the newest first."""
    return SESSIONS.select(tx, "where name = ? and status = 'active' order by number desc", name)


def list_iterations(tx: Reader, session_id: str) -> list[Iteration]:
    """The iterations of a session in order."""
    return ITERATIONS.select(tx, "where session = ? order by number", session_id)


def begin_iteration(tx: Writer, session_id: str, *, first: int = 0) -> Iteration:
    """Opens the next iteration. Numbers start at `first` and have no gaps, even after a crash."""
    session = _get_active(tx, session_id)
    before = list_iterations(tx, session.id)
    if before and before[-1].ended_at is None:
        ITERATIONS.update(tx, {"ended_at": tx.now}, "session = ? and number = ?", session.id, before[-1].number)
    number = before[-1].number + 1 if before else first
    iteration = Iteration(session=session.id, number=number, started_at=tx.now)
    ITERATIONS.insert(tx, [ITERATIONS.row(iteration)])
    tx.record("session", session.id, "iteration", {"number": iteration.number})
    return iteration


def find_unfinished(tx: Reader, session_id: str) -> Iteration | None:
    """The iteration that was in progress when its run was killed."""
    return ITERATIONS.first(tx, "where session = ? and ended_at is null order by number desc", session_id)


def note_task(tx: Writer, session_id: str, task_id: str) -> None:
    """Notes that the current iteration works on `task_id`; a second task is refused."""
    iteration = _get_current(tx, session_id)
    check_start_in_iteration(iteration, task_id)
    tx.record("session", session_id, "task", {"number": iteration.number, "task": task_id})
    ITERATIONS.update(tx, {"task_started": task_id}, "session = ? and number = ?", session_id, iteration.number)


def join_run(tx: Writer, session_id: str, run: str, place: str) -> None:
    """Notes which run drives a session, and from where."""
    SESSIONS.update(tx, {"run": run, "place": place}, "id = ?", session_id)


def bind(tx: Writer, session_id: str, task_id: str | None) -> None:
    """Binds a session to the task that its agents work on now."""
    SESSIONS.update(tx, {"task_id": task_id}, "id = ?", session_id)


def note_start(tx: Writer, task_id: str) -> None:
    """Does the same for the iteration of this transaction's session, if it has one."""
    if tx.session and ITERATIONS.first(tx, "where session = ?", tx.session):
        note_task(tx, tx.session, task_id)


def summarize(tx: Writer, session_id: str, summary: str) -> Iteration:
    """Ends the current iteration with a summary."""
    iteration = _get_current(tx, session_id)
    check_summary(iteration)
    text = clean_text(summary, what="summary", limit=5000)
    columns = {"summary": text, "ended_at": tx.now}
    ITERATIONS.update(tx, columns, "session = ? and number = ?", session_id, iteration.number)
    tx.record("session", session_id, "summary", {"number": iteration.number, "summary": text[:200]})
    return _get_current(tx, session_id)


def close_iteration(tx: Writer, session_id: str, summary: str) -> Iteration:
    """Ends the newest iteration of a session, unless it has ended itself; `summary` is used if it has none."""
    iteration = list_iterations(tx, session_id)[-1]
    if not iteration.summary:
        columns = {"summary": clean_text(summary, what="summary", limit=5000), "ended_at": tx.now}
        ITERATIONS.update(tx, columns, "session = ? and number = ?", session_id, iteration.number)
        tx.record("session", session_id, "summary", {"number": iteration.number, "summary": summary[:200]})
    return list_iterations(tx, session_id)[-1]


def complete(tx: Writer, session_id: str, *, reason: str = "") -> SessionRecord:
    """Ends a session, if no task is open in its feature, in the selection of its run, or in the project."""
    session = _get_active(tx, session_id)
    scope, values = (" and feature = ?", [session.feature]) if session.feature else ("", list[str]())
    row = tx.row("select tasks from run where id = ?", session.run) if session.run else None
    if selected := msgspec.json.decode(row[0], type=list[str]) if row is not None else []:
        several = placeholders(selected)
        scope, values = f"{scope} and (id in {several} or parent in {several})", [*values, *selected, *selected]
    rows = tx.rows(
        f"select id from task where status in ('pending', 'in_progress', 'partial'){scope} order by number", *values
    )
    # In a run, the task of the session stays in progress until the run has taken its change over.
    check_complete([row[0] for row in rows if session.run is None or row[0] != session.task_id])
    return _end(tx, session, "complete", reason)


def conclude(tx: Writer, session_id: str, *, reason: str) -> SessionRecord:
    """Ends a session that did what it was for, whatever else is open in the project."""
    return _end(tx, _get_active(tx, session_id), "complete", reason)


def reopen(tx: Writer, session_id: str) -> SessionRecord:
    """Reopens a completed session, because more work came up after its end."""
    session = get(tx, session_id)
    if session.status == "complete":
        SESSIONS.update(tx, {"status": "active", "reason": "", "ended_at": None}, "id = ?", session.id)
        AGENTS.update(tx, {"ended_at": None}, "id = ?", session.id)
        tx.record("session", session.id, "reopened", {})
    return get(tx, session.id)


def abort(tx: Writer, session_id: str, *, reason: str) -> SessionRecord:
    """Ends a session that cannot continue."""
    return _end(tx, _get_active(tx, session_id), "aborted", reason)


def _end(tx: Writer, session: SessionRecord, status: str, reason: str) -> SessionRecord:
    said = clean_text(reason, what="reason", limit=2000)
    SESSIONS.update(tx, {"status": status, "reason": said, "ended_at": tx.now}, "id = ?", session.id)
    AGENTS.update(tx, {"ended_at": tx.now}, "id = ?", session.id)
    tx.record("session", session.id, status, {"reason": said})
    return get(tx, session.id)


def _get_active(tx: Reader, session_id: str) -> SessionRecord:
    session = get(tx, session_id)
    if session.status != "active":
        raise Refused(f"session {session_id} is {session.status}", hint="start a new one")
    return session


def _get_current(tx: Reader, session_id: str) -> Iteration:
    found = ITERATIONS.first(tx, "where session = ? order by number desc", _get_active(tx, session_id).id)
    if found is None:
        raise Refused(f"session {session_id} has no iteration yet", hint="begin one first")
    return found
