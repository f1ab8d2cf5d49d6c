"""Waits for a condition, until a deadline passes or the caller cancels."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class ScriptCall(Protocol):
    """The call that a script serves."""

    @property
    def cancelled(self) -> asyncio.Event: ...

    def progress(self, pct: float | None, text: str = "") -> None: ...


class UncancellableCall:
    """A call that is never cancelled: its deadline is enough."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    def progress(self, pct: float | None, text: str = "") -> None:
        """Does nothing."""


class CallCancelled(Exception):
    """The caller has cancelled."""


class ChangeSignal:
    """Wakes the tasks that wait for a change."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def fire(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    async def until(self, find: Callable[[], T | None], *, timeout: float, job: ScriptCall) -> T:
        """The first result of `find`, which is called again after every change.

        Raises:
            TimeoutError: it found nothing in time.
            Cancelled: the caller gave up.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while (found := find()) is None:
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.add(future)
            try:
                await wait_for_future(future, timeout=deadline - loop.time(), job=job)
            finally:
                self._waiting.discard(future)
        return found


async def wait_for_future(future: asyncio.Future[Any], *, timeout: float, job: ScriptCall) -> None:
    """Waits until `future` is done, without cancelling it.

    Raises:
        TimeoutError: it is not done in time.
        Cancelled: the caller gave up.
    """
    if future.done():
        return
    given_up = asyncio.ensure_future(job.cancelled.wait())
    try:
        await asyncio.wait([future, given_up], timeout=max(0.0, timeout), return_when=asyncio.FIRST_COMPLETED)
        if future.done():
            return
        if given_up.done():
            raise CallCancelled
        raise TimeoutError
    finally:
        given_up.cancel()
