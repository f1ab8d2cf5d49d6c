"""One process and everything it started, and the stage of its end."""

import time

from binnacle.processes.facts import ProcessEntry, find_process, send_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

KILL_TIMEOUT_SECONDS = 2.0
"""Seconds to wait for killed processes. They take longer only if the system blocks them in a call."""


class TreeEnding:
    """Asks processes to end until `deadline`, and kills them from then on."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._asked: set[tuple[int, int]] = set()

    def is_hopeless(self, now: float) -> bool:
        """Whether killing has not helped for so long that we give up."""
        return now >= self.deadline + KILL_TIMEOUT_SECONDS

    def signal_all(self, entries: list[ProcessEntry], now: float) -> None:
        """Signals the given processes. Asks each one only once."""
        if now >= self.deadline:
            for entry in entries:
                send_signal(entry, signal.SIGKILL)
            return
        for entry in entries:
            if entry.key not in self._asked:
                self._asked.add(entry.key)
                send_signal(entry, signal.SIGTERM)


class ProcessTree:
    """A child of this process that leads a process session, with everything it starts, until all of it has ended."""

    def __init__(self, *, number: int, mark: bytes, root: int) -> None:
        self.number = number
        """Identifies it among the trees of this process; never 0."""

        self.mark = mark
        """Value of the variable that all its processes inherit."""

        self.root = root
        """Id of its first process, and of the session."""

        entry = find_process(root)
        self.started = entry.started if entry else 0
        """When the root started."""

        self.returncode: int | None = None
        """The root's exit code, once it has ended; negative for a signal."""

        self.ending: TreeEnding | None = None

    def end(self, *, grace: float) -> None:
        """Begins to end it. Of several requests, the shortest grace counts."""
        deadline = time.monotonic() + grace
        if self.ending is None:
            self.ending = TreeEnding(deadline)
        self.ending.deadline = min(self.ending.deadline, deadline)
