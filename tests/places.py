"""Where tests keep their stores."""

from datetime import UTC, datetime
from typing import Any

from binnacle.store.opening import open_postgres, open_sqlite
from binnacle.store.store import Store
from binnacle.tools.work.access import StoreAccess

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""The moment tests happen at, where time matters."""


class Place:
    """Where one test keeps its store: a file, or a schema of its own. Leaving it closes every store opened there."""

    def __init__(self, engine: str, where: str, schema: str = "") -> None:
        self.engine = engine
        self.where = where
        """Path of the file, or URL of the server."""

        self.schema = schema
        self._opened: list[Store] = []

    def open(self, **options: Any) -> Store:
        """A connection of its own to the same store."""
        if self.engine == "sqlite":
            store = open_sqlite(self.where, **options)
        else:
            store = open_postgres(self.where, schema=self.schema, **options)
        self._opened.append(store)
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()

    @property
    def arguments(self) -> list[str]:
        """How a child process is told to open the same store."""
        return [self.engine, self.where, self.schema]


def access_to(place: Place, **options: Any) -> StoreAccess:
    """The tools' access to the store of a place."""
    is_shared = place.engine == "postgres"

    def open_store(timeout: float, outage: float) -> Store:
        return place.open(timeout=timeout, **({"outage": outage} if is_shared else {}), **options)

    return StoreAccess(open_store, patience=10, is_shared=is_shared)
