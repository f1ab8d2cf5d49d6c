"""What a `CommandRunner` needs of a process, however it was started.

Processes are started by `subprocess` and not by the event loop: uvloop's would inherit descriptors of ours, the
server's stdout among them.
"""

import asyncio
import subprocess
import time
from typing import Protocol

from binnacle.passthrough.capture import CapturedOutput

DRAIN_TIMEOUT_SECONDS = 2.0
"""Seconds to wait for the end of the streams after every process that had them is gone."""

POLL_SECONDS = 0.005
"""Seconds between two checks of a process; a check is one system call."""


class CallProcess(Protocol):
    """A call that has begun."""

    @property
    def output(self) -> CapturedOutput: ...

    @property
    def note(self) -> str:
        """A note for the reader about how the call ended, if there is one."""

    async def wait(self) -> int:
        """Waits until the call has ended and its output is complete. Returns its code, negative for a signal."""

    async def aclose(self) -> None:
        """Ends the call and everything it started, and releases every descriptor. Two tasks may call it at once."""


class CannotRun(Exception):
    """A call that never began."""

    def __init__(self, message: str, *, exit_code: int) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


async def wait_exit(process: subprocess.Popen[bytes], *, patience: float | None = None) -> bool:
    """Waits for a process to end, for ever without `patience`. Returns whether it has ended."""
    deadline = None if patience is None else time.monotonic() + patience
    while process.poll() is None:
        if deadline is not None and time.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True
