"""A store and its transactions."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import msgspec

from binnacle.errors import StoreError, StoreLost, StoreUnreachable
from binnacle.store.connection import Connection, Mode, Row
from binnacle.store.reconnecting import Reconnecting
from binnacle.work.actor import Actor
from binnacle.work.session import Agent

Result = TypeVar("Result")

DEFAULT_LEASE = timedelta(minutes=30)

IsGone = Callable[[Agent], bool]
"""Whether an agent's process is known to be gone. A store cannot see processes, so it is told how to ask."""


def never_gone(agent: Agent) -> bool:  # noqa: ARG001
    """Nobody can see the agents' processes; their claims run out after their time."""
    return False


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


def stamp(moment: datetime) -> str:
    """A time as it is kept: text of fixed width, so that it sorts and compares as text."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{utc.isoformat(timespec='milliseconds')[:23]}Z"


class Reader:
    """A transaction that sees one moment of the store."""

    def __init__(self, connection: Connection, *, now: datetime, is_gone: IsGone = never_gone) -> None:
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
        connection: Connection,
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
        body = msgspec.json.encode(changes).decode()
        event = RecordedEvent(stamp(self.now), self.by.name, entity, entity_id, self.session, action, body)
        self._events.append(event)

    def renew_claims(self) -> None:
        """Makes the claims of the actor last a lease longer: every change an agent makes is a sign of life."""
        self.run(
            "update task set claim_expires_at = ? where claimed_by = ? and claim_expires_at is not null",
            stamp(self.now + self.lease),
            self.by.name,
        )

    def flush(self) -> bool:
        """Writes the events; the last thing before the commit. Returns whether there were any."""
        if not self._events:
            return False
        if self.by.kind == "agent":
            self.renew_claims()
        self._connection.hold_event_order()
        self._connection.execute_many(
            "insert into event (at, actor, entity, entity_id, session, action, changes) values (?, ?, ?, ?, ?, ?, ?)",
            self._events,
        )
        if self.by.kind == "human":
            from binnacle.store.images import keep

            keep(self, self._events)
        return True

    def is_in_log(self, connection: Connection) -> bool:
        """Whether the last event of this transaction is in the log, asked on a later connection.

        It has the time, the actor and, for everything new, a random id in it: no other transaction has the same.
        """
        columns = ("at", "actor", "entity", "entity_id", "action", "changes")
        where = " and ".join(f"{column} = ?" for column in columns)
        values = [getattr(self._events[-1], column) for column in columns]
        return bool(connection.query(f"select seq from event where {where} limit 1", values))


class Group:
    """Changes in one transaction, each of which can still be undone alone."""

    def __init__(self, connection: Connection) -> None:
        """`connection` has begun a transaction for them."""
        self._connection = connection
        self._is_first = True
        self._announce = False
        self._failure: StoreError | None = None

    def begin(self) -> None:
        self._check()
        if not self._is_first:  # a savepoint is a tenth of a change; the first one gets along without
            self._connection.execute("savepoint change")

    def end(self, *, announce: bool) -> None:
        if not self._is_first:
            self._connection.execute("release savepoint change")
        self._is_first = False
        self._announce |= announce

    def undo(self) -> None:
        try:
            if self._is_first:
                self._connection.rollback()
                self._connection.begin("write")
            else:
                self._connection.execute("rollback to savepoint change")
                self._connection.execute("release savepoint change")
        except StoreError as error:
            # A full disk, say: the engine has undone the whole transaction by itself.
            self._failure = error

    def commit(self) -> None:
        self._check()
        self._connection.commit(announce=self._announce)

    def _check(self) -> None:
        if self._failure is not None:
            raise StoreError(
                "nothing was changed: another change, made together with this one, failed", hint="try again"
            ) from self._failure


class Store:
    """An open store. Closing it ends the connection; a transaction under way is undone."""

    def __init__(self, line: Reconnecting, *, lease: timedelta = DEFAULT_LEASE, is_gone: IsGone = never_gone) -> None:
        self._line = line
        self._lease = lease
        self._is_gone = is_gone
        self._group: Group | None = None
        self.is_busy = False
        """Whether a transaction is under way; another one has to wait for its end."""

        self.location = line.connection.location
        self.dialect = line.connection.dialect

    @property
    def _connection(self) -> Connection:
        return self._line.connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def read(self, *, now: datetime | None = None) -> Generator[Reader]:
        """A consistent view. Leaving it ends the view."""
        self._line.begin("read")
        self.is_busy = True
        try:
            yield Reader(self._connection, now=now or datetime.now(UTC), is_gone=self._is_gone)
        finally:
            self.is_busy = False
            self._connection.rollback()

    @contextmanager
    def write(
        self, *, by: Actor, session: str | None = None, now: datetime | None = None, mode: Mode = "write"
    ) -> Generator[Writer]:
        """One change by one actor. Leaving it commits; leaving it by an error undoes everything."""
        if self._group is None:
            self._line.begin(mode, holder=by.name)
        else:
            self._group.begin()
        try:
            tx = Writer(
                self._connection,
                now=now or datetime.now(UTC),
                by=by,
                session=session,
                lease=self._lease,
                is_gone=self._is_gone,
            )
            yield tx
            announce = tx.flush()
            if self._group is None:
                self._commit(tx, announce=announce)
            else:
                self._group.end(announce=announce)
        except BaseException:
            if self._group is None:
                self._connection.rollback()
            else:
                self._group.undo()
            raise

    def _commit(self, tx: Writer, *, announce: bool) -> None:
        try:
            self._connection.commit(announce=announce)
        except StoreLost as lost:
            if not announce:
                raise  # without an event there is nothing to find it by
            self._find_out(tx, lost)

    def _find_out(self, tx: Writer, lost: StoreLost) -> None:
        """Looks whether a change was made that was cut off while it was committed. Returns if it was.

        Raises:
            StoreUnreachable: it was not made, for certain.
            StoreLost: that could not be found out.
        """
        try:
            self._line.begin("write")  # waits for the end of the lost transaction, should the server still be at it
            was_made = tx.is_in_log(self._connection)
            self._connection.rollback()
        except StoreError:
            raise lost from lost.__cause__
        if not was_made:
            raise StoreUnreachable("the connection was lost before the change was made", hint="try again") from lost

    def begin_group(self) -> None:
        """Lets the changes that follow become lasting together, by `commit_group`; one that fails undoes only itself.

        A commit costs as much as several changes. Nothing may be read before the group is committed.
        """
        self._line.begin("write")
        self._group = Group(self._connection)

    def commit_group(self) -> None:
        """Makes the changes since `begin_group` last. None of them is lost unless all are, and then this raises."""
        group, self._group = self._group, None
        assert group is not None
        try:
            group.commit()
        except BaseException:
            self._connection.rollback()
            raise

    def claim(
        self, *, by: Actor, session: str | None = None, now: datetime | None = None
    ) -> AbstractContextManager[Writer]:
        """A transaction for `tasks.claim_next` alone: it lets other claims pass."""
        return self.write(by=by, session=session, now=now, mode="claim")

    def wait_change(self, timeout: float) -> bool:
        """Waits until somebody else changed the store, at most `timeout` seconds."""
        return self._line.wait_change(timeout)

    def repeat_if_lost(self, transaction: Callable[[], Result]) -> Result:
        """Runs a whole transaction; once more if the connection was lost in it before anything could be saved."""
        try:
            return transaction()
        except StoreUnreachable:
            if self._line.is_down:
                raise
            return transaction()

    def close(self) -> None:
        self._line.close()
