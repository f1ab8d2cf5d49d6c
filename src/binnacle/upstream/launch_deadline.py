"""How long a server may take to be ready: its `connect_timeout`, and longer while its process is seen at work.

A first start with `npx` or `uvx` fetches packages, which takes minutes. Such a launcher is told from a hanging one
by what its processes do (`Transport.has_worked`): each sign of work puts the deadline off by another
`connect_timeout`, up to MAX_LAUNCH_SECONDS in all.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from binnacle.errors import UpstreamDown
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports.transport import Transport

MAX_LAUNCH_SECONDS = 300.0
"""Until then a process must be ready, however busy it is."""

LAUNCH_CHECK_SECONDS = 0.5
"""Between two looks at whether a process that is not ready is at work."""

LAUNCHING_SHOWN_AFTER_SECONDS = 3.0


class LaunchDeadline:
    """The deadline of one attempt to connect."""

    def __init__(self, config: ServerConfig, transport: Transport, *, on_launching: Callable[[], None]) -> None:
        """`on_launching` is called at each sign of work of a process that has been starting for a while."""
        self._name, self._given = config.name, config.connect_timeout
        self._transport = transport
        self._on_launching = on_launching
        self._timeout = asyncio.timeout(self._given)
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()
        self.extended_by = 0.0
        """Seconds beyond `connect_timeout`."""

    @asynccontextmanager
    async def bound(self) -> AsyncGenerator[None]:
        """Ends what is done in it at the deadline.

        Raises:
            UpstreamDown: the server was not ready in time.
        """
        try:
            async with self._timeout:
                yield
        except TimeoutError:
            raise self._not_ready(self._clock() - self._began) from None

    @asynccontextmanager
    async def extended(self) -> AsyncGenerator[None]:
        """Watches the process and puts the deadline off while it works."""
        extending = asyncio.get_running_loop().create_task(self._extend())
        try:
            yield
        finally:
            extending.cancel()

    async def _extend(self) -> None:
        last = self._began + max(MAX_LAUNCH_SECONDS, self._given)
        while not self._timeout.expired():
            await asyncio.sleep(min(LAUNCH_CHECK_SECONDS, self._given / 4))
            if not self._transport.has_worked() or self._timeout.expired():
                continue
            until = min(last, self._clock() + self._given)
            self.extended_by = until - self._began - self._given
            self._timeout.reschedule(until)
            if self._clock() - self._began > LAUNCHING_SHOWN_AFTER_SECONDS:
                self._on_launching()

    def _not_ready(self, waited: float) -> UpstreamDown:
        if waited >= MAX_LAUNCH_SECONDS > self._given:
            text = f"{self._name} was still starting after {waited:.0f} s"
        else:
            text = f"{self._name} was not ready within {self._given:g} s"
            if waited >= 2 * self._given:
                text += f" after it was last seen at work, {waited:.0f} s in all"
        return UpstreamDown(text, hint="raise its connect_timeout if it needs longer")
