"""What waits for people: one open entry for one cause, until somebody answers or the cause is gone.

A permission is waited for by an agent and is over when the agent is gone. A question, and a task that agents gave up,
are also in the table of questions; `questions.answer` closes both. A review of a run waits until it is decided. An
ended run waits until it is resumed, or until somebody has seen it.
"""

from collections.abc import Sequence

from binnacle.errors import NotFound, did_you_mean
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import Table, placeholders
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.actor import SYSTEM
from binnacle.work.run import Attention, AttentionKind

ATTENTIONS = Table("attention", Attention, json=("options",), times=("created_at", "answered_at"))

PREFIX = "bnp-"
MAX_TITLE_CHARACTERS = 200
MAX_BODY_CHARACTERS = 8000

OPEN = "answered_at is null"


def open_entry(
    tx: Writer,
    kind: AttentionKind,
    title: str,
    *,
    body: str = "",
    run: str | None = None,
    session: str | None = None,
    task_id: str | None = None,
    question: str | None = None,
    options: Sequence[str] = (),
) -> Attention:
    """Adds an entry, unless one for the same cause is open: then returns that."""
    wanted = Attention(
        id=fresh_id(tx, "attention", PREFIX),
        run=run or _run_of(tx, session),
        session=session,
        task_id=task_id,
        question=question,
        kind=kind,
        title=" ".join(title.split())[:MAX_TITLE_CHARACTERS],
        body=body.strip()[:MAX_BODY_CHARACTERS],
        options=tuple(options),
        created_at=tx.now,
    )
    if (known := _find_same(tx, wanted)) is not None:
        return known
    ATTENTIONS.insert(tx, [ATTENTIONS.row(wanted)])
    about = {"task": task_id} if task_id else {}
    tx.record("attention", wanted.id, "opened", {"kind": kind, "title": wanted.title, **about})
    return wanted


def _run_of(tx: Reader, session: str | None) -> str | None:
    row = tx.row("select run from session where id = ?", session) if session else None
    return row[0] if row else None


def _find_same(tx: Reader, wanted: Attention) -> Attention | None:
    """The open entry with the same cause."""
    match wanted.kind:
        case "question" | "stuck":
            return ATTENTIONS.first(tx, f"where {OPEN} and question = ?", wanted.question)
        case "ended":
            return ATTENTIONS.first(tx, f"where {OPEN} and kind = 'ended' and run = ?", wanted.run)
        case "review":
            return ATTENTIONS.first(tx, f"where {OPEN} and kind = 'review' and task_id = ?", wanted.task_id)
    near = ATTENTIONS.select(tx, f"where {OPEN} and kind = ? and title = ?", wanted.kind, wanted.title)
    same = (
        one for one in near if (one.session, one.task_id, one.body) == (wanted.session, wanted.task_id, wanted.body)
    )
    return next(same, None)


def get(tx: Reader, text: str) -> Attention:
    """The entry with this id; `bnp-` may be left out."""
    wanted = f"{PREFIX}{text.strip().casefold().removeprefix(PREFIX)}"
    found = ATTENTIONS.first(tx, "where id = ?", wanted)
    if found is None:
        near = did_you_mean(wanted, [one.id for one in list_open(tx)])
        raise NotFound(f"nothing called {text[:60]!r} waits for you", hint=near or steps.SHOW_STATUS)
    return found


def list_open(tx: Reader, *, run: str | None = None, limit: int = 100) -> list[Attention]:
    """The open entries, oldest first; with `run`, those of a run."""
    where, values = (" and run = ?", [run]) if run else ("", [])
    return ATTENTIONS.select(tx, f"where {OPEN}{where} order by number limit ?", *values, limit)


def list_open_of(tx: Reader, session_ids: Sequence[str]) -> list[Attention]:
    """The open entries of sessions, oldest first."""
    return ATTENTIONS.select(
        tx, f"where {OPEN} and session in {placeholders(session_ids)} order by number", *session_ids
    )


def list_closed(tx: Reader, ids: Sequence[str]) -> list[Attention]:
    """Those of these entries that are closed."""
    return ATTENTIONS.select(tx, f"where answered_at is not null and id in {placeholders(ids)}", *ids) if ids else []


def close(tx: Writer, attention_id: str, *, answer: str, by: str) -> Attention:
    """Closes an entry with its answer, which is empty if its cause is gone. The first answer stays."""
    columns = {"answer": answer, "answered_by": by, "answered_at": tx.now}
    if ATTENTIONS.update(tx, columns, f"id = ? and {OPEN}", attention_id):
        said = {"answer": answer[:200]} if answer else {}
        tx.record("attention", attention_id, "answered" if answer else "closed", said)
    return get(tx, attention_id)


def close_question(tx: Writer, question_id: str, answer: str) -> None:
    """Closes the entry of a question that was answered."""
    for one in ATTENTIONS.select(tx, f"where {OPEN} and question = ?", question_id):
        close(tx, one.id, answer=answer, by=tx.by.name)


def close_ended(tx: Writer, run_id: str) -> None:
    """Closes the entry of a run that goes on."""
    for one in ATTENTIONS.select(tx, f"where {OPEN} and kind = 'ended' and run = ?", run_id):
        close(tx, one.id, answer="", by=tx.by.name)


def close_review(tx: Writer, task_id: str, answer: str = "") -> None:
    """Closes the entry of a review that does not wait for a person any more."""
    for one in ATTENTIONS.select(tx, f"where {OPEN} and kind = 'review' and task_id = ?", task_id):
        close(tx, one.id, answer=answer, by=tx.by.name)


def close_permissions(tx: Writer, session_ids: Sequence[str]) -> None:
    """Closes the permissions that the agents of these sessions wait for: they are gone."""
    for one in list_open_of(tx, session_ids):
        if one.kind == "permission":
            close(tx, one.id, answer="", by=SYSTEM.name)
