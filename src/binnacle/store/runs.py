"""Runs in the store. `run_messages` has what people send to them, `attention` what waits for people."""

from collections.abc import Sequence

import msgspec

from binnacle.errors import NotFound
from binnacle.store import attention
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.sessions import SESSIONS
from binnacle.store.table import Table, placeholders
from binnacle.store.task_requirements import has_checks
from binnacle.store.transaction import Reader, Writer
from binnacle.work.run import RunId, RunRecord
from binnacle.work.session import SessionRecord

RUNS = Table("run", RunRecord, json=("budget", "tasks"), times=("created_at", "ended_at"))

RUN_PREFIX = "run-"


def start(
    tx: Writer, name: str, *, feature: str | None, asked: str, asked_file: str, selected: Sequence[str] = ()
) -> RunRecord:
    """Adds a run."""
    run = RunRecord(
        id=RunId(fresh_id(tx, "run", RUN_PREFIX)),
        name=name,
        feature=feature,
        asked=asked,
        asked_file=asked_file,
        tasks=tuple(selected),
        created_at=tx.now,
    )
    for before in RUNS.select(tx, "where name = ?", name):
        attention.close_ended(tx, before.id)
    RUNS.insert(tx, [RUNS.row(run)])
    tx.record("run", run.id, "started", {"name": name})
    return run


def get(tx: Reader, run_id: str) -> RunRecord:
    """The run with this id."""
    found = RUNS.first(tx, "where id = ?", run_id)
    if found is None:
        raise NotFound(f"no run {run_id[:60]!r}", hint="it may belong to another project")
    return found


def find(tx: Reader, text: str) -> RunRecord:
    """The run with this id, the newest with this name, or the one that drives this session."""
    found = RUNS.first(tx, "where id = ? or name = ? order by number desc", text, text)
    if found is None:
        found = RUNS.first(tx, "where id = (select run from session where id = ?)", text)
    if found is None:
        raise NotFound(f"no run {text[:60]!r}", hint="it may belong to another project, or be older than this store")
    return found


def find_ends(tx: Reader, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The names of runs and why they ended, by id."""
    rows = tx.rows(f"select id, name, why from run where id in {placeholders(ids)}", *ids) if ids else ()
    return {row[0]: (row[1], row[2]) for row in rows}


def find_newest(tx: Reader, name: str) -> RunRecord | None:
    """The newest run of a name, ended or not."""
    return RUNS.first(tx, "where name = ? order by number desc", name)


def find_newest_asked(tx: Reader) -> RunRecord | None:
    """The newest run with a specification."""
    return RUNS.first(tx, "where asked <> '' order by number desc")


def list_runs(tx: Reader, *, limit: int = 50) -> list[RunRecord]:
    """The newest runs, newest first."""
    return RUNS.select(tx, "order by number desc limit ?", limit)


def list_sessions(tx: Reader, run_id: str) -> list[SessionRecord]:
    """The sessions of a run's workers, on all machines."""
    return SESSIONS.select(tx, "where run = ? order by number", run_id)


def list_selected(tx: Reader, run_id: str) -> tuple[str, ...]:
    """The tasks that a run is about, if it is about a selection."""
    row = tx.row("select tasks from run where id = ?", run_id)
    return tuple(msgspec.json.decode(row[0], type=list[str])) if row is not None else ()


def select_more(tx: Writer, run_id: str, ids: Sequence[str]) -> None:
    """Adds tasks to those that a run is about, if it is about a selection."""
    if selected := list_selected(tx, run_id):
        update(tx, run_id, tasks=tuple(dict.fromkeys((*selected, *ids))))


def update(tx: Writer, run_id: str, **columns: object) -> RunRecord:
    """Changes columns of a run."""
    RUNS.update(tx, columns, "id = ?", run_id)
    return get(tx, run_id)


SILENT_ENDS = ("complete", "interrupted")
"""Ends that need nobody: the work is done, or a person stopped it."""


def end(tx: Writer, run_id: str, *, why: str, said: str, seconds: float, session: str | None = None) -> RunRecord:
    """Notes that a run has ended on this machine, why, and how long it took this time.

    Any other end than `SILENT_ENDS` waits for a person, but what nothing in the project can prove does not. `session`
    is one of this machine's.
    """
    add_seconds(tx, run_id, seconds)
    run = update(tx, run_id, status="ended", why=why, said=said, ended_at=tx.now)
    tx.record("run", run.id, "ended", {"why": why, "said": said[:200]})
    if why not in SILENT_ENDS and (why != "unproven" or has_checks(tx)):
        how = "not all of it is proven" if why == "unproven" else why.replace("_", " ")
        attention.open_entry(tx, "ended", f"the run {run.name} ended: {how}", body=said, run=run.id, session=session)
    return run


def add_seconds(tx: Writer, run_id: str, seconds: float) -> None:
    """Adds time that a run was driven on this machine."""
    tx.run("update run set seconds = seconds + ? where id = ?", round(seconds, 3), run_id)


def reopen(tx: Writer, run_id: str) -> RunRecord:
    """Notes that a run goes on."""
    attention.close_ended(tx, run_id)
    if get(tx, run_id).status == "active":
        return get(tx, run_id)
    run = update(tx, run_id, status="active", why="", said="", is_paused=False, ended_at=None)
    tx.record("run", run.id, "reopened", {})
    return run


def set_paused(tx: Writer, run_id: str, *, is_paused: bool) -> bool:
    """Pauses a run or lets it go on, wherever it is driven. Returns whether this changed anything."""
    if get(tx, run_id).is_paused == is_paused:
        return False
    RUNS.update(tx, {"is_paused": is_paused}, "id = ?", run_id)
    tx.record("run", run_id, "paused" if is_paused else "resumed", {})
    return True


def find_last_steerer(tx: Reader, run_id: str) -> str:
    """Who paused or resumed a run last."""
    row = tx.row(
        "select actor from event where entity = 'run' and entity_id = ? and action in ('paused', 'resumed') "
        "order by seq desc limit 1",
        run_id,
    )
    return row[0] if row else ""
