"""Merges the branches of workers into the branch of a run, one at a time, each completely or not at all.

A merge is computed without touching any file. Only if it is clean does the branch move, with the tree in which it is
checked out (`branch_moves`). Otherwise the branch of the run is merged into the worker's tree instead, where an agent
resolves the conflict; no other tree is affected.
"""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from binnacle.errors import GitError, TimedOut
from binnacle.runner.trees.branch_moves import BranchMove, BranchMover, MoveBlocked
from binnacle.runner.trees.conflict_notes import (
    delete_note,
    files_in_conflict,
    find_unresolved,
    readable_names,
    write_note,
)
from binnacle.runner.trees.file_lock import hold_lock
from binnacle.runner.trees.git import MERGE, Commit, Git, git_failure
from binnacle.runner.trees.merge_results import (
    MergeConflict,
    MergeDone,
    MergeHeld,
    MergeResult,
    NothingToMerge,
    WorkerTree,
)
from binnacle.runner.trees.worktree_list import is_rebasing, list_worktrees

LOCK_TIMEOUT_SECONDS = 600.0
"""Seconds to wait for others that merge; the hooks of the repository may run meanwhile."""

MAX_MERGE_ATTEMPTS = 5
"""How often a merge is computed again because somebody else moved the branch."""


class BranchMerger:
    """Merges into one branch. `folder` has the lock that all runs of the repository share."""

    def __init__(self, git: Git, folder: str, into: str) -> None:
        self._git = git
        self._folder = folder
        self._mover = BranchMover(os.path.join(folder, "moving.json"))
        self.into = into

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Git]:
        """Excludes other merges while the block runs, and first repairs what a killed run left half done.

        A git that we start inherits the lock: if we are killed, the next run waits until that git has ended.
        """
        lock = os.path.join(self._folder, "lock")
        busy = TimedOut("another run has been merging for too long", hint="end it, or wait for it")
        async with hold_lock(lock, within=LOCK_TIMEOUT_SECONDS, otherwise=busy) as handle:
            git = self._git.holding(handle)
            await self._mover.repair(git)
            yield git

    async def commit(self, tree: WorkerTree, message: str) -> Commit | None:
        """Commits a worker's changes, and completes a merge that it has resolved; None if there is nothing to commit.

        Raises:
            Refused: the tree is in the middle of something else.
            GitError: git failed, or a hook of the repository refused.
        """
        here = self._git.at(tree.path)
        await here.remove_dead_locks()
        await _return_to_branch(here, tree.branch)
        if await here.find_unfinished() == MERGE and await find_unresolved(here, tree):
            return None
        return await here.commit_all(message, ends_merge=True)

    async def merge(self, tree: WorkerTree, message: str) -> MergeResult:
        """Merges a worker's branch into the branch of the run.

        Raises:
            GitError: git failed.
        """
        async with self.alone() as git:
            if obstacle := await self._not_now(git.at(tree.path), tree):
                return obstacle
            for _ in range(MAX_MERGE_ATTEMPTS):
                theirs, ours = await _tips(git, tree.branch, self.into)
                found = await self._merge(git, tree, theirs, ours, message)
                # A person may commit at the same moment; then the merge is computed again.
                if not isinstance(found, MergeHeld) or await _tips(git, self.into) == [ours]:
                    break
            return found

    async def _merge(self, git: Git, tree: WorkerTree, theirs: str, ours: str, message: str) -> MergeResult:
        if await _is_ancestor(git, theirs, ours):
            delete_note(tree)
            return NothingToMerge(branch=tree.branch)
        joined = await self._join(git, ours, theirs, message)
        if not isinstance(joined, str):
            return await self._hand_over(git, tree, theirs, ours, joined)
        if in_the_way := await self._move(git, ours, joined):
            return self._hold(tree, in_the_way.reason, in_the_way.files)
        delete_note(tree)
        files = (await git.ask("diff", "--name-only", "-z", ours, joined)).names
        return MergeDone(branch=tree.branch, into=self.into, commit=joined, files=len(files))

    async def refresh(self, tree: WorkerTree) -> MergeConflict | None:
        """Merges the branch of the run into a worker's tree, so that its next iteration starts from what others did.

        A tree with unfinished work stays as it is.

        Raises:
            GitError: git failed.
        """
        async with self.alone() as git:
            here = git.at(tree.path)
            await here.remove_dead_locks()
            await _return_to_branch(here, tree.branch)
            if await here.find_unfinished() or await here.list_changed() or files_in_conflict(tree):
                return None
            theirs, ours = await _tips(git, tree.branch, self.into)
            if await _is_ancestor(git, ours, theirs):
                return None
            joined = await self._join(git, theirs, ours, f"Merge {self.into} into {tree.branch}\n")
            if not isinstance(joined, str):
                return await self._hand_over(git, tree, theirs, ours, joined)
            move = BranchMove(tree=tree.path, branch=tree.branch, old=theirs, new=joined, is_ours=True)
            if in_the_way := await self._mover.advance(git, move):
                hint = f"see what is there with: git -C {tree.path} status"
                raise GitError(f"the worktree of a worker could not be updated: {in_the_way.reason}", hint=hint)
            return None

    async def _not_now(self, here: Git, tree: WorkerTree) -> MergeHeld | MergeConflict | None:
        """Why a branch cannot be merged as it is."""
        what = await here.find_unfinished()
        if what in ("", MERGE) and (files := await find_unresolved(here, tree)):
            return self._conflict(tree, files)
        reason, changed = "", list[str]()
        if what:
            reason = f"{tree.path} is in the middle of {what}"
        elif not await _return_to_branch(here, tree.branch):
            reason = f"{tree.path} has something else than {tree.branch} checked out"
        elif changed := await here.list_changed():
            reason = f"{tree.path} has uncommitted changes"
        return self._hold(tree, reason, changed) if reason else None

    async def _join(self, git: Git, ours: str, theirs: str, message: str) -> str | tuple[str, ...]:
        """The merge commit of both, or the files in conflict."""
        if await _is_ancestor(git, ours, theirs):
            return theirs
        ran = await git.run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
        if ran.code not in (0, 1):
            raise git_failure("merge-tree", ran)
        content, *files = ran.names
        if ran.code == 1:
            return tuple(files)
        words = (*await git.identity(), "commit-tree", content, "-p", ours, "-p", theirs, "-F", "-")
        return (await git.ask(*words, given=message.encode(errors="replace"))).line

    async def _move(self, git: Git, old: str, new: str) -> MoveBlocked | None:
        """Moves the branch of the run, with the tree in which it is checked out, if any."""
        for one in await list_worktrees(git):
            if one.branch == self.into:
                move = BranchMove(tree=one.path, branch=self.into, old=old, new=new, is_ours=False)
                return await self._mover.advance(git, move)
            if is_rebasing(one, self.into):
                return MoveBlocked(reason=f"{one.path} is in the middle of a rebase of {self.into}")
        ran = await git.run("update-ref", "-m", "bn run: merge", f"refs/heads/{self.into}", new, old)
        return MoveBlocked(reason=ran.err) if ran.code else None

    async def _hand_over(
        self, git: Git, tree: WorkerTree, theirs: str, ours: str, files: tuple[str, ...]
    ) -> MergeConflict:
        """Begins the merge in the worker's tree."""
        write_note(tree, files)
        move = BranchMove(tree=tree.path, branch=tree.branch, old=theirs, new=ours, is_ours=True)
        try:
            await self._mover.begin_merge(git, move)
        except GitError:
            delete_note(tree)
            raise
        return self._conflict(tree, files)

    def _conflict(self, tree: WorkerTree, files: Sequence[str]) -> MergeConflict:
        return MergeConflict(worker=tree.number, branch=tree.branch, into=self.into, files=readable_names(files))

    def _hold(self, tree: WorkerTree, reason: str, files: Sequence[str]) -> MergeHeld:
        return MergeHeld(branch=tree.branch, into=self.into, reason=reason, files=readable_names(files))


