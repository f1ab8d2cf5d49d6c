"""Brings the schema of a store up to date: numbered migrations, each in its own transaction."""

import os

from binnacle.errors import StoreNewer, StoreReadOnly
from binnacle.store.engines.connection import StoreConnection
from binnacle.work import steps
from binnacle.work.titles import sketch_title

MIGRATIONS_FOLDER = os.path.join(os.path.dirname(__file__), "migrations")

LATEST_SCHEMA = 11
"""Number of the newest migration. A constant, so that opening a store lists no directory."""

TITLE_SKETCH_SCHEMA = 6
"""The migration that added the sketches of titles."""


def migrate(connection: StoreConnection, *, to: int = LATEST_SCHEMA) -> int:
    """Applies the missing migrations and returns the version before.

    A store of a newer program is refused before anything in it changes.
    """
    found = connection.schema_version()
    if found > LATEST_SCHEMA:
        raise StoreNewer(
            f"{connection.location} was written by a newer Binnacle (schema {found}, this one knows {LATEST_SCHEMA})",
            hint=(steps.ask_person("upgrade Binnacle"), "nothing was changed"),
        )
    for version in range(found + 1, to + 1):
        _apply(connection, version)
    return found


def _apply(connection: StoreConnection, version: int) -> None:
    try:
        connection.begin("write")
    except StoreReadOnly as error:
        raise StoreReadOnly(
            f"{connection.location} needs an upgrade to schema {version} and cannot be written",
            hint=steps.ask_person("make it writable once"),
        ) from error
    try:
        # Another process may have applied it while this one waited for the lock.
        if connection.schema_version() < version:
            connection.run_script(
                load_migration(version, connection.dialect.name).format_map(connection.dialect._asdict())
            )
            if version == TITLE_SKETCH_SCHEMA:
                _sketch_titles(connection)
            connection.set_schema_version(version)
        connection.commit(announce=False)
    except BaseException:
        connection.rollback()
        raise


def _sketch_titles(connection: StoreConnection) -> None:
    """Fills the sketches of the titles that a store has."""
    rows = connection.query("select title, number from task", ())
    sketches = [(sketch_title(title), number) for title, number in rows]
    connection.execute_many("update task set title_sketch = ? where number = ?", sketches)


def load_migration(version: int, dialect: str) -> str:
    """The text of one migration: one for both engines, or one for each."""
    for name in sorted(os.listdir(MIGRATIONS_FOLDER)):
        stem = name.removesuffix(".sql")
        if stem.startswith(f"{version:04d}_") and stem.rpartition(".")[2] in (stem, dialect):
            with open(os.path.join(MIGRATIONS_FOLDER, name), encoding="utf-8") as file:
                return file.read()
    raise AssertionError(f"migration {version} is missing")
