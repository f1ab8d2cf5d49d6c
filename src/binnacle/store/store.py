"""An open store: one connection, and one transaction at a time on it.

States. A store is idle, in a transaction (`read`, `write`, `claim`), or in a group:

    idle ── read() ───────────────► reading ── leave ──────────────────────► idle
    idle ── write() or claim() ───► writing ── leave: events, commit ──────► idle
                                            └─ error: roll back ───────────► idle
    idle ── begin_group() ─► group ── write(), write(), … ── commit_group() ─► idle

`StoreLost` is the one error that leaves it open whether a change was made, and only a commit can raise it.

Who owns what. Whoever opens a store owns it, uses it from one thread, and closes it; a store owns its connection
(`ReconnectingConnection`, which replaces a lost one while the store is idle). A command has one store. A server has two
for each project (`tools.work.access`): one for the event loop, which waits 5 ms for a lock and no longer, and one for a
single worker thread, which may wait. The transactions (`Reader`, `Writer`) belong to the `with` block that made them.

What happens at the same time. Other processes, and the other store of a server, use the same database.
- Readers see one moment of it and block nobody: a WAL snapshot on SQLite, `repeatable read` on PostgreSQL.
- Writers exclude each other from their beginning (`begin immediate`, or an advisory lock), not from their first change.
  So a rule that was checked in a transaction still holds when it commits, and no change is made on an old view.
- Claims of tasks alone pass each other on PostgreSQL: they share the writers' lock, skip rows that another claim has
  locked, and claims of the same holder wait for each other.

Why it cannot deadlock. SQLite has one lock. On PostgreSQL every transaction takes its locks in one order: writers,
holder, rows, event order; what comes last is taken at the end, when no row is waited for any more. The event loop of a
server never waits for the worker thread while it has a transaction open: it is told `StoreBusy` within 5 ms and hands
the call over. Every wait for a lock is bounded by `store.timeout`; after it the error is `StoreBusy`, and nothing was
changed.

Why nothing is lost. A change and its events are one transaction, so the log never says more or less than was done.
A connection that is lost before the commit takes the whole transaction with it (`StoreUnreachable`), and
`repeat_if_lost` may run it again. If it is lost during the commit, `_find_out` waits for the writers' lock, which the
lost transaction held, and looks for its last event in the log: it is there, or it never will be.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Self, TypeVar

from binnacle.errors import StoreError, StoreLost, StoreUnreachable
from binnacle.store.engines.connection import StoreConnection, TransactionMode
from binnacle.store.engines.reconnection import ReconnectingConnection
from binnacle.store.group_commit import ChangeGroup
from binnacle.store.transaction import IsGone, Reader, Writer, never_gone
from binnacle.work.actor import Actor

Result = TypeVar("Result")

DEFAULT_LEASE = timedelta(minutes=30)


class Store:
    """An open store. Closing it ends the connection; a transaction under way is undone."""

    def __init__(
        self, line: ReconnectingConnection, *, lease: timedelta = DEFAULT_LEASE, is_gone: IsGone = never_gone
    ) -> None:
        self._line = line
        self._lease = lease
        self._is_gone = is_gone
        self._group: ChangeGroup | None = None
        self.is_busy = False
        """Whether a transaction is under way; another one has to wait for its end."""

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
        self, *, by: Actor, session: str | None = None, now: datetime | None = None, mode: TransactionMode = "write"
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
        self._group = ChangeGroup(self._connection)

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


def _write_log(tx: Writer) -> bool:
    """Writes what a transaction leaves in the log, and what undoing it takes. Returns whether it changed anything."""
    events = tx.write_events()
    if events and tx.by.kind == "human":
        from binnacle.store import row_images  # only what people do is undone, and most transactions read

        row_images.save_images(tx, events)
    return bool(events)
