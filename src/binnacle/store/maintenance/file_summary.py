"""Summarizes a store file without opening it as a store, so that it is neither upgraded nor written."""

import os
import sqlite3
from datetime import UTC, datetime

from msgspec import Struct

MAX_WAIT_SECONDS = 2.0


class FileSummary(Struct, frozen=True, kw_only=True):
    """A summary of a store file."""

    tasks: int | None
    """The number of its tasks; None if it cannot be read."""

    bytes: int
    changed_at: datetime


def summarise_file(path: str) -> FileSummary:
    """The summary of the store file at `path`."""
    names = [name for name in (path, f"{path}-wal") if os.path.exists(name)]
    facts = [os.stat(name) for name in names]
    return FileSummary(
        tasks=_count_tasks(path),
        bytes=sum(fact.st_size for fact in facts),
        changed_at=datetime.fromtimestamp(max((fact.st_mtime for fact in facts), default=0.0), UTC),
    )


def _count_tasks(path: str) -> int | None:
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # Reading a file that no one has open would create -wal and -shm files, unless it is opened as immutable.
    how = "mode=ro" if os.path.exists(f"{path}-wal") else "mode=ro&immutable=1"
    try:
        db = sqlite3.connect(f"file:{escaped}?{how}", uri=True, timeout=MAX_WAIT_SECONDS)
    except sqlite3.Error:
        return None
    try:
        has_tasks = db.execute("select count(*) from sqlite_master where name = 'task'").fetchone()[0]
        return int(db.execute("select count(*) from task").fetchone()[0]) if has_tasks else 0
    except sqlite3.Error:
        return None
    finally:
        db.close()
