"""The seam between the two engines and everything above them: a connection that runs SQL.

SQL is written once, in the subset both engines share, with `?` for values. What
differs is a value of `SqlDialect`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

Row = Sequence[Any]

TransactionMode = Literal["read", "write", "claim"]
"""How a transaction begins.

`read` sees one moment of the store and cannot change it. `write` keeps every other
writer out from its beginning, so that a rule checked in it still holds when it commits.
`claim` takes rows one by one and lets other claims pass on an engine that can.
"""


class SqlDialect(NamedTuple):
    """What the engines spell differently."""

    name: Literal["sqlite", "postgres"]
    identity: str
    """Column type of a number that counts up by itself and is never reused."""

    text: str
    """Column type of text that sorts by code point."""

    skip_locked: str
    """Ends a subselect that is to pass over rows another claim has in hand."""


class StoreConnection(Protocol):
    """One connection to one store. Not for use by several threads at once."""

    dialect: SqlDialect
    location: str
    """Where the store is, for people; without passwords."""

    def is_lost(self) -> bool:
        """Whether nothing can be done with it any more: it was cut or closed, or its file was moved or removed."""

    def begin(self, mode: TransactionMode, *, holder: str = "") -> None:
        """Begins a transaction. Claims of one `holder` wait for each other: it may hold only one task."""

    def commit(self, *, announce: bool) -> None:
        """Makes the transaction last; `announce` wakes those who follow the event log.

        Raises:
            StoreLost: it may have become lasting or not.
        """

    def rollback(self) -> None: ...
    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Sequence[Row]: ...
    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Runs a statement and returns how many rows it touched."""

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None: ...
    def run_script(self, script: str) -> None:
        """Runs several statements within the transaction under way."""

    def schema_version(self) -> int:
        """Number of the newest migration applied; 0 for an empty store."""

    def set_schema_version(self, version: int) -> None: ...
    def prepare(self) -> None:
        """Makes room for a new store. Several processes may do this at once."""

    def hold_event_order(self) -> None:
        """Makes this transaction's events follow every committed one's, until it ends."""

    def wait_change(self, timeout: float) -> bool:
        """Waits until another connection committed something, at most `timeout` seconds."""

    def close(self) -> None: ...
