"""The programs of a keeper, and how they are ended."""

import os
import time

from binnacle.processes.keeping.census import Census
from binnacle.processes.table import SEES_PROCESSES, Entry, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

LAST_PATIENCE = 2.0
"""Seconds to wait for killed processes to be gone. Longer only when the system holds them in a call."""


class Ending:
    """Asks processes to end until `deadline`, and kills them from then on."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._told: set[tuple[int, int]] = set()

    def is_hopeless(self, now: float) -> bool:
        return now >= self.deadline + LAST_PATIENCE

    def tell(self, entries: list[Entry], now: float) -> None:
        """Signals those that are there now; a request is made only once of each."""
        if now >= self.deadline:
            for entry in entries:
                send(entry, signal.SIGKILL)
            return
        for entry in entries:
            if (entry.pid, entry.started) not in self._told:
                self._told.add((entry.pid, entry.started))
                send(entry, signal.SIGTERM)

    def tell_group(self, leader: int, now: float) -> bool:
        """The same for a process group, where processes are not seen; whether anything is left of it."""
        number = signal.SIGKILL if now >= self.deadline else 0 if (leader, 0) in self._told else signal.SIGTERM
        self._told.add((leader, 0))
        try:
            os.killpg(leader, number)
        except OSError:
            return False
        return True


class Program:
    """A program that was started, until nothing of it is left."""

    def __init__(self, number: int, mark: bytes, pid: int, report: int) -> None:
        self.number = number
        self.mark = mark
        self.pid = pid
        """Of the process that leads it, and of its session."""

        self.report = report
        """A pipe that tells whether it runs; -1 when that is known."""

        self.failed = False
        """Whether it never ran."""

        self.returncode: int | None = None
        self.ending: Ending | None = None

    def end(self, *, grace: float) -> None:
        """Begins to end it. Of several wishes the most impatient counts."""
        deadline = time.monotonic() + grace
        if self.ending is None:
            self.ending = Ending(deadline)
        self.ending.deadline = min(self.ending.deadline, deadline)


def tell_ending(programs: dict[int, Program], strangers_end: Ending | None, census: Census) -> list[Program]:
    """Signals all that is to end; returns the programs of which nothing is left, and those beyond hope."""
    now = time.monotonic()
    census.take(programs)
    over = []
    for program in programs.values():
        if program.ending is None:
            continue
        left = census.members[program.number]
        program.ending.tell(left, now)
        is_left = bool(left) if SEES_PROCESSES else program.ending.tell_group(program.pid, now)
        is_over = program.returncode is not None and not is_left and census.is_sure
        if is_over or program.ending.is_hopeless(now):
            over.append(program)
    if strangers_end is not None:
        strangers_end.tell(census.strangers, now)
    return over
