"""What a link has under way: for its callers, and by itself. Ends with the link."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Works:
    """Work that someone waits for, and work in the background. `stop` ends both."""

    def __init__(self) -> None:
        self._bounds: set[asyncio.Timeout] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._quiet = asyncio.Event()

    async def do(self, work: Coroutine[Any, Any, T], *, seconds: float | None = None) -> T:
        """Does something for a caller.

        Raises:
            TimeoutError: it took longer than `seconds`, or everything was stopped.
        """
        async with asyncio.timeout(seconds) as bound:
            self._bounds.add(bound)
            try:
                return await work
            finally:
                self._bounds.discard(bound)
                if not self._bounds:
                    self._quiet.set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begins something that nobody waits for. It may be stopped before its first step."""
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
