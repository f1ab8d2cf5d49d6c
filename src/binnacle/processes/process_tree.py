"""One process and everything it started, and how far its end has come."""

import time

from binnacle.processes.facts import ProcessEntry, find_process, send_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

KILL_TIMEOUT_SECONDS = 2.0
"""How long killed processes are waited for. They take longer only when the system holds them in a call."""


class TreeEnding:
    """Asks processes to end until `deadline`, and kills them from then on."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._asked: set[tuple[int, int]] = set()

    def is_hopeless(self, now: float) -> bool:
        """Whether even killing has not helped for so long that nobody waits any more."""
        return now >= self.deadline + KILL_TIMEOUT_SECONDS

    def signal_all(self, entries: list[ProcessEntry], now: float) -> None:
        """Signals those that are there now. Each one is asked only once."""
        if now >= self.deadline:
            for entry in entries:
                send_signal(entry, signal.SIGKILL)
            return
        for entry in entries:
            if entry.key not in self._asked:
                self._asked.add(entry.key)
                send_signal(entry, signal.SIGTERM)


class ProcessTree:
    """Grows from a child of this process that leads a session of its own, until nothing of it is left."""

    def __init__(self, *, number: int, mark: bytes, root: int) -> None:
        self.number = number
        """Told from other trees of this process by it; never 0."""

        self.mark = mark
        """Value of the variable that all of it inherit."""

        self.root = root
        """Id of the process it grows from, and of that one's session."""

        entry = find_process(root)
        self.started = entry.started if entry else 0
        """When the root started."""

        self.returncode: int | None = None
        """Of the root, once it has ended; negative for a signal."""

        self.ending: TreeEnding | None = None

    def end(self, *, grace: float) -> None:
        """Begins to end it. Of several requests the most impatient counts."""
        deadline = time.monotonic() + grace
        if self.ending is None:
            self.ending = TreeEnding(deadline)
        self.ending.deadline = min(self.ending.deadline, deadline)
