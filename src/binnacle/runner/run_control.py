"""How people control a run: pause, resume, send the agent a message, stop."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class RunStopped(Exception):
    """The run was stopped, which interrupted this work."""


class RunControl:
    """What people want of a run, here and from elsewhere (`run_inbox`). Call it on the event loop of the run."""

    def __init__(self) -> None:
        self._messages: deque[tuple[str | None, str]] = deque()
        """With the session that each is for; None for the agent whose turn ends first."""

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
        """Starts no further iteration; the current ones finish."""
        self._may_go_on.clear()

    def go_on(self) -> None:
        self._may_go_on.set()

    def say(self, text: str, *, session: str | None = None) -> None:
        """Sends a message to the agent of a session after its turn; without one, to the agent whose turn ends first."""
        if text.strip():
            self._messages.append((session, text.strip()))

    def take_messages(self, session: str) -> list[str]:
        """Returns and removes the messages for the agent of a session."""
        taken = [text for whose, text in self._messages if whose in (None, session)]
        self._messages = deque(one for one in self._messages if one[0] not in (None, session))
        return taken

    def stop(self) -> None:
        """Interrupts the current iterations and ends the run; a second call does not wait for agents."""
        if self.is_stopped:
            self._hurried.set()
        self._stopped.set()
        self._may_go_on.set()
        for tell in self._stopping:
            tell()

    def on_stop(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Calls `tell` when the run is stopped, at once if it is. Returns a function that undoes this."""
        if self.is_stopped:
            tell()
        self._stopping.append(tell)
        return lambda: self._stopping.remove(tell)

    async def unless_stopped(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Runs `work`, which a stop interrupts.

        Raises:
            Stopped: it did.
        """
        return await _unless(self._stopped, work)

    async def unless_hurried(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Runs `work`, which a second stop interrupts.

        Raises:
            Stopped: it did.
        """
        return await _unless(self._hurried, work)

    async def wait_to_go_on(self) -> None:
        """Waits while the run is paused."""
        await self._may_go_on.wait()

    def now(self) -> float:
        """Seconds on a clock that only goes forward."""
        return time.monotonic()

    async def sleep(self, seconds: float, *, until: asyncio.Event | None = None) -> None:
        """Waits, unless the run is stopped or `until` is set."""
        waiting = [asyncio.create_task(event.wait()) for event in (self._stopped, until) if event is not None]
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)


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
