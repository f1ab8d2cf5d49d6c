"""A store in one SQLite file."""

import contextlib
import errno
import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Any

from binnacle.config.private_files import make_private_file, make_private_folder
from binnacle.errors import (
    ConfigError,
    Refused,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from binnacle.store.engines.connection import Row, SqlDialect, TransactionMode
from binnacle.work import steps

SQLITE = SqlDialect(
    name="sqlite",
    identity="integer primary key autoincrement",
    text="text",
    skip_locked="",
)

OLDEST_SQLITE_VERSION = (3, 35, 0)
"""The first SQLite with `returning`."""

APPLICATION_ID = 0x626E6163
"""Marks the file as ours ("bnac"), so that another program's database is never used as a store."""

SHARED_FILE_BYTES = 64 << 10
"""Twice what SQLite needs for the index of its log."""

NO_SPACE_ERRORS = (errno.ENOSPC, errno.EDQUOT)

CLOSED_FILE = (-1, -1)
"""Stands for device and inode of a closed file: different from any real file's."""

CHANGE_CHECK_SECONDS = 0.05
"""Seconds between reads of SQLite's change counter, one integer in shared memory."""


class SqliteConnection:
    """A connection to a store file, or to an empty store in memory if there is no file to read."""

    dialect = SQLITE

    def __init__(self, path: str, *, timeout: float, create: bool = True) -> None:
        """Opens the store at `path`. Without `create`, a missing file reads as an empty store and stays missing."""
        self.location = path
        self._timeout = timeout
        if not create and not os.path.exists(path):
            path = ":memory:"
        self._path = path
        self._db = self._open()
        self._identity = _identify(path)
        self._seen_version: int | None = None

    def _open(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < OLDEST_SQLITE_VERSION:
            oldest = ".".join(map(str, OLDEST_SQLITE_VERSION))
            raise ConfigError(
                f"SQLite {oldest} or newer is needed; this Python has {sqlite3.sqlite_version}",
                hint=steps.ask_person("use a newer Python, or PostgreSQL by store.url"),
            )
        if self._path == ":memory:":
            return self._connect(self._path)
        try:
            self._make_private()
            db = self._connect(self._path)
        except OSError as error:
            if error.errno in NO_SPACE_ERRORS:
                raise self._full() from error
            raise StoreReadOnly(
                f"cannot create {os.path.dirname(self._path)}: {error.strerror}",
                hint=steps.ask_person("set BN_DATA_DIR to a directory that can be written"),
            ) from error
        except sqlite3.Error as error:
            raise self._translate(error) from error
        try:
            self._prepare(db)
        except (sqlite3.Error, StoreError) as error:
            db.close()
            if isinstance(error, StoreError):
                raise
            if ("readonly" in str(error) or "unable to open" in str(error)) and not self._is_disk_full():
                return self._open_read_only(error)
            raise self._translate(error) from error
        return db

    def _make_private(self) -> None:
        """Creates the file before SQLite does, which would make it readable for all. SQLite's other files follow it."""
        make_private_folder(os.path.dirname(self._path))
        with contextlib.suppress(OSError):  # read-only, or not a file: reported when it is opened
            make_private_file(self._path)

    def _connect(self, name: str, *, uri: bool = False) -> sqlite3.Connection:
        # no implicit transactions: they are begun and ended here, never by the driver
        db = sqlite3.connect(name, timeout=self._timeout, isolation_level=None, uri=uri, check_same_thread=False)
        db.execute("pragma foreign_keys = on")
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Checks that the file is a store before changing it, then sets it up for many readers."""
        if db.execute("pragma application_id").fetchone()[0] != APPLICATION_ID:
            tables = db.execute("select count(*) from sqlite_master").fetchone()[0]
            # Checked again: another process may have created the store meanwhile, and marks it before its first table.
            if tables and db.execute("pragma application_id").fetchone()[0] != APPLICATION_ID:
                raise StoreCorrupt(
                    f"{self._path} is not a Binnacle store", hint=steps.ask_person("move it away, or set BN_DATA_DIR")
                )
            self._wait_for(db, "pragma journal_mode = wal")
            self._wait_for(db, f"pragma application_id = {APPLICATION_ID}")
        # In WAL mode commits survive the death of the process at any moment. Only a power
        # failure may lose the last commits, but never the file's consistency.
        db.execute("pragma synchronous = normal")
        db.execute("pragma temp_store = memory")  # for the undo data of a group's savepoints

    def _wait_for(self, db: sqlite3.Connection, pragma: str) -> None:
        """Runs a pragma, and repeats it while the file is locked, for which SQLite does not wait here."""
        end = time.monotonic() + self._timeout
        while True:
            try:
                db.execute(pragma)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return

    def _open_read_only(self, cause: sqlite3.Error) -> sqlite3.Connection:
        """Opens a store in a directory that cannot be written.

        SQLite's own read-only mode still creates a file next to it, so the store is
        opened as immutable, unless its log shows that it is incomplete.
        """
        log = f"{self._path}-wal"
        if not os.path.exists(self._path) or (os.path.exists(log) and os.path.getsize(log)):
            raise StoreReadOnly(
                f"cannot open {self._path}: {cause}", hint=steps.ask_person("make it writable, or set BN_DATA_DIR")
            ) from cause
        name = self._path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        try:
            db = self._connect(f"file:{name}?immutable=1", uri=True)
            db.execute("select count(*) from sqlite_master")
        except sqlite3.Error as error:
            raise StoreReadOnly(
                f"cannot read {self._path}: {error}", hint=steps.ask_person("check its permissions")
            ) from error
        return db

    def is_lost(self) -> bool:
        # A file that was moved or removed can still be written, but no one would read it.
        return self._path != ":memory:" and _identify(self._path) != self._identity

    def begin(self, mode: TransactionMode, *, holder: str = "") -> None:  # noqa: ARG002 - all writers wait for each other anyway
        self._run("begin" if mode == "read" else "begin immediate")

    def commit(self, *, announce: bool) -> None:  # noqa: ARG002 - the change counter announces by itself
        self._run("commit")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._run("rollback")

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Sequence[Row]:
        try:
            return self._db.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._translate(error) from error

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        return self._run(sql, parameters).rowcount

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        try:
            self._db.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._translate(error) from error

    def run_script(self, script: str) -> None:
        # executescript() would commit first; single statements stay in the transaction
        statement = ""
        for line in script.splitlines():
            statement += f"{line}\n"
            if line.rstrip().endswith(";") and sqlite3.complete_statement(statement):
                self._run(statement)
                statement = ""

    def schema_version(self) -> int:
        return int(self.query("pragma user_version")[0][0])

    def set_schema_version(self, version: int) -> None:
        self._run(f"pragma user_version = {version:d}")

    def prepare(self) -> None:
        """Does nothing: opening the file creates it."""

    def hold_event_order(self) -> None:
        """Does nothing: with one writer at a time, events are in order already."""

    def wait_change(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while True:
            version = int(self.query("pragma data_version")[0][0])
            if self._seen_version is not None and version != self._seen_version:
                self._seen_version = version
                return True
            self._seen_version = version
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(CHANGE_CHECK_SECONDS, left))

    def close(self) -> None:
        self._identity = CLOSED_FILE
        self._db.close()

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(sql, parameters)
        except sqlite3.Error as error:
            raise self._translate(error) from error

    def _translate(self, error: sqlite3.Error) -> Refused | StoreError:
        """Our error for an error of SQLite. Only this method reads SQLite's messages."""
        text = str(error)
        if isinstance(error, sqlite3.IntegrityError):
            return Refused(f"the store refused the change: {text}", hint=steps.CHECK_STORE)
        if "locked" in text or "busy" in text:
            return StoreBusy(
                f"{self._path} was locked for {self._timeout:g} s",
                hint=steps.WAIT_FOR_WRITER,
            )
        if "full" in text or (("disk I/O" in text or "unable to open" in text) and self._is_disk_full()):
            return self._full()
        if "readonly" in text or "unable to open" in text:
            return StoreReadOnly(
                f"cannot write {self._path}: {text}", hint=steps.ask_person("make it writable, or set BN_DATA_DIR")
            )
        if "malformed" in text or "not a database" in text or "corrupt" in text:
            return StoreCorrupt(
                f"{self._path} is damaged: {text}",
                hint=steps.REPAIR_STORE,
            )
        return StoreError(f"{self._path}: {text}", hint=steps.CHECK_STORE)

    def _full(self) -> StoreFull:
        return StoreFull(
            f"no space left for {self._path}", hint=(steps.ask_person("free some space"), "nothing was changed")
        )

    def _is_disk_full(self) -> bool:
        """Whether there is no space for the file that readers share, which SQLite reports as a disk error."""
        import tempfile

        try:
            with tempfile.TemporaryFile(dir=os.path.dirname(self._path), buffering=0) as file:
                return file.write(bytes(SHARED_FILE_BYTES)) < SHARED_FILE_BYTES
        except OSError as error:
            return error.errno in NO_SPACE_ERRORS


def _identify(path: str) -> tuple[int, int]:
    """Device and inode of a file, which distinguish it from another one at the same path."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
