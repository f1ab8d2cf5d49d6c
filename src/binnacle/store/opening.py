"""Opens a store by URL or path and brings it up to date."""

from datetime import timedelta
from typing import TYPE_CHECKING

from binnacle.errors import ConfigError
from binnacle.store.connection import Connection
from binnacle.store.schema import migrate
from binnacle.store.store import DEFAULT_LEASE, IsGone, Store, never_gone

if TYPE_CHECKING:
    from binnacle.store.tenancy import Tenant


def open_sqlite(
    path: str,
    *,
    timeout: float = 10.0,
    lease: timedelta = DEFAULT_LEASE,
    is_gone: IsGone = never_gone,
    create: bool = True,
) -> Store:
    """The store in the file at `path`; without `create`, a missing one reads as empty and is not made."""
    from binnacle.store.sqlite import SqliteConnection

    return _opened(SqliteConnection(path, timeout=timeout, create=create), lease, is_gone)


def open_postgres(
    url: str,
    *,
    schema: "str | Tenant" = "binnacle",
    timeout: float = 10.0,
    lease: timedelta = DEFAULT_LEASE,
    is_gone: IsGone = never_gone,
) -> Store:
    """The store in one schema of the database at `url`: the one given, or the one of a project."""
    if not url.startswith(("postgres://", "postgresql://")):
        raise ConfigError(
            f"store.url is not a PostgreSQL URL: {url.rsplit('@', maxsplit=1)[-1]!r}",
            hint="postgresql://user:password@host/database; leave it empty for SQLite",
        )
    from binnacle.store.postgres import PostgresConnection

    return _opened(PostgresConnection(url, schema=schema, timeout=timeout), lease, is_gone)


def _opened(connection: Connection, lease: timedelta, is_gone: IsGone) -> Store:
    try:
        if connection.schema_version() == 0:
            connection.prepare()
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return Store(connection, lease=lease, is_gone=is_gone)
