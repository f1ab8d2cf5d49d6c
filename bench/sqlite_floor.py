"""The floor that `task_add` stands on: the same statements, run by the bare `sqlite3` module on a copy of the store.

The statements are recorded from the tool's own function in a group of as many changes as there are calls at once, which
is how the server makes them. They are then run with the same values, without anything else, and timed.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from binnacle.store import agents
from binnacle.store.opening import open_sqlite
from binnacle.store.store import Store
from binnacle.tools.work.task_text import TaskInput
from binnacle.tools.work.tasks import task_add
from binnacle.work.actor import Actor

CALLER = Actor("bna-0001", "agent")


class Statement(NamedTuple):
    """One call of the driver."""

    sql: str
    parameters: Sequence[Any]
    is_many: bool


class _Recorder:
    """A driver's connection that writes down what it is asked to run."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.statements: list[Statement] = []

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        self.statements.append(Statement(sql, parameters, is_many=False))
        return self._db.execute(sql, parameters)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> sqlite3.Cursor:
        several = list(rows)
        self.statements.append(Statement(sql, several, is_many=True))
        return self._db.executemany(sql, several)

    def close(self) -> None:
        self._db.close()


def measure_floor(store_path: str, folder: str, *, calls: int, at_once: int) -> tuple[float, float]:
    """Milliseconds that one `task_add` takes at least, and those of the processor, on a copy of the store."""
    recorded, replayed = (os.path.join(folder, f"floor-{name}", "store.db") for name in ("recorded", "replayed"))
    for path in (recorded, replayed):
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        os.makedirs(os.path.dirname(path))
        with sqlite3.connect(store_path) as source, sqlite3.connect(path) as copy:
            source.backup(copy)
    statements = record(recorded, calls=calls, at_once=at_once)
    taken, used = _replay(replayed, statements)
    return taken * 1000 / calls, used * 1000 / calls


def record(path: str, *, calls: int, at_once: int) -> list[Statement]:
    """What the server would have SQLite do for so many calls of `task_add`."""
    with open_sqlite(path) as store:
        connection: Any = store._line.connection
        recorder = connection._db = _Recorder(connection._db)
        for first in range(0, calls, at_once):
            _add_group(store, range(first, min(first + at_once, calls)))
        return recorder.statements


def _add_group(store: Store, numbers: Iterable[int]) -> None:
    store.begin_group()
    for number in numbers:
        with store.write(by=CALLER, session="mcp-0001") as tx:
            agents.confirm(tx)
            task_add(tx, tasks=(TaskInput(title=f"{number} more, for the floor"),))
    store.commit_group()


def _replay(path: str, statements: Sequence[Statement]) -> tuple[float, float]:
    """Seconds that the statements take, and those of the processor."""
    db = sqlite3.connect(path, isolation_level=None)
    for pragma in ("foreign_keys = on", "journal_mode = wal", "synchronous = normal", "temp_store = memory"):
        db.execute(f"pragma {pragma}")
    started, started_cpu = time.perf_counter(), time.process_time()
    for sql, parameters, is_many in statements:
        if is_many:
            db.executemany(sql, parameters)
        else:
            db.execute(sql, parameters).fetchall()
    taken, used = time.perf_counter() - started, time.process_time() - started_cpu
    db.close()
    return taken, used
