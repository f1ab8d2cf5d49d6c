"""Ends a process: with SIGTERM, and after a grace period with SIGKILL."""

import os
import select
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Literal

from binnacle.errors import Refused
from binnacle.lifecycle.process import ancestors, is_alive
from binnacle.processes.linux import open_pidfd

TerminationResult = Literal["gone", "terminated", "killed", "survived"]
"""The result: it had ended before; it ended on SIGTERM; it was killed; it was still alive after SIGKILL."""

STOP_GRACE_SECONDS = 5.0
"""Seconds that a process has to end after SIGTERM."""


def terminate(pid: int, started: str, *, grace: float = STOP_GRACE_SECONDS, above: bool = False) -> TerminationResult:
    """Ends one process, only if it has this start: with SIGTERM, and with SIGKILL after `grace` seconds.

    Raises:
        Refused: it is the first process of the system, this process, an ancestor of this one (unless `above` allows
            it), or the system does not permit it.
    """
    check_may_end(pid, above=above)
    with _watch(pid, started) as process:
        if process is None:
            return "gone"
        process.send(signal.SIGTERM)
        if process.wait_end(grace):
            return "terminated"
        process.send(signal.SIGKILL)
        return "killed" if process.wait_end(max(grace, STOP_GRACE_SECONDS)) else "survived"


def check_may_end(pid: int, *, above: bool = False) -> None:
    """Refuses processes that must never be signalled."""
    if pid <= 1:
        raise Refused(f"process {pid} is never signalled", hint="it is the first of the system or a whole group")
    if pid == os.getpid():
        raise Refused("a command cannot end itself", hint="name another process")
    if not above and any(process.pid == pid for process in ancestors()):
        raise Refused(f"this command runs under process {pid}", hint="an agent ends itself with: bn goodbye")


class _Watched:
    """A process that was verified to be the right one."""

    def __init__(self, pid: int, started: str, descriptor: int | None) -> None:
        self.pid = pid
        self.started = started
        self._descriptor = descriptor
        """The pidfd of the process (Linux): a signal sent through it cannot reach another process."""

    def send(self, number: signal.Signals) -> None:
        try:
            if self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, number)
            elif is_alive(self.pid, self.started):
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass  # it ended by itself meanwhile
        except PermissionError as error:
            raise Refused(f"not allowed to end process {self.pid}", hint="it belongs to another user") from error

    def wait_end(self, seconds: float) -> bool:
        """Whether it ended within `seconds`."""
        if self._descriptor is not None:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        end = time.monotonic() + seconds
        while is_alive(self.pid, self.started):
            if time.monotonic() >= end:
                return False
            time.sleep(0.02)
        return True


@contextmanager
def _watch(pid: int, started: str) -> Generator[_Watched | None]:
    """The process to end, or None if it is not alive. Leaving the block releases it."""
    descriptor: int | None = None
    # Opened before the check, so that the process that passes the check is the one of the descriptor.
    with suppress(ProcessLookupError):
        descriptor = open_pidfd(pid)
    try:
        yield _Watched(pid, started, descriptor) if is_alive(pid, started) else None
    finally:
        if descriptor is not None:
            os.close(descriptor)
