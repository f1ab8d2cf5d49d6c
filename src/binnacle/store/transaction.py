"""Transactions, which all functions of this package take: a `Reader` sees a snapshot, a `Writer` changes the store."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import msgspec

from binnacle.store.engines.connection import Row, StoreConnection
from binnacle.work.actor import Actor
from binnacle.work.done_gate import TrustedCheck
from binnacle.work.review_policy import NO_REVIEWS, ReviewPolicy
from binnacle.work.session import Agent

IsGone = Callable[[Agent], bool]
"""Whether an agent's process is known to be gone. The store itself cannot see processes."""


def never_gone(agent: Agent) -> bool:  # noqa: ARG001
    """For stores that cannot see the agents' processes: claims then lapse only at the end of their lease."""
    return False


def no_checks() -> Sequence[TrustedCheck]:
    """For stores that are opened without their project: a task that names a check then cannot be closed."""
    return ()


def no_reviews() -> ReviewPolicy:
    """For stores that are opened without their project."""
    return NO_REVIEWS


def no_heads() -> Sequence[str]:
    """For stores that are opened without a working tree."""
    return ()


def no_agent() -> bool:
    """For stores that cannot see processes."""
    return False


class StoreOutlook(NamedTuple):
    """What a store asks about the world around it, which it cannot see itself."""

    is_gone: IsGone = never_gone
    find_checks: Callable[[], Sequence[TrustedCheck]] = no_checks
    """The checks of the project, which tasks may need. Asked only when a task is to be closed: it reads files."""

    find_reviews: Callable[[], ReviewPolicy] = no_reviews
    """Who has to look at changes. Asked together with the checks."""

    find_heads: Callable[[], Sequence[str]] = no_heads
    """The commit of the caller's working tree, and then the tips of the main branches."""

    is_agent_above: Callable[[], bool] = no_agent
    """Whether an agent started this process. One that never registered has a person's name in its shell. Asked only
    where a person may more: it reads what is known of the processes above."""


NO_OUTLOOK = StoreOutlook()
"""For stores that are opened without their project."""


_JSON = msgspec.json.Encoder()

Cells = dict[str, Any]
"""A stored row, by column."""

MAX_REMEMBERED_ROWS = 1000
"""A change of more rows than this cannot be undone."""


class RememberedTable(Protocol):
    """A table whose rows are remembered before a change modifies them."""

    @property
    def name(self) -> str: ...
    def find(self, tx: "Reader", key: Sequence[str]) -> Cells | None:
        """The stored row with this key, or None."""


class RecordedEvent(NamedTuple):
    """An event that a transaction will write to the log, in the order of its columns."""

    at: str
    actor: str
    entity: str
    entity_id: str
    session: str | None
    action: str
    changes: str


@lru_cache(maxsize=64)  # a transaction has one `now`, which it writes into several columns
def stamp(moment: datetime) -> str:
    """A time as stored: text of fixed width, so that it sorts and compares as text."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{utc.isoformat(timespec='milliseconds')[:23]}Z"


class Reader:
    """A transaction that sees a snapshot of the store."""

    def __init__(self, connection: StoreConnection, *, now: datetime, outlook: StoreOutlook) -> None:
        self._connection = connection
        self.outlook = outlook
        self.dialect = connection.dialect
        self.now = now
        """The time when the transaction began; all rules in it use this time."""

    def rows(self, sql: str, *parameters: Any) -> Sequence[Row]:
        return self._connection.query(sql, parameters)

    def row(self, sql: str, *parameters: Any) -> Row | None:
        rows = self._connection.query(sql, parameters)
        return rows[0] if rows else None

    def count(self, sql: str, *parameters: Any) -> int:
        """The single number that a query returns."""
        return int(self._connection.query(sql, parameters)[0][0])


class Writer(Reader):
    """A transaction that changes the store on behalf of an actor."""

    def __init__(
        self,
        connection: StoreConnection,
        *,
        now: datetime,
        by: Actor,
        session: str | None,
        lease: timedelta,
        outlook: StoreOutlook,
    ) -> None:
        super().__init__(connection, now=now, outlook=outlook)
        self.by = by
        self.session = session
        self.lease = lease
        """How long a claim taken or renewed in this transaction lasts."""

        self._events: list[RecordedEvent] = []
        self.remembered: dict[tuple[RememberedTable, tuple[str, ...]], Cells | None] = {}
        """The rows that a person's change modifies, by table and key, as they were before; None if there was none."""

        self.has_forgotten = False
        """Whether it modifies more rows than are remembered."""

        self.number = 0
        """Number of the last event of a person's change, once written. It identifies the change."""

        self.undoes: tuple[int, ...] = ()
        """The changes that this one undoes, by the numbers of their last events."""

    @contextmanager
    def acting_as(self, by: Actor, *, session: str | None) -> Generator[None]:
        """Makes a part of the change on behalf of another actor."""
        mine = self.by, self.session
        self.by, self.session = by, session
        try:
            yield
        finally:
            self.by, self.session = mine

    @property
    def is_by_person(self) -> bool:
        """Whether a person makes the change, and not an agent in whose shell commands have the person's name."""
        return self.by.kind == "human" and not self.outlook.is_agent_above()

    @property
    def is_by_agent(self) -> bool:
        """Whether an agent makes the change, registered or not."""
        return self.by.kind == "agent" or (self.by.kind == "human" and self.outlook.is_agent_above())

    @property
    def is_remembering(self) -> bool:
        """Whether rows are remembered before they are modified. Only changes of people can be undone."""
        return self.by.kind == "human" and not self.has_forgotten

    def remember(self, table: RememberedTable, key: tuple[str, ...], before: Cells | None) -> None:
        """Remembers a row as it was before this change first modified it."""
        self.remembered.setdefault((table, key), before)
        self.has_forgotten = len(self.remembered) > MAX_REMEMBERED_ROWS

    def run(self, sql: str, *parameters: Any) -> int:
        """Runs a statement and returns the number of affected rows."""
        return self._connection.execute(sql, parameters)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.execute_many(sql, rows)

    def record(self, entity: str, entity_id: str, action: str, changes: Mapping[str, Any]) -> None:
        """Adds an event that this transaction will write to the log."""
        body = _JSON.encode(changes).decode()
        event = RecordedEvent(stamp(self.now), self.by.name, entity, entity_id, self.session, action, body)
        self._events.append(event)

    def renew_claims(self) -> None:
        """Renews the leases of the actor's claims: every change of an agent is a sign of life."""
        self.run(
            "update task set claim_expires_at = ? where claimed_by = ? and claim_expires_at is not null",
            stamp(self.now + self.lease),
            self.by.name,
        )

    def write_events(self) -> Sequence[RecordedEvent]:
        """Writes the events and returns them. Only the data for `undo` is written after it, before the commit."""
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
        """Whether the last event of this transaction is in the log, according to a later connection.

        The event has the time, the actor and, for new entities, a random id, so no other transaction has the same.
        """
        columns = ("at", "actor", "entity", "entity_id", "action", "changes")
        where = " and ".join(f"{column} = ?" for column in columns)
        values = [getattr(self._events[-1], column) for column in columns]
        return bool(connection.query(f"select seq from event where {where} limit 1", values))
