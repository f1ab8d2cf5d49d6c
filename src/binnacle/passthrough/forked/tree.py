"""A process and everything it started, as their guard sees them.

The guard adopts orphans, so whatever a descendant does about sessions, groups and parents, it ends up as a child of
the guard when the processes between them are gone. Only own children are signalled: their numbers cannot have been
given to anyone else before the guard collected them.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable

from binnacle.processes.linux import ADOPTS_ORPHANS
from binnacle.processes.table import read_table

LAST_PATIENCE = 2.0
"""Seconds to wait for killed processes to be gone. Longer only when the system holds them in a call."""

PAUSE = 0.02
"""Seconds between two looks for adopted children, which arrive without notice."""


class Tree:
    """Grows from `root`, a child of this process that leads its own session."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.returncode: int | None = None
        """Of the root, once it has ended; negative for a signal."""

    def reap(self) -> bool:
        """Collects what has ended; whether anything is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.root:
                self.returncode = os.waitstatus_to_exitcode(status)

    def end(self, *, grace: float, wait: Callable[[float], object]) -> None:
        """Asks everything that is left to end, and kills what does not within `grace` seconds.

        `wait` returns after the given seconds, or earlier when a child has ended.
        """
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, LAST_PATIENCE)):
            deadline = time.monotonic() + patience
            told: set[int] = set()
            while self.reap():
                told = self._tell(number, told)
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                wait(min(left, PAUSE))
            else:
                break
        if not ADOPTS_ORPHANS:
            # Orphans are not seen here, but those of the root's group have its number for as long as they live.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.root, signal.SIGKILL)

    def _tell(self, number: signal.Signals, told: set[int]) -> set[int]:
        """Signals the children that were not told yet; returns all that now are."""
        present = {*children()} if self.returncode is not None else {self.root, *children()}
        for pid in present - told:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
            if pid == self.root:
                # Not there in the first moments of the root, before it leads a group.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, number)
        return present


def children() -> list[int]:
    """The children of this process, adopted ones included. None are seen where there is no /proc."""
    own = os.getpid()
    return [entry.pid for entry in read_table().values() if entry.parent == own]
