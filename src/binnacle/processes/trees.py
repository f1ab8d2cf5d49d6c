"""Ends process trees: the one way there is, for the keeper's programs and for the calls of a fork server.

The process that uses this is the parent of every root. It forks the roots, has no thread, and does three things over
and over, in this order: wait until something happens, `reap`, `advance`.

    growing    the root runs, and nobody wants it to end
       │       `end` was called, or the root has ended by itself
    ending     everything that belongs to it is asked to end (TERM), each process once, as it is found
       │       the grace has passed
    killing    everything is killed, again and again, as it is found
       │       the root was collected and nothing is left; or two seconds have passed (the system holds it in a call)
    gone       `advance` has returned it, and knows it no more

What belongs to a tree is found again at each `advance` (`census`), because a process that is being ended may still
start others. A tree is gone only when a look that began after the last signal has shown nobody. Nothing is lost in
between on Linux: this process adopts orphans, so whatever a descendant does about sessions, groups and parents, it
becomes a child of this process when those between them end. Elsewhere orphans go to process 1 and are found by their
session or their mark (docs/platforms.md).

A signal cannot reach the wrong process: it is sent to the process of an id and a start, through a descriptor of that
process where there are such. `advance` never waits, so nothing can deadlock; whoever calls it calls it again every
`END_POLL_SECONDS` while something ends, and at once when a child has ended.

Who owns what: a caller owns its `ProcessTrees` and gives it up when `is_done`. A root's exit status is collected here
and nowhere else, so that its id stays its own until then.
"""

import os
import time

from binnacle.processes.census import ProcessCensus
from binnacle.processes.linux import ADOPTS_ORPHANS
from binnacle.processes.process_tree import ProcessTree, TreeEnding

END_POLL_SECONDS = 0.05
"""Between two looks for what an ending tree has started in the meantime. Ends are noticed at once."""


class ProcessTrees:
    """Every tree whose root this process has forked."""

    def __init__(self) -> None:
        self._trees: dict[int, ProcessTree] = {}
        self._census = ProcessCensus()
        self._has_children = True
        self._strangers_ending: TreeEnding | None = None
        """Set once everything is to end, also what belongs to no tree."""

    def add(self, tree: ProcessTree) -> ProcessTree:
        """Has `tree` looked after until it is gone."""
        self._trees[tree.number] = tree
        self._has_children = True
        return tree

    @property
    def is_ending_all(self) -> bool:
        return self._strangers_ending is not None

    @property
    def is_ending(self) -> bool:
        """Whether `advance` has something to do."""
        return self.is_ending_all or any(tree.ending for tree in self._trees.values())

    @property
    def is_done(self) -> bool:
        """Whether everything was to end, and has, as of the last `advance`."""
        if self._strangers_ending is None or self._trees:
            return False
        return not self._census.strangers or self._strangers_ending.is_hopeless(time.monotonic())

    def end_all(self, *, grace: float) -> None:
        """Begins to end everything. Only the first call counts for what belongs to no tree."""
        if self._strangers_ending is None:
            self._strangers_ending = TreeEnding(time.monotonic() + grace)
        for tree in self._trees.values():
            tree.end(grace=grace)

    def reap(self) -> list[ProcessTree]:
        """Collects what has ended; returns the trees whose root has. Ending the rest of them is up to the caller."""
        roots = {tree.root: tree for tree in self._trees.values() if tree.returncode is None}
        ended: list[ProcessTree] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._has_children = False
                return ended
            if pid == 0:
                return ended
            if tree := roots.pop(pid, None):
                tree.returncode = os.waitstatus_to_exitcode(status)
                ended.append(tree)

    def advance(self) -> list[ProcessTree]:
        """Signals all that is to end; returns the trees of which nothing is left, and those beyond hope."""
        if not self.is_ending:
            return []
        now = time.monotonic()
        if ADOPTS_ORPHANS and not self._has_children:
            self._census.take_none(self._trees)
        else:
            self._census.take(self._trees)
        if self._strangers_ending is not None:
            self._strangers_ending.signal_all(self._census.strangers, now)
        gone = [tree for tree in self._trees.values() if tree.ending and self._end(tree, tree.ending, now)]
        for tree in gone:
            del self._trees[tree.number]
        return gone

    def _end(self, tree: ProcessTree, ending: TreeEnding, now: float) -> bool:
        """Signals what is left of a tree; whether nothing is, or nothing can be done."""
        left = self._census.members[tree.number]
        ending.signal_all(left, now)
        is_gone = tree.returncode is not None and self._census.is_empty(tree.number)
        return is_gone or ending.is_hopeless(now)
