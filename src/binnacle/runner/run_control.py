"""How people steer a run: pause, resume, say something to the agent, stop."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class RunStopped(Exception):
    """The run was stopped while something was done that it did not wait for."""


class RunControl:
    """What was asked of a run. Whoever steers calls it from the event loop of the run."""

    def __init__(self) -> None:
        self._messages: deque[str] = deque()
        self._may_go_on = asyncio.Event()
        self._may_go_on.set()
        self._stopped = asyncio.Event()
        self._hurried = asyncio.Event()
        self._stopping: list[Callable[[], None]] = []

    @property
    def is_paused(self) -> bool:
        return not self._may_go_on.is_set()

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def pause(self) -> None:
        """Begins no further iteration; those under way end as they would."""
        self._may_go_on.clear()

    def go_on(self) -> None:
        self._may_go_on.set()

    def say(self, text: str) -> None:
        """Tells the agent something once it has finished its turn."""
        if text.strip():
            self._messages.append(text.strip())

    def take_messages(self) -> list[str]:
        """Takes what people have said since the last time."""
        taken = list(self._messages)
        self._messages.clear()
        return taken

    def stop(self) -> None:
        """Breaks off the iterations under way and ends the run; a second time, without waiting for agents to listen."""
        if self.is_stopped:
            self._hurried.set()
        self._stopped.set()
        self._may_go_on.set()
        for tell in self._stopping:
            tell()

    def on_stop(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Has `tell` called when the run is stopped, at once if it is; returns what takes that back."""
        if self.is_stopped:
            tell()
        self._stopping.append(tell)
        return lambda: self._stopping.remove(tell)

    async def unless_stopped(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Does something that a stop breaks off.

        Raises:
            Stopped: it did.
        """
        return await _unless(self._stopped, work)

    async def unless_hurried(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Does something that a second stop breaks off.

        Raises:
            Stopped: it did.
        """
        return await _unless(self._hurried, work)

    async def wait_to_go_on(self) -> None:
        """Waits while the run is paused."""
        await self._may_go_on.wait()

    async def sleep(self, seconds: float) -> None:
        """Waits, unless the run is stopped."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            pass


async def _unless(event: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result:
    doing, waiting = asyncio.create_task(work), asyncio.create_task(event.wait())
    try:
        await asyncio.wait({doing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise RunStopped
        return doing.result()
    finally:
        for task in (doing, waiting):
            task.cancel()
        await asyncio.gather(doing, waiting, return_exceptions=True)
