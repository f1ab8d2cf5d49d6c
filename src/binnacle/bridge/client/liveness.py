"""Watches a host while calls wait for it: whether its process ends, and whether it still answers.

The end of a process is noticed at once. A stuck host is found by a ping, which is a job, too.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

from binnacle.bridge.jobs import process_identity
from binnacle.bridge.jobs.protocol import BridgeError, HostInfo
from binnacle.processes.linux import open_pidfd

PROCESS_POLL_SECONDS = 0.2
"""Seconds between two checks of a process whose end the system does not announce."""

PING_INTERVAL_SECONDS = 0.25
"""Seconds that calls wait before the host is pinged, and then between pings."""

Ask = Callable[["HostLiveness"], Awaitable[None]]
"""Pings the host, and raises `BridgeError` if it does not answer."""


class HostLiveness:
    """Watches one host for all calls that wait for it. Stops when the last call has ended."""

    def __init__(self, host: HostInfo, ask: Ask) -> None:
        self.host = host
        self.died = asyncio.Event()
        """Set when the process has ended."""

        self.troubled = asyncio.Event()
        """Set when it has ended, or does not answer."""

        self.trouble: BridgeError | None = None
        """How it fails to answer."""

        self._ask = ask
        self._loop = asyncio.get_running_loop()
        self._waiting = 0
        self._fd = -1
        self._looking: asyncio.TimerHandle | None = None
        self._checking: asyncio.TimerHandle | None = None
        self._question: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether no call waits, or the host has failed."""
        return self._waiting == 0 or self.troubled.is_set()

    async def __aenter__(self) -> None:
        self._waiting += 1
        if self._waiting == 1:
            self._begin()

    async def __aexit__(self, *_: object) -> None:
        self._waiting -= 1
        if self._waiting == 0:
            await self._end()

    def _begin(self) -> None:
        if self.host.is_near:
            with suppress(ProcessLookupError):
                descriptor = open_pidfd(self.host.pid)
                if descriptor is not None:
                    self._fd = descriptor
                    self._loop.add_reader(self._fd, self._look)
            self._look()
        self._check_later()

    async def _end(self) -> None:
        for timer in (self._looking, self._checking):
            if timer is not None:
                timer.cancel()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        if (question := self._question) is not None:
            self._question = None
            question.cancel()
            await asyncio.wait([question])

    def _look(self) -> None:
        if not self.host.is_alive():
            self.died.set()
            self.troubled.set()
            if self._fd >= 0:
                self._loop.remove_reader(self._fd)
        elif self._fd < 0:
            self._looking = self._loop.call_later(PROCESS_POLL_SECONDS, self._look)

    def _check_later(self) -> None:
        self._checking = self._loop.call_later(PING_INTERVAL_SECONDS, self._check)

    def _check(self) -> None:
        self._question = self._loop.create_task(self._ping())

    async def _ping(self) -> None:
        try:
            await self._ask(self)
        except BridgeError as error:
            self.trouble = error
            self.troubled.set()
        else:
            self._check_later()


class HostPulse:
    """Signs that a host does something: its heartbeat, and the processor time it uses."""

    def __init__(self, host: HostInfo, heartbeat: Callable[[], float]) -> None:
        self._host = host
        self._heartbeat = heartbeat
        self._first = (heartbeat(), self._doing().cpu_seconds)

    def has_shown_life(self) -> bool:
        """Whether it has shown a sign of life since the start."""
        doing = self._doing()
        return doing.is_busy or (self._heartbeat(), doing.cpu_seconds) != self._first

    def is_stopped(self) -> bool:
        """Whether somebody has stopped its process."""
        return self._doing().is_stopped

    def _doing(self) -> process_identity.ProcessActivity:
        return (
            process_identity.read_activity(self._host.pid) if self._host.is_near else process_identity.ProcessActivity()
        )
