"""Provides a fork server that is alive and up to date."""

import asyncio

from binnacle.passthrough.call_request import CallRequest
from binnacle.passthrough.capture import CapturedOutput
from binnacle.passthrough.command import PassthroughCommand
from binnacle.passthrough.fork_server import ForkServer, ForkServerLost
from binnacle.passthrough.forked_call import ForkedCall

GUARDS_GONE_TIMEOUT_SECONDS = 2.0
"""Seconds for guards of ended calls to end. It takes a millisecond, unless they are stopped."""


class CurrentForkServer:
    """At most one fork server, started when first needed, and the guards it forked."""

    def __init__(self, command: PassthroughCommand, *, grace: float) -> None:
        self._command = command
        self._grace = grace
        self._server: ForkServer | None = None
        self._starting: asyncio.Task[ForkServer | ForkServerLost] | None = None
        """Belongs to no caller: cancelling one must not cost the others their server."""

        self._guarded: set[ForkedCall] = set()
        """Calls whose guard is not gone yet, even if the call has ended."""

        self._is_closed = False

    async def launch(self, request: CallRequest, output: CapturedOutput) -> ForkedCall:
        """Begins a call in a fork.

        Raises:
            ForkServerLost: there is no fork server, or it has died. Nothing of the call has run.
        """
        server = await self.get()
        process = ForkedCall(output, grace=self._grace)
        self._guarded.add(process)
        process.gone.add_done_callback(lambda _: self._guarded.discard(process))
        await server.launch(process, request)
        return process

    async def get(self) -> ForkServer:
        """A fork server that has loaded the current installation.

        Raises:
            ForkServerLost: none could be started.
        """
        if self._is_closed:
            raise ForkServerLost("closed")
        if self._server is not None and self._server.is_fresh():
            return self._server
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._replace())
        starting = self._starting
        await asyncio.wait([starting])
        if starting.cancelled():
            raise ForkServerLost("closed")
        if isinstance(result := starting.result(), ForkServerLost):
            raise ForkServerLost(str(result)) from result
        return result

    async def _replace(self) -> ForkServer | ForkServerLost:
        if self._server is not None:
            # Kept until it is gone: closing may be interrupted, and is then repeated.
            await self._server.aclose()
            self._server = None
        try:
            self._server = await ForkServer.start(self._command, grace=self._grace)
        except ForkServerLost as lost:
            return lost
        return self._server

    async def aclose(self) -> None:
        """Ends the server. The caller has ended the calls; this also waits for their guards."""
        self._is_closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await self._wait_guards_gone()
        if self._server is not None:
            await self._server.aclose()

    async def _wait_guards_gone(self) -> None:
        if self._guarded:
            await asyncio.wait([process.gone for process in self._guarded], timeout=GUARDS_GONE_TIMEOUT_SECONDS)
        for process in self._guarded:
            process.abandon()
