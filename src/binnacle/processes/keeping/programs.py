"""The programs of a keeper, what belongs to each, and how they are ended."""

import os
import time

from binnacle.processes.linux import ADOPTS_ORPHANS
from binnacle.processes.table import Entry, children_of, descend, mark_of, read_table, send

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


def find_members(programs: dict[int, Program]) -> tuple[dict[int, list[Entry]], list[Entry]]:
    """The live processes of each program by its number, and those of which nobody knows whose they are.

    All of them are below this process. What is below the leader of a program belongs to it; an orphan belongs where
    its mark says, or to the program in whose session it or a known process is.
    """
    table = read_table()
    children = children_of(table)
    leaders = {program.pid: program for program in programs.values() if program.returncode is None}
    members: dict[int, list[Entry]] = {number: [] for number in programs}
    sessions = {program.pid: number for number, program in programs.items()}
    orphans: list[Entry] = []
    for child in children.get(os.getpid(), ()):
        if child.pid in leaders:
            number = leaders[child.pid].number
            members[number] += descend(child, children)
            sessions.update((entry.session, number) for entry in members[number] if entry.session != os.getsid(0))
        else:
            orphans.append(child)
    marks = {program.mark: number for number, program in programs.items()}
    strangers: list[Entry] = []
    for orphan in orphans:
        owner = marks.get(mark_of(orphan.pid), sessions.get(orphan.session))
        (strangers if owner is None else members[owner]).extend(descend(orphan, children))
    alive = {number: [entry for entry in entries if not entry.is_over] for number, entries in members.items()}
    return alive, [entry for entry in strangers if not entry.is_over]


def tell_ending(programs: dict[int, Program], strangers_end: Ending | None) -> tuple[list[Program], bool]:
    """Signals all that is to end.

    Returns the programs of which nothing is left or that are beyond hope, and whether there are strangers.
    """
    now = time.monotonic()
    members, strangers = find_members(programs)
    over = []
    for program in programs.values():
        if program.ending is None:
            continue
        program.ending.tell(members[program.number], now)
        is_left = bool(members[program.number])
        if not ADOPTS_ORPHANS:
            is_left = program.ending.tell_group(program.pid, now)
        if (program.returncode is not None and not is_left) or program.ending.is_hopeless(now):
            over.append(program)
    if strangers_end is not None:
        strangers_end.tell(strangers, now)
    return over, bool(strangers)
