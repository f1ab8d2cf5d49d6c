"""Which processes belong to which program.

All of them are below this process, which adopts orphans. What is below the leader of a program belongs to it. An orphan
belongs where it belonged before, where its mark says, or to the program in whose session it is. What is none of these
is a stranger: a daemon that nobody has seen come, in a session of its own and without an environment.
"""

import os
import time

from binnacle.processes.table import Entry, children_of, descend, mark_of, read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from binnacle.processes.keeping.programs import Program

DOUBT = 0.2
"""Seconds that a process may go without an environment. It has none while it becomes another program."""

Key = tuple[int, int]
"""Id and start of a process."""


class Census:
    """What is known of the processes of all programs, as of the last look."""

    def __init__(self) -> None:
        self.members: dict[int, list[Entry]] = {}
        """Those that live, by the number of their program."""

        self.strangers: list[Entry] = []
        self.is_sure = True
        """Whether none of the strangers may yet turn out to belong to a program."""

        self._known: dict[Key, int] = {}
        self._doubtful: dict[Key, float] = {}
        """Strangers without an environment, and when they were first seen."""

    def take(self, programs: "dict[int, Program]") -> None:
        """Looks at all processes."""
        children = children_of(read_table())
        own = children.get(os.getpid(), [])
        leaders = {program.pid: number for number, program in programs.items() if program.returncode is None}
        found: dict[int, list[Entry]] = {number: [] for number in programs}
        for child in own:
            if child.pid in leaders:
                found[leaders[child.pid]] += descend(child, children)
        sessions = {entry.session: number for number, entries in found.items() for entry in entries}
        # In the first moments of a leader it is still in the session of this process.
        sessions.pop(os.getsid(0), None)
        sessions.update((program.pid, number) for number, program in programs.items())
        marks = {program.mark: number for number, program in programs.items()}
        strangers: list[Entry] = []
        for child in own:
            if child.pid not in leaders:
                owner = self._find_owner(child, marks, sessions)
                found.get(owner, strangers).extend(descend(child, children))
        self._note(found, strangers)

    def _find_owner(self, orphan: Entry, marks: dict[bytes, int], sessions: dict[int, int]) -> int:
        """The number of a program, which may be gone; 0 for a stranger."""
        key = (orphan.pid, orphan.started)
        if number := self._known.get(key, 0) or sessions.get(orphan.session, 0):
            return number
        mark = mark_of(orphan.pid)
        if not mark and not orphan.is_over:
            self._doubtful.setdefault(key, time.monotonic())
        return marks.get(mark, 0)

    def _note(self, found: dict[int, list[Entry]], strangers: list[Entry]) -> None:
        self.members = {number: [entry for entry in entries if not entry.is_over] for number, entries in found.items()}
        self.strangers = [entry for entry in strangers if not entry.is_over]
        self._known = {(entry.pid, entry.started): number for number, some in found.items() for entry in some}
        there = {(entry.pid, entry.started) for entry in self.strangers}
        self._doubtful = {key: since for key, since in self._doubtful.items() if key in there}
        now = time.monotonic()
        self.is_sure = all(now >= since + DOUBT for since in self._doubtful.values())
