"""Runs a function in a transaction without ever stopping the event loop for long.

SQLite answers in microseconds, so it is asked in place. Only when its file is locked by another
process, and for PostgreSQL always, the work is done in a thread, which may wait.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Self, TypeVar

from binnacle.errors import BinnacleError, StoreBusy, StoreLost, TimedOut
from binnacle.store import abandoned_work, agents
from binnacle.store.store import Store
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.caller import Caller
from binnacle.work import steps
from binnacle.work.actor import SYSTEM
from binnacle.work.session import Session

Result = TypeVar("Result")

Open = Callable[[float], Store]
"""Opens the store with a certain patience, in seconds."""

QUEUE_GRACE_SECONDS = 20.0
"""Seconds on top of the patience with a locked store, for calls that wait in line before this one."""

MAX_BLOCKING_SECONDS = 0.005
"""Seconds that a locked file may hold up the event loop."""

LOOK_SECONDS = 1.0
"""Seconds between looks for claims that have lapsed."""


class Access:
    """The way of the tools to one store. Closing it closes every connection."""

    def __init__(self, open_store: Open, *, patience: float) -> None:
        self._open = open_store
        self._patience = patience
        self._quick: Store | None = None
        self._patient: Store | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._look_at = 0.0
        self._has_written = False
        self._commit_at: asyncio.Handle | None = None
        self._waiting: list[asyncio.Future[None]] = []
        """For the commit of the changes made in this turn of the event loop."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def run(self, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool = False) -> Result:
        """Runs `work` in a transaction of its own, in the name of the caller's agent."""
        if caller.control is not None and not caller.control.is_identified:
            caller.session = await caller.control.identify(registers=writes)
        return await self._run(caller, work, writes=writes, claims=claims)

    async def change(self, work: Callable[[Writer], Result]) -> Result:
        """Runs `work` as a change of Binnacle's own."""
        return await self._run(Caller(session=Session(actor=SYSTEM)), work, writes=True, claims=False)

    async def look(self, work: Callable[[Reader], Result]) -> Result:
        """Runs `work` on a view of the store."""
        return await self._run(Caller(session=Session(actor=SYSTEM)), work, writes=False, claims=False)

    async def _run(self, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool) -> Result:
        if self._quick is None:
            self._quick = self._open(MAX_BLOCKING_SECONDS)
        if self._quick.dialect.name == "sqlite":
            try:
                if writes:
                    return await self._join(self._quick, caller, work)
                return self._read(self._quick, work)
            except StoreBusy:
                pass
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
            if writes and begun.is_set():  # its thread goes on with it
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
        loop = asyncio.get_running_loop()
        if self._commit_at is None:
            store.begin_group()
            self._commit_at = loop.call_soon(self._commit)
        with store.write(by=caller.actor, session=caller.session.id) as writer:
            _confirm(writer, caller)
            result = work(writer)
        committed = loop.create_future()
        self._waiting.append(committed)
        await committed
        return result

    def _commit(self) -> None:
        if self._quick is None or self._commit_at is None:
            return
        self._commit_at.cancel()
        self._commit_at = None
        failure: BinnacleError | None = None
        self._has_written = True
        try:
            self._quick.commit_group()
        except BinnacleError as error:
            failure = error
        waiting, self._waiting = self._waiting, []
        for committed in waiting:
            if committed.cancelled():
                continue
            if failure is None:
                committed.set_result(None)
            else:
                committed.set_exception(failure)

    def _wait(self, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool) -> Result:
        if self._patient is None:
            self._patient = self._open(self._patience)
        store = self._patient
        return store.repeat_if_lost(lambda: _transact(store, caller, work, writes=writes, claims=claims))

    def watch(self) -> None:
        """Notices changes from now on; otherwise only those after the first call are noticed."""
        if self._quick is None:
            self._quick = self._open(MAX_BLOCKING_SECONDS)
        if self._quick.dialect.name == "sqlite":
            self._quick.wait_change(0)
        elif self._patient is None:
            self._patient = self._open(self._patience)
            self._patient.wait_change(0)

    async def has_changed(self) -> bool:
        """Whether anyone has changed the store since this was last asked. Before the first call nobody has."""
        changed, self._has_written = self._has_written, False
        if self._patient is not None:
            store = self._patient
            loop = asyncio.get_running_loop()
            changed |= await loop.run_in_executor(self._thread, lambda: store.wait_change(0))
        if self._quick is not None and self._quick.dialect.name == "sqlite":
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
    if caller.actor.kind == "agent":
        agents.confirm(tx, is_sign_of_life=caller.activity.is_sign_of_life_due())
