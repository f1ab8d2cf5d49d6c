"""The branch of a run in which the work of all its tasks comes together, and the queue that moves it forward.

`bn/<run>/run` belongs to the run alone and only moves forward: whatever is in it stays in it. One at a time, a finished
branch is brought up to date, checked, and becomes the new end of the branch. What is in the branch is integrated, and
only from there do other tasks start. If somebody else moves the branch while the run is at work, it is put back, and
what they brought is parked: the agents of the run could bring in there what no check has seen.

Two locks. `turn` is the queue: who has it is the only one to move the branch, on this machine by a file and among
several machines by a lease in the store. It lasts as long as the checks of a merge do. `RepositoryLock.alone` protects
the trees of this machine, for moments, so that workers can start while checks run.

With a remote, its branch is the one that counts. The steps of a move, under the lease: fetch, merge on top of what was
fetched, check, push, move the branch here. The push is a compare-and-swap, because the remote refuses whatever does not
contain its newest commit: a machine whose lease lapsed while it was asleep cannot undo the work of others, and tries
again on top of it. A kill before the push changes nothing; after it, the work is integrated, and the next fetch of any
machine finds it.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import NamedTuple

from binnacle.errors import GitError, TimedOut
from binnacle.git.command import Git
from binnacle.runner.trees.commits import JoinConflict, find_branch, has_commit, join_commits, set_branch
from binnacle.runner.trees.file_lock import hold_lock
from binnacle.runner.trees.parking import WorkParker
from binnacle.runner.trees.person_checkout import PersonCheckout
from binnacle.runner.trees.remote_branches import RemoteBranches
from binnacle.runner.trees.repository_lock import RepositoryLock
from binnacle.runner.trees.tree_moves import TreeMove
from binnacle.runner.trees.worktree_list import list_worktrees

RUN_WORD = "run"
"""The last part of the name of the branch."""

TURN_TIMEOUT_SECONDS = 4 * 3600.0
"""Seconds to wait for a turn in the queue; the checks of everybody before us may run meanwhile."""

MAX_TURN_ATTEMPTS = 8
"""How often a merge is computed again because somebody else moved the branch."""

Lease = Callable[[], AbstractAsyncContextManager[None]]
"""Excludes the queues of the other machines while its block runs."""


class MoveResult(NamedTuple):
    """Whether the branch of the run was moved; if not, why. Without a reason, somebody else has moved it."""

    is_done: bool
    reason: str = ""


class MergeQueue:
    """Moves the branch of one run."""

    def __init__(
        self,
        lock: RepositoryLock,
        folder: str,
        run: str,
        *,
        checkout: PersonCheckout,
        parker: WorkParker,
        remote: RemoteBranches | None,
        lease: Lease | None,
    ) -> None:
        """`folder` is that of the run."""
        self._lock = lock
        self._path = os.path.join(folder, "queue")
        self._checkout = checkout
        self._parker = parker
        self._remote = remote
        self._lease = lease or nullcontext
        self.branch = f"bn/{run}/{RUN_WORD}"
        self._seen = ""
        """Where the queue left the branch. If somebody moves or deletes it during the run, it is put back there."""

        self.parked: list[str] = []
        """The refs of commits to which somebody else moved the branch."""

    async def begin(self, commit: str) -> None:
        """Makes the branch, from that of the remote or from a commit, and takes in what is new.

        Raises:
            RemoteUnreachable: the remote did not answer.
        """
        async with self._lock.alone() as git:
            if self._remote:
                await self._remote.fetch(git)
            if not await self._find_branch(git):
                start = (await self._remote.find(git, RUN_WORD) if self._remote else "") or commit
                await set_branch(git, self.branch, start, old="")
            if self._remote and not await self._remote.find(git, RUN_WORD):
                # If it is refused, another machine has just made it, and it is fetched next.
                await self._remote.push(git, await self._find_branch(git), RUN_WORD)
        await self.catch_up()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Excludes everybody else who moves the branch."""
        busy = TimedOut(f"{self.branch} was not free for hours", hint="see what runs with: bn session list")
        async with hold_lock(self._path, within=TURN_TIMEOUT_SECONDS, otherwise=busy), self._lease():
            yield

    async def catch_up(self) -> None:
        """Fetches what other machines have integrated, and takes in what the person has committed.

        Raises:
            RemoteUnreachable: the remote did not answer.
        """
        async with self._lock.alone() as git:
            await self._fetch(git)
            tip = await self.find_tip(git)
            if not await self._checkout.find_new(git, tip):
                await self._checkout.follow(git, tip)
                return
        async with self.turn():
            await self.take_in_person()

    async def _fetch(self, git: Git) -> None:
        if self._remote:
            await self._remote.fetch(git)
            old, new = await self._find_branch(git), await self._remote.find(git, RUN_WORD)
            if new and old != new and await has_commit(git, old, within=new):
                await self._move(git, old, new)

    async def find_tip(self, git: Git) -> str:
        """The newest commit that is integrated, here or in what was fetched.

        Raises:
            GitError: the branch here and that of the remote went apart.
        """
        here = await self._find_branch(git)
        there = await self._remote.find(git, RUN_WORD) if self._remote else ""
        if not there:
            return here
        # They go apart if somebody commits to the branch by hand, or a run began without the remote.
        joined = await join_commits(git, there, here, f"Merge {self.branch}\n")
        if isinstance(joined, JoinConflict):
            hint = f"merge them by hand: git switch {self.branch}; git pull"
            raise GitError(f"{self.branch} is in conflict with that of the remote in {joined.files[0]}", hint=hint)
        return joined

    async def _find_branch(self, git: Git) -> str:
        """The commit of the branch, which is put back if somebody moved or deleted it.

        It may be all that has the work, and what somebody else brought into it has not passed a check.
        """
        here = await find_branch(git, self.branch)
        if not self._seen or here == self._seen:
            self._seen = here
            return here
        if here and not await has_commit(git, here, within=self._seen):
            self.parked.append(await self._parker.park(git, here, RUN_WORD))
        return self._seen if await set_branch(git, self.branch, self._seen, old=here) else here

    async def take_in_person(self) -> None:
        """Fetches, and merges new commits of the person if that gives no conflict. Needs the turn.

        Nothing is checked: it is the person who decides what is in their branch, and the checks of the next task see it
        as their base.
        """
        for _ in range(MAX_TURN_ATTEMPTS):
            async with self._lock.alone() as git:
                await self._fetch(git)
                tip = await self.find_tip(git)
                new = await self._checkout.find_new(git, tip)
                into = f"Merge {self._checkout.branch} into {self.branch}\n"
                joined = await join_commits(git, tip, new, into) if new else tip
                if not new or isinstance(joined, JoinConflict):
                    await self._checkout.follow(git, tip)
                    return
            # After a move it is looked at again: the person may have committed meanwhile.
            if (await self.advance(joined)).reason:
                return

    async def advance(self, commit: str) -> MoveResult:
        """Moves the branch to a commit that contains it. Needs the turn.

        Raises:
            RemoteUnreachable: the remote did not answer; nothing was moved.
        """
        async with self._lock.alone() as git:
            old = await self._find_branch(git)
            if not await has_commit(git, old, within=commit):
                return MoveResult(is_done=False)
            if reason := await self._find_obstacle(git):
                return MoveResult(is_done=False, reason=reason)
            if self._remote and not await self._remote.push(git, commit, RUN_WORD):
                return MoveResult(is_done=False)
            moved = await self._move(git, old, commit)
            # With a remote it is integrated now, and the branch here follows with the next fetch.
            if not moved.is_done and not self._remote:
                return moved
            await self._checkout.follow(git, commit)
            return MoveResult(is_done=True)

    async def _find_obstacle(self, git: Git) -> str:
        """Why the branch cannot be moved: somebody looks at it and has changed something."""
        for one in await list_worktrees(git):
            if one.branch == self.branch and await git.at(one.path).list_changed(untracked=False):
                return f"{self.branch} is checked out in {one.path}, with uncommitted changes"
        return ""

    async def _move(self, git: Git, old: str, new: str) -> MoveResult:
        """Moves the branch here, with the tree in which somebody has checked it out."""
        place = next((one.path for one in await list_worktrees(git) if one.branch == self.branch), "")
        if place:
            move = TreeMove(tree=place, branch=self.branch, old=old, new=new, is_ours=False)
            blocked = await self._lock.mover.advance(git, move)
            moved = MoveResult(is_done=blocked is None, reason=blocked.reason if blocked else "")
        else:
            moved = MoveResult(is_done=await set_branch(git, self.branch, new, old=old))
        self._seen = new if moved.is_done else self._seen
        return moved
