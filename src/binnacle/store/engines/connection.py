"""The interface between the two engines and everything above them: a connection that runs SQL.

SQL is written once, in the subset that both engines share, with `?` for values. `SqlDialect`
holds what differs.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

Row = Sequence[Any]

TransactionMode = Literal["read", "write", "claim"]
"""How a transaction begins.

`read` sees a snapshot of the store and cannot change it. `write` excludes every other
writer from its beginning, so that a rule checked in it still holds when it commits.
`claim` locks single rows and lets other claims run at the same time, if the engine can.
"""


class SqlDialect(NamedTuple):
    """SQL that differs between the engines."""

    name: Literal["sqlite", "postgres"]
    identity: str
    """Column type of an automatically increasing number that is never reused."""

    text: str
    """Column type of text that sorts by code point."""

    skip_locked: str
    """Suffix of a subselect that skips rows which another claim has locked."""


class StoreConnection(Protocol):
    """One connection to one store. Not for use by several threads at once."""

    dialect: SqlDialect
    location: str
    """Where the store is, for people; without passwords."""

    def is_lost(self) -> bool:
        """Whether it can no longer be used: it was closed, or its file was moved or removed."""

    def begin(self, mode: TransactionMode, *, holder: str = "") -> None:
        """Begins a transaction. Claims of one `holder` wait for each other: it may hold only one task."""

    def commit(self, *, announce: bool) -> None:
        """Commits the transaction; `announce` wakes those who follow the event log.

        Raises:
            StoreLost: it may or may not have been committed.
        """

    def rollback(self) -> None: ...
    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Sequence[Row]: ...
    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Runs a statement and returns the number of affected rows."""

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None: ...
    def run_script(self, script: str) -> None:
        """Runs several statements in the current transaction."""

    def schema_version(self) -> int:
        """Number of the newest migration applied; 0 for an empty store."""

    def set_schema_version(self, version: int) -> None: ...
    def prepare(self) -> None:
        """Creates the place for a new store. Several processes may do this at once."""

    def hold_event_order(self) -> None:
        """Makes the events of this transaction come after all committed ones, until it ends."""

    def wait_change(self, timeout: float) -> bool:
        """Waits at most `timeout` seconds for a commit of another connection. Returns whether there was one."""

    def close(self) -> None: ...
