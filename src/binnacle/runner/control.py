"""How people steer a run while it goes on: pause, go on, tell the agent something, stop."""

import asyncio
from collections import deque
from collections.abc import Callable


class Control:
    """What was asked of a run. Whoever steers calls it from the event loop of the run."""

    def __init__(self) -> None:
        self._messages: deque[str] = deque()
        self._may_go_on = asyncio.Event()
        self._may_go_on.set()
        self._stopped = asyncio.Event()
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
        """What is to be told, once."""
        told = list(self._messages)
        self._messages.clear()
        return told

    def stop(self) -> None:
        """Breaks off the iterations under way and ends the run."""
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
