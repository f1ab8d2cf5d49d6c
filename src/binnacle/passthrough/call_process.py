"""What a `Runner` needs of a process, however it was started.

Processes are started by `subprocess` and not by the event loop: uvloop's would inherit descriptors of ours, the
server's stdout among them.
"""

import asyncio
import subprocess
import time
from typing import Protocol

from binnacle.passthrough.capture import CapturedOutput

DRAIN_TIMEOUT_SECONDS = 2.0
"""Seconds to wait for the end of the streams when every process that held them is gone."""

POLL_SECONDS = 0.005
"""Seconds between two looks at a process, where a look is a system call and nobody waits for a millisecond."""


class CallProcess(Protocol):
    """A call that has begun."""

    @property
    def output(self) -> CapturedOutput: ...

    @property
    def note(self) -> str:
        """What the reader of the result should know about how the call ended, if anything."""

    async def wait(self) -> int:
        """The return code, negative for a signal, once nothing of the call is left and its output is all there."""

    async def aclose(self) -> None:
        """Ends the call and all it started, if it has not ended, and releases every descriptor.

        Two tasks may do so at once.
        """


class CannotRun(Exception):
    """A call that never began."""

    def __init__(self, message: str, *, exit_code: int) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


async def wait_exit(process: subprocess.Popen[bytes], *, patience: float | None = None) -> bool:
    """Waits for a process to end, without end if no patience is given; whether it has ended."""
    deadline = None if patience is None else time.monotonic() + patience
    while process.poll() is None:
        if deadline is not None and time.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True
