"""Opens a store by URL or path and brings it up to date."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from binnacle.errors import ConfigError
from binnacle.store.engines.connection import StoreConnection
from binnacle.store.engines.reconnection import ReconnectingConnection, retry_until
from binnacle.store.schema_migration import migrate
from binnacle.store.store import DEFAULT_LEASE, Store
from binnacle.store.transaction import NO_OUTLOOK, StoreOutlook

if TYPE_CHECKING:
    from binnacle.store.engines.project_schema import SchemaTenant


def open_sqlite(
    path: str,
    *,
    timeout: float = 10.0,
    lease: timedelta = DEFAULT_LEASE,
    outlook: StoreOutlook = NO_OUTLOOK,
    create: bool = True,
) -> Store:
    """The store in the file at `path`; without `create`, a missing file reads as empty and is not created."""
    from binnacle.store.engines.sqlite import SqliteConnection

    return _open(lambda: SqliteConnection(path, timeout=timeout, create=create), lease=lease, outlook=outlook)


def open_postgres(
    url: str,
    *,
    schema: "str | SchemaTenant" = "binnacle",
    timeout: float = 10.0,
    lease: timedelta = DEFAULT_LEASE,
    outlook: StoreOutlook = NO_OUTLOOK,
    outage: float = 0.0,
) -> Store:
    """The store in one schema of the database at `url`: the given schema, or the one of a project.

    It waits up to `outage` seconds for a database that cannot be reached, and later up to
    `timeout` seconds, if that is longer.
    """
    if not url.startswith(("postgres://", "postgresql://")):
        raise ConfigError(
            f"store.url is not a PostgreSQL URL: {url.rsplit('@', maxsplit=1)[-1]!r}",
            hint="postgresql://user:password@host/database; leave it empty for SQLite",
        )
    from binnacle.store.engines.postgres import PostgresConnection

    return _open(
        lambda: PostgresConnection(url, schema=schema, timeout=timeout),
        lease=lease,
        outlook=outlook,
        timeout=timeout,
        outage=outage,
    )


def _open(
    connect: Callable[[], StoreConnection],
    *,
    lease: timedelta,
    outlook: StoreOutlook,
    timeout: float = 0.0,
    outage: float = 0.0,
) -> Store:
    def reopen() -> StoreConnection:
        return _prepare(connect())

    connection = retry_until(time.monotonic() + outage, reopen)
    line = ReconnectingConnection(connection, reopen, patience=max(timeout, outage))
    return Store(line, lease=lease, outlook=outlook)


def _prepare(connection: StoreConnection) -> StoreConnection:
    try:
        if connection.schema_version() == 0:
            connection.prepare()
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection
