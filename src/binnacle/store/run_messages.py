"""What people send to a run through the store, and which processes drive its sessions.

A process that drives sessions of a run holds a lease on each of them as long as anything of theirs is alive. So every
machine sees which sessions are driven, and a lease that is given back confirms that its agents have ended.
"""

from collections.abc import Sequence

from binnacle.store import leases
from binnacle.store.claim_holders import AGENTS
from binnacle.store.sessions import SESSIONS
from binnacle.store.table import Table, placeholders
from binnacle.store.transaction import Reader, Writer
from binnacle.work.run import MessageKind, RunId, RunMessage
from binnacle.work.session import SessionRecord
from binnacle.work.text import clean_text

MESSAGES = Table("run_message", RunMessage, times=("created_at", "taken_at"))

DRIVER_LEASE_SECONDS = 30.0
"""How long the sessions of a killed process count as driven on other machines."""

MAX_MESSAGE_CHARACTERS = 10_000


def drive(tx: Writer, session_ids: Sequence[str], holder: str) -> None:
    """Notes that a process drives these sessions, for `DRIVER_LEASE_SECONDS` from now."""
    for session_id in session_ids:
        leases.take(tx, _lease_of(session_id), holder, DRIVER_LEASE_SECONDS)


def stop_driving(tx: Writer, session_ids: Sequence[str], holder: str) -> None:
    """Notes that nothing of these sessions is alive any more."""
    for session_id in session_ids:
        leases.release(tx, _lease_of(session_id), holder)


def is_driven(tx: Reader, session_id: str) -> bool:
    """Whether a process drives a session now, on whatever machine."""
    if not leases.is_held(tx, _lease_of(session_id)):
        return False
    agent = AGENTS.first(tx, "where id = ?", session_id)
    return agent is None or not tx.outlook.is_gone(agent)


def list_driven(tx: Reader, run_id: str) -> list[SessionRecord]:
    """The sessions of a run that a process drives now, on all machines."""
    found = SESSIONS.select(tx, "where run = ? order by number", run_id)
    return [one for one in found if is_driven(tx, one.id)]


def _lease_of(session_id: str) -> str:
    return f"drive {session_id}"


def send(tx: Writer, run_id: RunId, session_ids: Sequence[str], kind: MessageKind, *, body: str = "") -> None:
    """Sends something to sessions of a run."""
    text = clean_text(body, what="message", limit=MAX_MESSAGE_CHARACTERS)
    rows = (
        {"run": run_id, "session": one, "kind": kind, "body": text, "sent_by": tx.by.name, "created_at": tx.now}
        for one in session_ids
    )
    MESSAGES.insert(tx, rows)
    tx.record("run", run_id, f"sent {kind}", {"sessions": list(session_ids), "body": text[:200]})


def list_new(tx: Reader, session_ids: Sequence[str]) -> list[RunMessage]:
    """The messages for sessions that were not taken yet, oldest first."""
    where = f"where taken_at is null and session in {placeholders(session_ids)} order by number"
    return MESSAGES.select(tx, where, *session_ids)


def mark_taken(tx: Writer, numbers: Sequence[int]) -> None:
    """Notes that messages have reached their process."""
    for number in numbers:
        MESSAGES.update(tx, {"taken_at": tx.now}, "number = ? and taken_at is null", number)
