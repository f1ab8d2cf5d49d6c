"""Transactions, which all functions of this package take: a `Reader` sees one moment, a `Writer` changes the store."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import msgspec

from binnacle.store.engines.connection import Row, StoreConnection
from binnacle.work.actor import Actor
from binnacle.work.session import Agent

IsGone = Callable[[Agent], bool]
"""Whether an agent's process is known to be gone. A store cannot see processes, so it is told how to ask."""


def never_gone(agent: Agent) -> bool:  # noqa: ARG001
    """Nobody can see the agents' processes; their claims run out after their time."""
    return False


_JSON = msgspec.json.Encoder()

Cells = dict[str, Any]
"""A row as the engine keeps it, by column."""

MAX_REMEMBERED_ROWS = 1000
"""A change of more rows than this cannot be undone."""


class RememberedTable(Protocol):
    """A table whose rows are remembered before a change touches them."""

    @property
    def name(self) -> str: ...
    def find(self, tx: "Reader", key: Sequence[str]) -> Cells | None:
        """The row with this key as it is kept, if it is there."""


class RecordedEvent(NamedTuple):
    """An event that a transaction will leave in the log, in the order of its columns."""

    at: str
    actor: str
    entity: str
    entity_id: str
    session: str | None
    action: str
    changes: str


@lru_cache(maxsize=64)  # a transaction has one `now`, which it writes into several columns
def stamp(moment: datetime) -> str:
    """A time as it is kept: text of fixed width, so that it sorts and compares as text."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{utc.isoformat(timespec='milliseconds')[:23]}Z"


class Reader:
    """A transaction that sees one moment of the store."""

    def __init__(self, connection: StoreConnection, *, now: datetime, is_gone: IsGone = never_gone) -> None:
        self._connection = connection
        self.is_gone = is_gone
        self.dialect = connection.dialect
        self.now = now
        """The moment the transaction began; every rule in it uses this one."""

    def rows(self, sql: str, *parameters: Any) -> Sequence[Row]:
        return self._connection.query(sql, parameters)

    def row(self, sql: str, *parameters: Any) -> Row | None:
        rows = self._connection.query(sql, parameters)
        return rows[0] if rows else None

    def count(self, sql: str, *parameters: Any) -> int:
        """The single number a query gives."""
        return int(self._connection.query(sql, parameters)[0][0])


class Writer(Reader):
    """A transaction that changes the store in someone's name."""

    def __init__(
        self,
        connection: StoreConnection,
        *,
        now: datetime,
        by: Actor,
        session: str | None,
        lease: timedelta,
        is_gone: IsGone = never_gone,
    ) -> None:
        super().__init__(connection, now=now, is_gone=is_gone)
        self.by = by
        self.session = session
        self.lease = lease
        """How long a claim taken or renewed in this transaction lasts."""

        self._events: list[RecordedEvent] = []
        self.remembered: dict[tuple[RememberedTable, tuple[str, ...]], Cells | None] = {}
        """The rows that a person's change touches, by table and key, as they were before; `None` if there was none."""

        self.has_forgotten = False
        """Whether it touches more rows than are remembered."""

        self.number = 0
        """Number of the last event of a person's change, once it is written: what the change is known by."""

        self.undoes: tuple[int, ...] = ()
        """The changes that this one undoes, by the numbers of their last events."""

    @contextmanager
    def acting_as(self, by: Actor, *, session: str | None) -> Generator[None]:
        """Makes a part of the change in someone else's name."""
        mine = self.by, self.session
        self.by, self.session = by, session
        try:
            yield
        finally:
            self.by, self.session = mine

    @property
    def is_remembering(self) -> bool:
        """Whether rows are to be remembered before they are touched. Only what people do is undone."""
        return self.by.kind == "human" and not self.has_forgotten

    def remember(self, table: RememberedTable, key: tuple[str, ...], before: Cells | None) -> None:
        """Remembers what a row was like before this change touched it for the first time."""
        self.remembered.setdefault((table, key), before)
        self.has_forgotten = len(self.remembered) > MAX_REMEMBERED_ROWS

    def run(self, sql: str, *parameters: Any) -> int:
        """Runs a statement and returns how many rows it touched."""
        return self._connection.execute(sql, parameters)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.execute_many(sql, rows)

    def record(self, entity: str, entity_id: str, action: str, changes: Mapping[str, Any]) -> None:
        """Appends an event to what this transaction will leave in the log."""
        body = _JSON.encode(changes).decode()
        event = RecordedEvent(stamp(self.now), self.by.name, entity, entity_id, self.session, action, body)
        self._events.append(event)

    def renew_claims(self) -> None:
        """Makes the claims of the actor last a lease longer: every change an agent makes is a sign of life."""
        self.run(
            "update task set claim_expires_at = ? where claimed_by = ? and claim_expires_at is not null",
            stamp(self.now + self.lease),
            self.by.name,
        )

    def write_events(self) -> Sequence[RecordedEvent]:
        """Writes the events and returns them; the last thing before the commit, but for what `undo` needs."""
        if not self._events:
            return ()
        if self.by.kind == "agent":
            self.renew_claims()
        self._connection.hold_event_order()
        self._connection.execute_many(
            "insert into event (at, actor, entity, entity_id, session, action, changes) values (?, ?, ?, ?, ?, ?, ?)",
            self._events,
        )
        return self._events

    def is_in_log(self, connection: StoreConnection) -> bool:
        """Whether the last event of this transaction is in the log, asked on a later connection.

        It has the time, the actor and, for everything new, a random id in it: no other transaction has the same.
        """
        columns = ("at", "actor", "entity", "entity_id", "action", "changes")
        where = " and ".join(f"{column} = ?" for column in columns)
        values = [getattr(self._events[-1], column) for column in columns]
        return bool(connection.query(f"select seq from event where {where} limit 1", values))
