"""Runs a function in a transaction without ever stopping the event loop for long.

SQLite answers in microseconds, so it is asked in place. Only when its file is locked by another
process, and for PostgreSQL always, the work is done in a thread, which may wait.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

from binnacle.errors import StoreBusy, TimedOut
from binnacle.store import tasks
from binnacle.store.store import Store
from binnacle.tools.caller import Caller

Result = TypeVar("Result")

Open = Callable[[float], Store]
"""Opens the store with a certain patience, in seconds."""

GRACE = 20.0
"""Seconds on top of the patience with a locked store, for calls that wait in line before this one."""

AT_ONCE = 0.005
"""Seconds that a locked file may hold up the event loop."""


class Access:
    """The way of the tools to one store. Closing it closes every connection."""

    def __init__(self, open_store: Open, *, patience: float) -> None:
        self._open = open_store
        self._patience = patience
        self._quick: Store | None = None
        self._patient: Store | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def run(self, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool = False) -> Result:
        """Runs `work` in a transaction of its own."""
        if self._quick is None:
            self._quick = self._open(AT_ONCE)
        if self._quick.dialect.name == "sqlite":
            try:
                return _transact(self._quick, caller, work, writes=writes, claims=claims)
            except StoreBusy:
                pass
        loop = asyncio.get_running_loop()
        waiting = loop.run_in_executor(self._thread, lambda: self._wait(caller, work, writes=writes, claims=claims))
        try:
            async with asyncio.timeout(self._patience + GRACE):
                return await waiting
        except TimeoutError as error:
            raise TimedOut(
                f"the store did not answer within {self._patience + GRACE:g} s", hint="check it with: bn doctor"
            ) from error

    def _wait(self, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool) -> Result:
        if self._patient is None:
            self._patient = self._open(self._patience)
        return _transact(self._patient, caller, work, writes=writes, claims=claims)

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        for store in (self._quick, self._patient):
            if store is not None:
                store.close()
        self._quick = self._patient = None


def _transact(store: Store, caller: Caller, work: Callable[[Any], Result], *, writes: bool, claims: bool) -> Result:
    if not writes:
        with tasks.reading(store) as reader:
            return work(reader)
    begin = store.claim if claims else store.write
    with begin(by=caller.actor, session=caller.session) as writer:
        return work(writer)
