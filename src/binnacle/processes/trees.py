"""Ends process trees: the only code for it, for the keeper's programs and for the calls of a fork server.

The process that uses this is the parent of every root. It forks the roots, has no thread, and does three things over
and over, in this order: wait until something happens, `reap`, `advance`.

    growing    the root runs, and has not been told to end
       │       `end` was called, or the root has ended by itself
    ending     everything that belongs to it is asked to end (TERM), each process once, as it is found
       │       the grace has passed
    killing    everything is killed, repeatedly, as it is found
       │       the root was collected and nothing is left; or two seconds have passed (the system holds it in a call)
    gone       `advance` has returned it, and knows it no more

Each `advance` looks for the processes of a tree again (`census`), because a process that is being ended may still start
others. A tree is gone only when a read that began after the last signal has found no process. On Linux nothing gets
lost: this process adopts orphans, so whatever a descendant does about sessions, groups and parents, it becomes a child
of this process when those between them end. Elsewhere process 1 adopts orphans, and we find them by their session or
their mark (docs/platforms.md).

A signal cannot reach the wrong process: it is sent to an id with its start time, through a descriptor of the process
where there are any. `advance` never waits, so nothing can deadlock; its caller calls it again every `END_POLL_SECONDS`
while something ends, and at once when a child has ended.

Who owns what: a caller owns its `ProcessTrees` and gives it up when `is_done`. A root's exit status is collected here
and nowhere else, so that its id is not reused until then.
"""

import os
import time

from binnacle.processes.census import ProcessCensus
from binnacle.processes.linux import ADOPTS_ORPHANS
from binnacle.processes.process_tree import ProcessTree, TreeEnding

END_POLL_SECONDS = 0.05
"""Seconds between two searches for what an ending tree has started. Ends are noticed at once."""


class ProcessTrees:
    """Every tree whose root this process has forked."""

    def __init__(self) -> None:
        self._trees: dict[int, ProcessTree] = {}
        self._census = ProcessCensus()
        self._has_children = True
        self._strangers_ending: TreeEnding | None = None
        """Set once everything is to end, also what belongs to no tree."""

    def add(self, tree: ProcessTree) -> ProcessTree:
        """Takes care of `tree` until it is gone."""
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
        """Whether everything was told to end and has ended, as of the last `advance`."""
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
        """Reaps ended children. Returns the trees whose root has ended; the caller ends the rest of them."""
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
        """Signals everything that has to end. Returns the trees that are gone, and those we give up."""
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
        """Signals what is left of a tree. Returns whether it is gone, or given up."""
        left = self._census.members[tree.number]
        ending.signal_all(left, now)
        is_gone = tree.returncode is not None and self._census.is_empty(tree.number)
        return is_gone or ending.is_hopeless(now)
