"""Saves what can still be read from a damaged SQLite store into a new one, and keeps the damaged file."""

import os
import sqlite3
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Struct

from binnacle.store.engines.connection import Row
from binnacle.store.maintenance.export_format import TABLES
from binnacle.store.opening import open_sqlite
from binnacle.store.transaction import Writer
from binnacle.work.actor import SYSTEM


class RecoveredStore(Struct, frozen=True, kw_only=True):
    """The result of a recovery."""

    kept: str
    """Where the damaged file is now."""

    rows: dict[str, int]
    """How many rows were saved, by table."""

    lost: dict[str, int | None]
    """How many rows were lost, by table; None if that is unknown."""

    def describe_loss(self) -> str:
        """What is lost, as text; empty if nothing is."""
        if not self.lost:
            return ""
        if not self.rows:
            return "nothing could be read: everything in the file is lost"
        parts = [
            f"an unknown number of {name}s" if count is None else f"{count} of {count + self.rows.get(name, 0)} {name}s"
            for name, count in self.lost.items()
        ]
        return f"not everything could be read, these are lost: {', '.join(parts)}"


class _Found(NamedTuple):
    """The readable rows of a table."""

    columns: list[str]
    rows: list[Row]
    expected: int | None
    """How many rows there should be, if known."""


def recover_file(path: str) -> RecoveredStore:
    """Renames the damaged file and makes a new store from what can be read of it.

    Every table is read in both directions, so that only the rows from the first to the last damaged page are lost.
    """
    kept = f"{path}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    os.replace(path, kept)
    for suffix in ("-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.replace(path + suffix, kept + suffix)
    saved: dict[str, int] = {}
    expected: dict[str, int | None] = {}
    source = sqlite3.connect(kept)
    try:
        with open_sqlite(path) as store, store.write(by=SYSTEM) as tx:
            tx.run("pragma defer_foreign_keys = on")
            for name in TABLES:
                found = _read_table(source, name)
                expected[name] = found.expected
                _insert(tx, name, found.columns, found.rows)
            _drop_orphans(tx)
            saved = {name: tx.count(f"select count(*) from {name}") for name in TABLES}
            tx.record("store", "store", "salvaged", {"from": os.path.basename(kept), "rows": saved})
    finally:
        source.close()
    lost = {name: None if count is None else count - saved[name] for name, count in expected.items()}
    return RecoveredStore(
        kept=kept,
        rows={name: count for name, count in saved.items() if count},
        lost={name: count for name, count in lost.items() if count is None or count > 0},
    )


def _read_table(source: sqlite3.Connection, table: str) -> _Found:
    is_complete = False
    columns: list[str] = []
    found: dict[int, Row] = {}
    for direction in ("asc", "desc"):
        try:
            cursor = source.execute(f"select rowid, * from {table} order by rowid {direction}")
            columns = [column[0] for column in cursor.description][1:]
            for row in cursor:
                if row[0] in found and direction == "desc":
                    break
                found[row[0]] = row[1:]
            is_complete |= direction == "asc"
        except sqlite3.DatabaseError as error:
            is_complete |= "no such table" in str(error)  # of an older Binnacle
    expected = len(found) if is_complete else _count(source, table)
    return _Found(columns, [found[key] for key in sorted(found)], expected)


def _count(source: sqlite3.Connection, table: str) -> int | None:
    """The number of rows of a table. SQLite counts them in an index, which may be readable if the table is not."""
    try:
        return int(source.execute(f"select count(*) from {table}").fetchone()[0])
    except sqlite3.DatabaseError:
        return None


def _insert(tx: Writer, table: str, columns: list[str], rows: list[Row]) -> None:
    """Inserts rows one by one, so that a row that breaks a constraint does not affect the others."""
    if not rows:
        return
    marks = ", ".join("?" * len(columns))
    # Invalid text would make SQLite's own checks fail later; such rows are left out.
    readable = [row for row in rows if all(cell is None or isinstance(cell, (int, str)) for cell in row)]
    tx.run_many(f"insert or ignore into {table} ({', '.join(columns)}) values ({marks})", readable)


def _drop_orphans(tx: Writer) -> None:
    """Removes rows and references whose target could not be read."""
    tx.run("update task set parent = null where parent is not null and parent not in (select id from task)")
    for column in ("feature", "discipline"):
        tx.run(f"update task set {column} = null where {column} not in (select name from {column})")
    tx.run("update learning set feature = null where feature not in (select name from feature)")
    tx.run("update learning set task_id = null where task_id not in (select id from task)")
    for name in ("comment", "report", "question", "review_remark", "review_verdict", "review"):
        tx.run(f"delete from {name} where task_id not in (select id from task)")
    for name in ("review_remark", "review_verdict"):
        tx.run(f"delete from {name} where review not in (select id from review)")
    tx.run(
        "delete from dependency where task_id not in (select id from task) or depends_on not in (select id from task)"
    )
    tx.run("delete from iteration where session not in (select id from session)")