async def why_needed(git: Git, tree: WorkerTree, into: str) -> str:
    """Why a tree and its branch must be kept; empty if the branch `into` has everything."""
    if os.path.isdir(tree.path):
        here = git.at(tree.path)
        if what := await here.find_unfinished():
            return f"in the middle of {what}"
        if await here.list_changed():
            return "uncommitted changes"
        if not await _return_to_branch(here, tree.branch):
            return f"something else than {tree.branch} is checked out"
    theirs, ours = await _tips(git, tree.branch, into)
    return "" if await _is_ancestor(git, theirs, ours) else f"commits that are not in {into}"


async def _tips(git: Git, *branches: str) -> list[str]:
    return [(await git.ask("rev-parse", "--verify", f"refs/heads/{branch}^{{commit}}")).line for branch in branches]


async def _is_ancestor(git: Git, first: str, second: str) -> bool:
    return first == second or (await git.run("merge-base", "--is-ancestor", first, second)).code == 0


async def _return_to_branch(here: Git, branch: str) -> bool:
    """Checks the tree's branch out again, with the commits of an agent that switched away. Returns whether it is."""
    if await here.branch() == branch:
        return True
    head, ref = await here.head(), f"refs/heads/{branch}"
    if head is None or await here.find_unfinished() or not await _is_ancestor(here, ref, head):
        return False
    await here.ask("update-ref", "-m", "bn run: commits of the worker", ref, head)
    await here.ask("symbolic-ref", "HEAD", ref)
    return True
