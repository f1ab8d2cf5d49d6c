"""Stores that are there already, for tests that are not about making one.

Bringing a new PostgreSQL schema up to date takes a third of a second, dropping it another tenth. So each test process
has one database with one schema in it, which is emptied after every test that used it. A SQLite file is copied from one
that was made once.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Self
from urllib.parse import urlsplit

import psycopg

from binnacle.store.maintenance.export_format import TABLES
from binnacle.store.opening import open_postgres, open_sqlite

SCHEMA = "prepared"

MAX_DELETED_EVENTS = 500
"""Beyond this, emptying the tables by `truncate` is quicker, and leaves no dead rows for the next test to read past."""


class PreparedDatabase:
    """A database of this test process alone, in which a schema is kept ready. Leaving it removes the database."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._name = f"prepared_{os.getpid()}"
        self.url = urlsplit(server)._replace(path=f"/{self._name}").geturl()

    def __enter__(self) -> Self:
        with psycopg.connect(self._server, autocommit=True) as db:
            db.execute(f"create database {self._name}")
        open_postgres(self.url, schema=SCHEMA).close()
        return self

    def __exit__(self, *_: object) -> None:
        with psycopg.connect(self._server, autocommit=True) as db:
            db.execute(f"drop database {self._name} with (force)")

    @contextlib.contextmanager
    def lend(self) -> Iterator[None]:
        """The schema is for one test. Leaving it cuts every connection to it and empties it."""
        try:
            yield
        finally:
            with psycopg.connect(self.url, autocommit=True) as db:
                _empty(db)


def _empty(db: psycopg.Connection) -> None:
    """Leaves the schema as new: no rows, and numbers that start at 1."""
    db.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and pid <> pg_backend_pid()"
    )
    db.execute(f"set search_path to {SCHEMA}; set client_min_messages to warning")
    tables = [*reversed(TABLES), "search", "undo"]
    if db.execute("select count(*) from event").fetchone()[0] > MAX_DELETED_EVENTS:
        db.execute(f"truncate {', '.join(tables)} restart identity")
        return
    db.execute("; ".join(f"delete from {table}" for table in tables))
    db.execute(
        "select setval(pg_get_serial_sequence(format('%I.%I', nspname, relname), attname), 1, false) "
        "from pg_attribute join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace "
        f"where nspname = '{SCHEMA}' and attidentity <> ''"
    )


def make_sqlite_file(path: str) -> None:
    """A store in a file, which `copy_sqlite_file` copies."""
    open_sqlite(path).close()


def copy_sqlite_file(source: str, path: str) -> None:
    """The same, ready to be opened at `path`, for its user alone."""
    os.makedirs(os.path.dirname(path), mode=0o700)
    shutil.copyfile(source, path)
    os.chmod(path, 0o600)
