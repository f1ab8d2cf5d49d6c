"""A call in a fork, from the side of the `Runner`."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence

from binnacle.passthrough.capture import Output
from binnacle.passthrough.control import Control
from binnacle.passthrough.marks import sweep
from binnacle.passthrough.process import DRAIN_PATIENCE
from binnacle.passthrough.request import Request, encode

END_PATIENCE = 5.0
"""Seconds, on top of the grace, that a guard gets to end its tree. Then it is killed and its tree swept."""

LOST = "error: the process that watched over the command was killed, and the command with it; check what it did"


class WarmProcess:
    """A guard and the call it watches over. Until `begin`, nothing runs and closing it is without consequence."""

    def __init__(self, output: Output, *, grace: float) -> None:
        self.output = output
        self.note = ""
        self._grace = grace
        self._control = Control()
        self._run_id = ""

    @property
    def gone(self) -> asyncio.Future[None]:
        """Done some time after the end, when the guard itself has ended."""
        return self._control.gone

    def connect(self, hand_over: Callable[[Sequence[int]], None]) -> None:
        """Makes the pipes and the socket, and hands over the guard's ends: stdout, stderr, control.

        Raises:
            OSError: they could not be made or handed over.
        """
        with contextlib.ExitStack() as theirs:
            openings = (self.output.stdout, self.output.stderr, self._control)
            hand_over([opening.open(theirs) for opening in openings])

    async def wait_ready(self, *, patience: float) -> None:
        """Waits for the guard.

        Raises:
            OSError: it is gone, or has not come in time.
        """
        await asyncio.wait([self._control.ready], timeout=patience)
        if not self._control.ready.done() or not self._control.ready.result():
            raise TimeoutError("no answer")

    async def begin(self, request: Request) -> None:
        """Gives the guard its request. From here on it counts as run."""
        self._run_id = request.run_id
        await self._control.send(encode(request))

    async def wait(self) -> int:
        await asyncio.wait([self._control.ended])
        return await self._result()

    async def aclose(self) -> None:
        try:
            if self._run_id:
                if not self._control.ended.done():
                    await self._end()
                # Also where the end is known already: who waits for it may not have all of the output yet.
                await self.output.wait_ended(patience=DRAIN_PATIENCE)
        finally:
            # Whatever the guard has not done yet, it does now, and then hangs up.
            self._control.end()
            self.output.close()

    def abandon(self) -> None:
        """Hangs up on a guard that does not."""
        self._control.close()

    async def _end(self) -> None:
        self._control.end()
        await asyncio.wait([self._control.ended], timeout=self._grace + END_PATIENCE)
        if not self._control.ended.done() and self._control.guard is not None:
            # Stopped, or stuck in the system. It still holds the socket, so the number is still its own.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._control.guard, signal.SIGKILL)
            await asyncio.wait([self._control.ended], timeout=DRAIN_PATIENCE)
        await self._result()

    async def _result(self) -> int:
        code = self._control.ended.result() if self._control.ended.done() else None
        if code is None:
            await self._mop_up()
            code = -signal.SIGKILL
        await self.output.wait_ended(patience=DRAIN_PATIENCE)
        return code

    async def _mop_up(self) -> None:
        """Kills what a guard left behind that was itself killed."""
        self.note = LOST
        if self._control.root is not None:
            # The number stays the group's while anyone is in it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._control.root, signal.SIGKILL)
        await sweep(self._run_id, patience=DRAIN_PATIENCE)
