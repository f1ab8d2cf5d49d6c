"""Which processes belong to which tree.

Descendants of a tree's root belong to it. An orphan belongs to the tree it belonged to before, the tree that its mark
names, or the tree in whose session it is. Where this process adopts orphans, all of them are its children, and one that
belongs to no tree is a stranger: a daemon that was not seen before, in a new session and without an environment. Where
process 1 adopts orphans, any process may be one of ours, and those without a sign are not found.

There the table is also not a snapshot: while it is read, a process can start another one and end. So a tree counts as
gone only when two reads in a row have found no process, and every young orphan has had time to show its mark.
"""

import os
import time

from binnacle.processes.facts import ProcessEntry, group_by_parent, list_tree, mark_of, read_table
from binnacle.processes.linux import ADOPTS_ORPHANS
from binnacle.processes.process_tree import ProcessTree

LOOKS_TO_BE_SURE = 1 if ADOPTS_ORPHANS else 2

EXEC_SECONDS = 0.2
"""How long a process may go without an environment. It has none while it becomes another program."""

ProcessKey = tuple[int, int]
"""Id and start of a process."""


class ProcessCensus:
    """The processes of all trees, as of the last read."""

    def __init__(self) -> None:
        self.members: dict[int, list[ProcessEntry]] = {}
        """Live processes, by the number of their tree."""

        self.strangers: list[ProcessEntry] = []
        self.is_sure = True
        """Whether all strangers are known to belong to no tree."""

        self._known: dict[ProcessKey, int] = {}
        self._doubtful: dict[ProcessKey, float] = {}
        """Strangers without an environment, and when they were first seen."""

        self._empty_looks: dict[int, int] = {}
        """How many reads in a row have found no process of a tree."""

    def is_empty(self, number: int) -> bool:
        """Whether no process of a tree is left."""
        return self.is_sure and self._empty_looks.get(number, 0) >= LOOKS_TO_BE_SURE

    def take(self, trees: dict[int, ProcessTree]) -> None:
        """Reads the table of processes."""
        table = read_table()
        children = group_by_parent(table)
        roots = {tree.root: number for number, tree in trees.items() if tree.returncode is None}
        found: dict[int, list[ProcessEntry]] = {number: [] for number in trees}
        for child in children.get(os.getpid(), []):
            if child.pid in roots:
                found[roots[child.pid]] += list_tree(child, children)
        sessions = {entry.session: trees[number] for number, entries in found.items() for entry in entries}
        # At first a root is still in the session of this process.
        sessions.pop(os.getsid(0), None)
        sessions.update((tree.root, tree) for tree in trees.values())
        marks = {tree.mark: number for number, tree in trees.items()}
        strangers: list[ProcessEntry] = []
        oldest = min((tree.started for tree in trees.values()), default=0)
        for orphan in self._list_orphans(table, children, found):
            owner = self._find_owner(orphan, marks, sessions, oldest)
            if ADOPTS_ORPHANS or owner in found:
                found.get(owner, strangers).extend(list_tree(orphan, children))
        self._note(found, strangers, strangers if ADOPTS_ORPHANS else list(table.values()))

    def take_none(self, trees: dict[int, ProcessTree]) -> None:
        """Notes that no process is left, because this process has no children."""
        self._note({number: [] for number in trees}, [], [])

    @staticmethod
    def _list_orphans(
        table: dict[int, ProcessEntry],
        children: dict[int, list[ProcessEntry]],
        found: dict[int, list[ProcessEntry]],
    ) -> list[ProcessEntry]:
        """Processes that may belong to a tree and are no descendants of its root."""
        placed = {entry.pid for entries in found.values() for entry in entries}
        candidates = children.get(os.getpid(), []) if ADOPTS_ORPHANS else list(table.values())
        return [entry for entry in candidates if entry.pid not in placed and entry.pid != os.getpid()]

    def _find_owner(
        self, orphan: ProcessEntry, marks: dict[bytes, int], sessions: dict[int, ProcessTree], oldest: int
    ) -> int:
        """The number of a tree, which may be gone; 0 for a stranger."""
        if number := self._known.get(orphan.key, 0):
            return number
        tree = sessions.get(orphan.session)
        # The id of a session may be reused, but only by a younger process.
        if tree is not None and orphan.started >= tree.started:
            return tree.number
        mark = mark_of(orphan.pid)
        if not mark and not orphan.is_over and (ADOPTS_ORPHANS or orphan.started >= oldest):
            self._doubtful.setdefault(orphan.key, time.monotonic())
        return marks.get(mark, 0)

    def _note(
        self, found: dict[int, list[ProcessEntry]], strangers: list[ProcessEntry], doubtful: list[ProcessEntry]
    ) -> None:
        self.members = {number: [entry for entry in entries if not entry.is_over] for number, entries in found.items()}
        self.strangers = [entry for entry in strangers if not entry.is_over]
        self._known = {entry.key: number for number, some in found.items() for entry in some}
        self._empty_looks = {
            number: 0 if entries else self._empty_looks.get(number, 0) + 1 for number, entries in self.members.items()
        }
        there = {entry.key for entry in doubtful if not entry.is_over} - self._known.keys()
        self._doubtful = {key: since for key, since in self._doubtful.items() if key in there}
        now = time.monotonic()
        self.is_sure = all(now >= since + EXEC_SECONDS for since in self._doubtful.values())
