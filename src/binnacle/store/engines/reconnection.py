"""The connection of a store, opened again when it is lost: the database was restarted, or the file was replaced.

A transaction that has not begun starts on a new connection, within a time limit. One that was in progress
is lost completely, and its error says so (`StoreUnreachable`: nothing was changed). Only after a commit may
it be unknown whether the change was made (`StoreLost`); `Store.write` then looks in the event log.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from binnacle.errors import StoreError, StoreUnreachable
from binnacle.store.engines.connection import StoreConnection, TransactionMode

Result = TypeVar("Result")

RECONNECT_PAUSE_SECONDS = 0.2
"""Pause between two attempts to connect. A database that restarts refuses connections at once."""


def retry_until(end: float, attempt: Callable[[], Result]) -> Result:
    """Calls `attempt` until it succeeds, or until the monotonic clock reaches `end`.

    Raises:
        StoreUnreachable: the last attempt failed too.
    """
    while True:
        try:
            return attempt()
        except StoreUnreachable:
            if time.monotonic() >= end:
                raise
        time.sleep(RECONNECT_PAUSE_SECONDS)


class ReconnectingConnection:
    """One connection at a time, replaced when it is lost. Closing it closes the current one."""

    def __init__(self, connection: StoreConnection, reopen: Callable[[], StoreConnection], *, patience: float) -> None:
        """`patience` is how many seconds to wait for a database that is down."""
        self.connection = connection
        self._reopen = reopen
        self._patience = patience
        self._is_closed = False
        self.is_down = False
        """Whether a wait of full `patience` failed. Until an attempt succeeds, each call then tries only once,
        because other calls wait behind it."""

    def begin(self, mode: TransactionMode, *, holder: str = "") -> None:
        """Begins a transaction, on a new connection if the old one is lost."""
        self._with_connection(lambda: self.connection.begin(mode, holder=holder), patience=self._patience)

    def wait_change(self, timeout: float) -> bool:
        """Waits for a change. A new connection counts as one, because it may have missed some.

        A wait is as patient with a lost database as a transaction; a look (`timeout` 0) tries only once.
        """
        before = self.connection

        def wait() -> bool:
            if self.connection is before:
                return self.connection.wait_change(timeout)
            self.connection.wait_change(0)  # begins to listen
            return True

        return self._with_connection(wait, patience=self._patience if timeout else 0)

    def _with_connection(self, work: Callable[[], Result], *, patience: float) -> Result:
        try:
            if not self.connection.is_lost():
                return work()
        except StoreUnreachable:
            pass  # the loss was noticed only now; nothing of the transaction was sent
        try:
            result = retry_until(
                time.monotonic() + (0 if self.is_down else patience), lambda: self._on_new_connection(work)
            )
        except StoreUnreachable:
            self.is_down |= patience == self._patience  # a failed look must not shorten the waits of others
            raise
        self.is_down = False
        return result

    def _on_new_connection(self, work: Callable[[], Result]) -> Result:
        if self._is_closed:
            raise StoreError("this store was closed", hint="open it again")
        if self.connection.is_lost():
            self.connection.close()
            self.connection = self._reopen()
        return work()

    def close(self) -> None:
        self._is_closed = True
        self.connection.close()
