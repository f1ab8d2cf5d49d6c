"""An open store: one connection, and one transaction at a time on it.

States. A store is idle, in a transaction (`read`, `write`, `claim`), or in a group:

    idle ── read() ───────────────► reading ── leave ──────────────────────► idle
    idle ── write() or claim() ───► writing ── leave: events, commit ──────► idle
                                            └─ error: roll back ───────────► idle
    idle ── begin_group() ─► group ── write(), write(), … ── commit_group() ─► idle

After `StoreLost` alone it is unknown whether a change was made, and only a commit can raise it.

Who owns what. The code that opens a store owns it, uses it from one thread, and closes it; a store owns its connection
(`ReconnectingConnection`, which replaces a lost one while the store is idle). A command has one store. A server has two
for each project (`tools.work.access`): one for the event loop, which waits at most 5 ms for a lock, and one for a
single worker thread, which may wait. The transactions (`Reader`, `Writer`) belong to the `with` block that made them.

What happens at the same time. Other processes, and the other store of a server, use the same database.
- Readers see a snapshot and block no one: a WAL snapshot on SQLite, `repeatable read` on PostgreSQL.
- Writers exclude each other from their beginning (`begin immediate`, or an advisory lock), not from their first change.
  So a rule that was checked in a transaction still holds when it commits, and no change is based on old data.
- Only claims of tasks run at the same time on PostgreSQL: they share the writers' lock, skip rows that another claim
  has locked, and claims of the same holder wait for each other.

Why it cannot deadlock. SQLite has one lock. On PostgreSQL every transaction takes its locks in one order: writers,
holder, rows, event order; the last one is taken at the end, when the transaction waits for no row. The event loop of a
server never waits for the worker thread while it has a transaction open: it gets `StoreBusy` within 5 ms and passes the
call to the thread. Every wait for a lock is bounded by `store.timeout`; after it the error is `StoreBusy`, and nothing
was changed.

Why nothing is lost. A change and its events are one transaction, so the log matches the changes exactly. A connection
that is lost before the commit loses the whole transaction (`StoreUnreachable`), and `repeat_if_lost` may run it again.
If it is lost during the commit, `_find_out` waits for the writers' lock, which the lost transaction held, and looks for
its last event in the log: if the event is not there now, it never will be.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Self, TypeVar

from binnacle.errors import StoreError, StoreLost, StoreUnreachable
from binnacle.store.engines.connection import StoreConnection, TransactionMode
from binnacle.store.engines.reconnection import ReconnectingConnection
from binnacle.store.group_commit import ChangeGroup
from binnacle.store.transaction import NO_OUTLOOK, Reader, StoreOutlook, Writer
from binnacle.work.actor import Actor

Result = TypeVar("Result")

DEFAULT_LEASE = timedelta(minutes=30)


class Store:
    """An open store. Closing it closes the connection and rolls back an open transaction."""

    def __init__(
        self,
        line: ReconnectingConnection,
        *,
        lease: timedelta = DEFAULT_LEASE,
        outlook: StoreOutlook = NO_OUTLOOK,
    ) -> None:
        self._line = line
        self._lease = lease
        self._outlook = outlook
        self._group: ChangeGroup | None = None
        self.is_busy = False
        """Whether a read transaction is open; another transaction has to wait for its end."""

        self.location = line.connection.location
        self.dialect = line.connection.dialect

    @property
    def _connection(self) -> StoreConnection:
        return self._line.connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def read(self, *, now: datetime | None = None) -> Generator[Reader]:
        """A read transaction, which sees a snapshot of the store."""
        self._line.begin("read")
        self.is_busy = True
        try:
            yield Reader(self._connection, now=now or datetime.now(UTC), outlook=self._outlook)
        finally:
            self.is_busy = False
            self._connection.rollback()

    @contextmanager
    def write(
        self, *, by: Actor, session: str | None = None, now: datetime | None = None, mode: TransactionMode = "write"
    ) -> Generator[Writer]:
        """One change by one actor. Leaving the block commits; an error rolls everything back."""
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
                outlook=self._outlook,
            )
            yield tx
            announce = _write_log(tx)
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
                raise  # a change without an event cannot be found in the log
            self._find_out(tx, lost)

    def _find_out(self, tx: Writer, lost: StoreLost) -> None:
        """Finds out whether a change was made whose commit lost the connection. Returns if it was.

        Raises:
            StoreUnreachable: it was certainly not made.
            StoreLost: it remains unknown.
        """
        try:
            self._line.begin("write")  # waits for the end of the lost transaction, if the server still runs it
            was_made = tx.is_in_log(self._connection)
            self._connection.rollback()
        except StoreError:
            raise lost from lost.__cause__
        if not was_made:
            raise StoreUnreachable("the connection was lost before the change was made", hint="try again") from lost

    def begin_group(self) -> None:
        """Starts a group of changes that `commit_group` commits together; one that fails undoes only itself.

        A commit costs as much as several changes. Nothing may be read before the group is committed.
        """
        self._line.begin("write")
        self._group = ChangeGroup(self._connection)

    def commit_group(self) -> None:
        """Commits the changes since `begin_group`: all of them, or none, and then this raises."""
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
        """A transaction for `task_moves.claim_next` only: other claims may run at the same time."""
        return self.write(by=by, session=session, now=now, mode="claim")

    def wait_change(self, timeout: float) -> bool:
        """Waits at most `timeout` seconds for someone else's change. Returns whether there was one."""
        return self._line.wait_change(timeout)

    def repeat_if_lost(self, transaction: Callable[[], Result], *, times: int = 1) -> Result:
        """Runs a whole transaction; again if the connection was lost in it before anything could be saved."""
        for _ in range(times):
            try:
                return transaction()
            except StoreUnreachable:
                if self._line.is_down:
                    raise
        return transaction()

    def close(self) -> None:
        self._line.close()


def _write_log(tx: Writer) -> bool:
    """Writes the events of a transaction, and what is needed to undo it. Returns whether it changed anything."""
    events = tx.write_events()
    if events and tx.by.kind == "human":
        from binnacle.store import row_images  # only changes of people can be undone, and most transactions read

        row_images.save_images(tx, events)
    return bool(events)
