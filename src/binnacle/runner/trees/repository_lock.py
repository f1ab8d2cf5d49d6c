"""The lock under which the working trees and branches of a repository are changed, one change at a time."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from binnacle.errors import TimedOut
from binnacle.git.command import Git
from binnacle.runner.trees.file_lock import hold_lock
from binnacle.runner.trees.tree_moves import TreeMover

LOCK_TIMEOUT_SECONDS = 600.0
"""Seconds to wait for others that change trees; the hooks of the repository may run meanwhile."""


class RepositoryLock:
    """The lock of a repository on this machine, which all runs in it share."""

    def __init__(self, git: Git, folder: str) -> None:
        """`folder` has the trees of all runs."""
        self._git = git
        self._path = os.path.join(folder, "lock")
        self.mover = TreeMover(os.path.join(folder, "moving.json"))

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Git]:
        """Excludes others while the block runs, and first repairs what a killed run left half done.

        A git that we start inherits the lock: if we are killed, the next run waits until that git has ended.
        """
        busy = TimedOut("another run has been changing trees for too long", hint="end it, or wait for it")
        async with hold_lock(self._path, within=LOCK_TIMEOUT_SECONDS, otherwise=busy) as handle:
            git = self._git.holding(handle)
            await self.mover.repair(git)
            yield git
