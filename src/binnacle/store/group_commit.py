"""Group commit: several changes in one transaction, which share the cost of its commit.

A commit costs as much as several changes. A server with several calls makes all of their changes in one transaction
and commits once. Each change still succeeds or fails alone.

States of a group, from `Store.begin_group` to `Store.commit_group`:

    empty ── begin ─► first change ── end ──► filled ── begin ─► next change ── end ──► filled ── commit ─► over
                                   └─ undo ─► empty                          └─ undo ─► filled
    any of them ── the engine rolls everything back ─► failed ── commit ─► error for every change of the group

The first change needs no savepoint: to undo it, the transaction is rolled back and begun again. Every further change
has one. A savepoint costs a tenth of a change, and a group of one is the usual case.

Who owns what. `tools.work.access` opens a group on the store of its event loop, before the first change of a turn, and
schedules its commit for the next turn. So the writers' lock is held for one turn, and there is no collection time to
choose. The group belongs to the store, which ends it; nothing else may begin a transaction on this store meanwhile. A
call that reads, or that asks whether something changed, commits the group first. Only SQLite is used this way:
PostgreSQL is used from a thread, where calls do not come in turns.

Why no change is lost. A caller gets its answer after the commit, never before. If the commit fails, every caller of the
group gets the error. If the engine itself rolls the transaction back (a full disk), the earlier changes of the group
are lost too: the group remembers the failure and refuses further changes and the commit, so every caller gets an error.
If the process is killed before the commit, no caller has an answer yet.
"""

from binnacle.errors import StoreError
from binnacle.store.engines.connection import StoreConnection


class ChangeGroup:
    """The changes of one group, each of which can be undone alone until the group is committed."""

    def __init__(self, connection: StoreConnection) -> None:
        """`connection` has already begun the transaction."""
        self._connection = connection
        self._is_first = True
        self._announce = False
        self._failure: StoreError | None = None

    def begin(self) -> None:
        self._check()
        if not self._is_first:  # a savepoint costs a tenth of a change; the first one needs none
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
            # For example a full disk: the engine has rolled back the whole transaction itself.
            self._failure = error

    def commit(self) -> None:
        self._check()
        self._connection.commit(announce=self._announce)

    def _check(self) -> None:
        if self._failure is not None:
            raise StoreError(
                "nothing was changed: another change, made together with this one, failed", hint="try again"
            ) from self._failure
