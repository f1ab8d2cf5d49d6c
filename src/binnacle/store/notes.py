"""Notes of a session, and the project's progress log."""

from collections.abc import Sequence

from binnacle.errors import InvalidInput, NotFound
from binnacle.store.fresh_ids import fresh_ids
from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.journal import MAX_BODY_CHARACTERS, Note, NoteType, Progress
from binnacle.work.text import clean_text

NOTES = Table("note", Note, times=("created_at",), key=("id",))
PROGRESS = Table("progress", Progress, times=("created_at",))


def add(tx: Writer, notes: Sequence[tuple[NoteType, str]], *, iteration: int | None = None) -> list[Note]:
    """Keeps notes, all or none, in the session of the transaction."""
    made = [
        Note(
            id=note_id,
            type=kind,
            content=_clean_nonempty(content, what="note"),
            session=tx.session,
            iteration=iteration,
            author=tx.by.name,
            created_at=tx.now,
        )
        for note_id, (kind, content) in zip(fresh_ids(tx, "note", "bnn-", len(notes)), notes, strict=True)
    ]
    NOTES.insert(tx, [NOTES.row(note) for note in made])
    for note in made:
        tx.record("note", note.id, "added", {"type": note.type, "content": note.content[:200]})
    return made


def list_notes(
    tx: Reader, *, kind: NoteType | None = None, session: str | None = None, run: str | None = None, limit: int = 100
) -> tuple[list[Note], int]:
    """The newest notes, oldest first, and the total number. With `run`, those of all sessions of a run."""
    of_session = "session in (select id from session where run = ?)" if run else "session = ?"
    conditions = {"type = ?": kind, of_session: run or session}
    given = {condition: value for condition, value in conditions.items() if value is not None}
    where = " and ".join(given) or "1 = 1"
    found = NOTES.select(tx, f"where {where} order by number desc limit ?", *given.values(), limit)
    total = len(found) if len(found) < limit else tx.count(f"select count(*) from note where {where}", *given.values())
    return found[::-1], total


def delete(tx: Writer, note_id: str) -> Note:
    """Deletes a note and returns it."""
    found = NOTES.first(tx, "where id = ?", note_id.strip().casefold())
    if found is None:
        raise NotFound(f"no note {note_id!r}", hint=steps.LIST_NOTES)
    NOTES.delete(tx, "id = ?", found.id)
    tx.record("note", found.id, "deleted", {"content": found.content[:200]})
    return found


def add_progress(tx: Writer, text: str) -> Progress:
    """Appends to the progress log."""
    row = {
        "text": _clean_nonempty(text, what="progress"),
        "author": tx.by.name,
        "session": tx.session,
        "created_at": tx.now,
    }
    PROGRESS.insert(tx, [row])
    made = PROGRESS.first(tx, "order by number desc")
    assert made is not None
    tx.record("progress", str(made.number), "added", {"text": made.text[:200]})
    return made


def list_progress(tx: Reader, *, limit: int = 50) -> tuple[list[Progress], int]:
    """The newest entries of the log, oldest first, and the total number."""
    found = PROGRESS.select(tx, "order by number desc limit ?", limit)
    return found[::-1], len(found) if len(found) < limit else tx.count("select count(*) from progress")


def _clean_nonempty(text: str, *, what: str) -> str:
    clean = clean_text(text, what=what, limit=MAX_BODY_CHARACTERS)
    if not clean:
        raise InvalidInput(f"{what} is empty", hint="say it in a sentence")
    return clean
