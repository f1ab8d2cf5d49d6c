"""The tasks of a transport, for its callers and in the background. They end with the transport."""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any


class TaskSet:
    """Work that a caller waits for, and work in the background. `stop` ends both."""

    def __init__(self) -> None:
        self._bounds: set[asyncio.Timeout] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._quiet = asyncio.Event()

    def interruptible(self, *, seconds: float | None = None) -> "_Interruptible":
        """A block that does something for a caller: `async with tasks.interruptible():`.

        Raises:
            TimeoutError: it took longer than `seconds`, or everything was stopped.
        """
        return _Interruptible(self._bounds, self._quiet, asyncio.timeout(seconds))

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts a background task. It may be stopped before its first step."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def stop(self) -> None:
        """Interrupts everything, and waits until it has ended."""
        now = asyncio.get_running_loop().time()
        for bound in self._bounds:
            if not bound.expired():
                bound.reschedule(now)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._bounds:
            self._quiet.clear()
            await self._quiet.wait()


class _Interruptible:
    """A block with a timeout, registered in its set while it runs."""

    def __init__(self, bounds: set[asyncio.Timeout], quiet: asyncio.Event, bound: asyncio.Timeout) -> None:
        self._bounds = bounds
        self._quiet = quiet
        self._bound = bound

    async def __aenter__(self) -> None:
        await self._bound.__aenter__()
        self._bounds.add(self._bound)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bounds.discard(self._bound)
        if not self._bounds:
            self._quiet.set()
        await self._bound.__aexit__(kind, error, trace)
