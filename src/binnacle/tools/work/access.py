"""Runs a function in a transaction without blocking the event loop for long.

SQLite answers in microseconds, so it is called on the event loop. PostgreSQL, and a SQLite file that another process
has locked, are used from a thread, which may wait.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol, Self, TypeVar

from binnacle.errors import BinnacleError, StoreBusy, StoreLost, StoreUnreachable, TimedOut
from binnacle.store import abandoned_work, agents
from binnacle.store.store import Store
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply
from binnacle.work import steps
from binnacle.work.actor import SYSTEM
from binnacle.work.done_gate import DoneRequest
from binnacle.work.session import Session

Result = TypeVar("Result")

Open = Callable[[float, float], Store]
"""Opens the store: seconds to wait for a lock, and for a database that is down."""

QUEUE_GRACE_SECONDS = 20.0
"""Seconds in addition to the wait for a locked store, for calls that are queued before this one."""

MAX_BLOCKING_SECONDS = 0.005
"""Seconds that a locked file may block the event loop."""

LOOK_SECONDS = 1.0
"""Seconds between checks for lapsed claims."""


class DoneRequests(Protocol):
    """Runs the checks that a `done` needs."""

    async def answer(self, caller: Caller, request: DoneRequest) -> ToolReply:
        """What a call that asks for `done` answers. Failures are raised as a `BinnacleError`."""


class _SharedCommit:
    """The commit of all changes that were made in one turn of the event loop."""

    def __init__(self, at: asyncio.Handle) -> None:
        self.at = at
        """When the event loop makes it, unless somebody has to read before."""

        self.is_over = False
        self.failure: BaseException | None = None


class StoreAccess:
    """The access of the tools to one store. Closing it closes every connection."""

    def __init__(self, open_store: Open, *, patience: float, is_shared: bool = False) -> None:
        """`is_shared` says that the store is a database server, for which only a thread waits."""
        self.done_requests: DoneRequests | None = None
        """Without it, a `done` that needs checks stays a request."""

        self._open = open_store
        self._patience = patience
        self._is_shared = is_shared
        self._quick: Store | None = None
        """For the event loop, which waits for nothing. A shared store has none."""

        self._patient: Store | None = None
        """For the thread."""

        self._is_down = False
        """Whether the database was waited for in vain; until it is there, each call tries only once."""

        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._look_at = 0.0
        self._has_written = False
        self._next_commit: _SharedCommit | None = None
        """Of the changes made in this turn of the event loop; None if there are none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def run(self, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool = False) -> Result:
        """Runs `work` in its own transaction, on behalf of the caller's agent."""
        if caller.control is not None and not caller.control.is_identified:
            caller.session = await caller.control.identify(registers=writes)
        if not self._is_shared:
            try:
                quick = self._open_quick()  # also while another process locks the file
                if writes:
                    return await self._join(quick, caller, work)
                return self._read(quick, work)
            except StoreBusy:
                pass
        return await self._run_in_thread(caller, work, writes=writes, claims=claims)

    async def change(self, work: Callable[[Writer], Result]) -> Result:
        """Runs `work` as a change made by Binnacle itself."""
        return await self.run(Caller(session=Session(actor=SYSTEM)), work, writes=True)

    async def look(self, work: Callable[[Reader], Result]) -> Result:
        """Runs `work` in a read transaction."""
        return await self.run(Caller(session=Session(actor=SYSTEM)), work, writes=False)

    async def _run_in_thread(
        self, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool
    ) -> Result:
        loop = asyncio.get_running_loop()
        begun = threading.Event()

        def wait() -> Result:
            begun.set()
            return self._wait(caller, work, writes=writes, claims=claims)

        waiting = loop.run_in_executor(self._thread, wait)
        try:
            async with asyncio.timeout(self._patience + QUEUE_GRACE_SECONDS):
                return await waiting
        except TimeoutError as error:
            message = f"the store did not answer within {self._patience + QUEUE_GRACE_SECONDS:g} s"
            if writes and begun.is_set():  # the thread is still working on it
                raise StoreLost(f"{message}: the change may still be made", hint=steps.LOOK_THEN_REPEAT) from error
            raise TimedOut(message, hint=steps.CHECK_STORE) from error

    def _read(self, store: Store, work: Callable[[Any], Result]) -> Result:
        self._commit()
        begin: Callable[[], AbstractContextManager[Reader]] = store.read
        if (now := time.monotonic()) >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            begin = partial(abandoned_work.read_current, store)
        with begin() as reader:
            return work(reader)

    async def _join(self, store: Store, caller: Caller, work: Callable[[Any], Result]) -> Result:
        """Makes a change, and waits for the commit that it shares with others of this turn of the event loop."""
        if self._next_commit is None:
            store.begin_group()
            self._next_commit = _SharedCommit(asyncio.get_running_loop().call_soon(self._commit))
        commit = self._next_commit
        session = caller.session
        with store.write(by=session.actor, session=session.id) as writer:
            _confirm(writer, caller)
            result = work(writer)
        # One turn suffices: the loop takes up what was put off in order, and the commit was put off before this.
        while not commit.is_over:  # noqa: ASYNC110
            await asyncio.sleep(0)
        if commit.failure is not None:
            raise commit.failure
        return result

    def _commit(self) -> None:
        commit, self._next_commit = self._next_commit, None
        if self._quick is None or commit is None:
            return
        commit.at.cancel()
        self._has_written = True
        try:
            self._quick.commit_group()
        except BaseException as error:
            commit.failure = error  # every caller that waits gets it, whatever it is
            if not isinstance(error, BinnacleError):
                raise
        finally:
            commit.is_over = True

    def _wait(self, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool) -> Result:
        store = self._open_patient(outage=0 if self._is_down else self._patience)
        return store.repeat_if_lost(lambda: _transact(store, caller, work, writes=writes, claims=claims))

    def watch(self) -> None:
        """Makes `has_changed` report changes from now on; otherwise it reports only those after its first call.

        The event loop calls it, so it does not wait for a database that is down; only for a file that is locked.
        """
        if not self._is_shared:
            try:
                self._open_quick().wait_change(0)
            except StoreBusy:  # another process that closes the file, or repairs it, locks it for a moment
                pass
            else:
                return
        self._open_patient(outage=0).wait_change(0)

    def _open_quick(self) -> Store:
        if self._quick is None:
            self._quick = self._open(MAX_BLOCKING_SECONDS, 0)
        return self._quick

    def _open_patient(self, *, outage: float) -> Store:
        if self._patient is None:
            try:
                self._patient = self._open(self._patience, outage)
            except StoreUnreachable:
                self._is_down = self._is_down or outage > 0
                raise
            self._is_down = False
        return self._patient

    async def has_changed(self) -> bool:
        """Whether anyone has changed the store since the last call. The first call reports only our own changes."""
        changed, self._has_written = self._has_written, False
        if self._patient is not None:
            store = self._patient
            loop = asyncio.get_running_loop()
            changed |= await loop.run_in_executor(self._thread, lambda: store.wait_change(0))
        if self._quick is not None:
            self._commit()
            changed |= self._quick.wait_change(0)
        return changed

    def close(self) -> None:
        self._commit()
        self._thread.shutdown(wait=True, cancel_futures=True)
        for store in (self._quick, self._patient):
            if store is not None:
                store.close()
        self._quick = self._patient = None


def _transact(store: Store, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool) -> Result:
    if not writes:
        with abandoned_work.read_current(store) as reader:
            return work(reader)
    begin = store.claim if claims else store.write
    with begin(by=caller.actor, session=caller.session.id) as writer:
        _confirm(writer, caller)
        return work(writer)


def _confirm(tx: Writer, caller: Caller) -> None:
    if tx.by.kind == "agent":
        agents.confirm(tx, is_sign_of_life=caller.activity.is_sign_of_life_due())
