"""A call in a fork, on the side of the `CommandRunner`."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence

from binnacle.passthrough.call_process import DRAIN_TIMEOUT_SECONDS
from binnacle.passthrough.call_request import CallRequest, encode_request, process_name
from binnacle.passthrough.capture import CapturedOutput
from binnacle.passthrough.guard_connection import GuardConnection
from binnacle.processes.leftovers import end_leftovers

END_TIMEOUT_SECONDS = 5.0
"""Seconds beyond the grace that a guard gets to end its tree. Then it is killed, and its tree with it."""

GUARD_KILLED_NOTE = (
    "error: the process that watched over the command was killed, and the command with it; check what it did"
)


class ForkedCall:
    """A guard and its call. Until `begin`, nothing runs and closing it has no effect."""

    def __init__(self, output: CapturedOutput, *, grace: float) -> None:
        self.output = output
        self.note = ""
        self._grace = grace
        self._guard = GuardConnection()
        self._run_id = ""

    @property
    def gone(self) -> asyncio.Future[None]:
        """Done when the guard itself has ended, some time after the call."""
        return self._guard.gone

    def connect(self, hand_over: Callable[[Sequence[int]], None]) -> None:
        """Makes the pipes and the socket, and passes on the guard's ends: stdout, stderr, control.

        Raises:
            OSError: they could not be made or passed on.
        """
        with contextlib.ExitStack() as theirs:
            openings = (self.output.stdout, self.output.stderr, self._guard)
            hand_over([opening.open(theirs) for opening in openings])

    async def wait_ready(self, *, patience: float) -> None:
        """Waits for the guard.

        Raises:
            OSError: it is gone, or not ready in time.
        """
        await asyncio.wait([self._guard.ready], timeout=patience)
        if not self._guard.ready.done() or not self._guard.ready.result():
            raise TimeoutError("no answer")

    async def begin(self, request: CallRequest) -> None:
        """Sends the guard its request. From here on the call counts as run."""
        self._run_id = request.run_id
        await self._guard.send(encode_request(request))

    async def wait(self) -> int:
        await asyncio.wait([self._guard.ended])
        return await self._result()

    async def aclose(self) -> None:
        try:
            if self._run_id:
                if not self._guard.ended.done():
                    await self._end()
                # Also if the end is known already: the caller may not have all of the output yet.
                await self.output.wait_ended(patience=DRAIN_TIMEOUT_SECONDS)
        finally:
            # The guard finishes what it has to do, and then hangs up.
            self._guard.end()
            self.output.close()

    def abandon(self) -> None:
        """Hangs up on a guard that does not hang up."""
        self._guard.close()

    async def _end(self) -> None:
        self._guard.end()
        await asyncio.wait([self._guard.ended], timeout=self._grace + END_TIMEOUT_SECONDS)
        if not self._guard.ended.done() and self._guard.pid is not None:
            # Stopped, or stuck in the system. It still has the socket open, so its id is not reused.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._guard.pid, signal.SIGKILL)
            await asyncio.wait([self._guard.ended], timeout=DRAIN_TIMEOUT_SECONDS)
        await self._result()

    async def _result(self) -> int:
        code = self._guard.ended.result() if self._guard.ended.done() else None
        if code is None:
            await self._end_leftovers()
            code = -signal.SIGKILL
        await self.output.wait_ended(patience=DRAIN_TIMEOUT_SECONDS)
        return code

    async def _end_leftovers(self) -> None:
        """Kills what a killed guard left behind."""
        self.note = GUARD_KILLED_NOTE
        name = process_name(self._run_id)
        await asyncio.to_thread(end_leftovers, self._run_id, self._guard.roots, name=name, grace_seconds=0.0)
