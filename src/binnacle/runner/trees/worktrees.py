"""The working trees of a run: one for each worker, each with a branch, and perhaps one for the run itself.

They are in the data directory, `worktrees/<run>/<worker>`, on the branches `bn/<run>/<worker>`; a run with its own tree
is on `bn/<run>/run`. A killed run leaves them, and the next run of that name uses them again.
"""

import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import TracebackType
from typing import NamedTuple, Self

from binnacle.config.private_files import private_opener
from binnacle.errors import BinnacleError, GitError, InvalidInput, Refused
from binnacle.runner.trees.branch_merges import BranchMerger, why_needed
from binnacle.runner.trees.file_lock import hold_lock
from binnacle.runner.trees.git import LONG_GIT_TIMEOUT_SECONDS, Commit, Git
from binnacle.runner.trees.merge_results import MergeConflict, MergeDone, MergeHeld, NothingToMerge, WorkerTree
from binnacle.runner.trees.worktree_list import ListedWorktree, list_worktrees

OWNER_TIMEOUT_SECONDS = 15.0
"""Seconds until the last git of a killed run should have ended."""

OLDEST_GIT = (2, 38)
"""The first version of git that can merge without touching files."""

RUN_TREE = "run"
REMOVING_SUFFIX = ".removing"
"""Suffix of a file next to a tree while it is being removed."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


class KeptBranch(NamedTuple):
    """A branch that the run left, with its tree if that is still needed."""

    branch: str
    path: str
    reason: str


class RunWorktrees:
    """The trees of one run. Leaving the block removes those that are merged; the others are then in `kept`."""

    def __init__(self, start: str, folder: str, name: str, *, own_branch: bool = False) -> None:
        """`start` is the folder of the run, `folder` has the trees of all runs.

        A run uses the branch that is checked out, or with `own_branch` its own tree and branch.

        Raises:
            InvalidInput: `name` is no valid name for branches.
        """
        if not _NAME.fullmatch(name):
            hint = "letters, digits, - and _, 64 at most"
            raise InvalidInput(f"no name for a run with branches: {name!r}", hint=hint)
        self._start = start
        self._folder = os.path.realpath(folder)
        self._name = name
        self._has_own_branch = own_branch
        self._open: AsyncExitStack
        self._merger: BranchMerger
        self._git: Git
        self.home: WorkerTree
        """Where the branch of the run is checked out."""

        self._base = ""
        """The branch that is checked out where the run was started."""

        self.kept: list[KeptBranch] = []

    async def __aenter__(self) -> Self:
        root, self._base = await _usable(Git(self._start))
        async with AsyncExitStack() as opening:
            self._git = Git(root, held=(await opening.enter_async_context(self._hold_name()),))
            self.home = WorkerTree(0, root, self._base)
            if self._has_own_branch:
                self.home = WorkerTree(0, self._path(RUN_TREE), self._branch(RUN_TREE))
            self._merger = BranchMerger(self._git, self._folder, self.home.branch)
            async with self._merger.alone() as git:
                await self._finish_removing(git)
                await git.ask("worktree", "prune")
                if self._has_own_branch:
                    await self._ensure(git, self.home, "HEAD")
            self._open = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for tree in [*await self._list_left(), *([self.home] if self._has_own_branch else [])]:
                await self._release(tree)
            with suppress(OSError):
                os.rmdir(os.path.join(self._folder, self._name, "trees"))
        finally:
            await self._open.aclose()

    async def numbers(self) -> list[int]:
        """The workers that have a branch here, from this run or a killed one."""
        return [tree.number for tree in await self._list_left()]

    async def take(self, number: int) -> WorkerTree:
        """The tree of a worker, made if it does not exist; an existing tree keeps its content."""
        tree = self._worker(number)
        async with self._merger.alone() as git:
            await self._ensure(git, tree, f"refs/heads/{self.home.branch}")
        return tree

    async def refresh(self, tree: WorkerTree) -> MergeConflict | None:
        """Merges what others did into a tree before its next iteration; a conflict is left there to be resolved."""
        return await self._merger.refresh(tree)

    async def commit(self, tree: WorkerTree, message: str) -> Commit | None:
        """Commits a worker's changes; None if there are none, or a conflict is not resolved."""
        return await self._merger.commit(tree, message)

    async def merge(self, tree: WorkerTree, message: str) -> MergeDone | MergeConflict | NothingToMerge | MergeHeld:
        """Merges a tree's branch into the branch of the run."""
        return await self._merger.merge(tree, message)

    @asynccontextmanager
    async def _hold_name(self) -> AsyncIterator[int]:
        """Excludes other runs of this name, and waits for the gits of a killed one."""
        lock = os.path.join(self._folder, self._name, "owner")
        hint = "give this one another name with --name, or wait for the other"
        busy = Refused(f"a run called {self._name!r} is at work here", hint=hint)
        async with hold_lock(lock, within=OWNER_TIMEOUT_SECONDS, otherwise=busy) as handle:
            yield handle

    def _worker(self, number: int) -> WorkerTree:
        return WorkerTree(number, self._path(str(number)), self._branch(str(number)))

    def _path(self, word: str) -> str:
        return os.path.join(self._folder, self._name, "trees", word)

    def _branch(self, word: str) -> str:
        return f"bn/{self._name}/{word}"

    async def _list_left(self) -> list[WorkerTree]:
        ran = await self._git.ask("for-each-ref", "--format=%(refname:lstrip=4)", f"refs/heads/bn/{self._name}/")
        return [self._worker(number) for number in sorted(int(word) for word in ran.line.split() if word.isdigit())]

    async def _ensure(self, git: Git, tree: WorkerTree, base: str) -> None:
        """Makes a tree, also after a kill in the middle; a complete tree stays as it is."""
        there = next((one for one in await list_worktrees(git) if one.path == tree.path), None)
        if there and await _is_complete(git, there):
            await git.at(tree.path).remove_dead_locks()
            return
        if there and there.locked:
            await git.run("worktree", "remove", "--force", "--force", tree.path)
        self._put_aside(tree)
        await git.ask("worktree", "prune")
        known = await git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{tree.branch}")
        words = (tree.path, tree.branch) if known.code == 0 else ("-b", tree.branch, tree.path, base)
        await git.ask("worktree", "add", "--quiet", *words, within=LONG_GIT_TIMEOUT_SECONDS)

    def _put_aside(self, tree: WorkerTree) -> None:
        """Moves something else out of the place of a tree, and keeps it."""
        if os.path.lexists(tree.path):
            aside = f"{tree.path}.{os.urandom(3).hex()}"
            os.rename(tree.path, aside)
            self.kept.append(KeptBranch(tree.branch, aside, "it was no working tree any more"))

    async def _finish_removing(self, git: Git) -> None:
        """Removes trees whose removal was killed: a half removed tree looks like an agent's deletions."""
        folder = os.path.dirname(self._path(RUN_TREE))
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            word, mark, _ = name.partition(REMOVING_SUFFIX)
            if mark:
                await _remove(git, WorkerTree(0, self._path(word), self._branch(word)))

    async def _release(self, tree: WorkerTree) -> None:
        """Removes a tree and its branch if nothing would be lost. In doubt, both are kept."""
        try:
            async with self._merger.alone() as git:
                into = self._base if tree == self.home else self.home.branch
                if reason := await why_needed(git, tree, into):
                    self.kept.append(KeptBranch(tree.branch, tree.path if os.path.isdir(tree.path) else "", reason))
                    return
                await _remove(git, tree)
        except BinnacleError as error:
            self.kept.append(KeptBranch(tree.branch, tree.path, error.message))


async def _remove(git: Git, tree: WorkerTree) -> None:
    """Removes a tree and its branch."""
    mark = f"{tree.path}{REMOVING_SUFFIX}"
    with open(mark, "w", encoding="utf-8", opener=private_opener):
        pass
    if os.path.isdir(tree.path):
        await git.run("worktree", "remove", "--force", tree.path, within=LONG_GIT_TIMEOUT_SECONDS)
        shutil.rmtree(tree.path, ignore_errors=True)
    await git.ask("worktree", "prune")
    await git.run("update-ref", "-d", f"refs/heads/{tree.branch}")
    os.unlink(mark)


async def _is_complete(git: Git, there: ListedWorktree) -> bool:
    """Whether git has finished making a tree."""
    is_made = os.path.isdir(there.path) and there.locked != "initializing"
    return is_made and await git.at(there.path).root() == there.path


async def _usable(git: Git) -> tuple[str, str]:
    """The top of the tree and its branch.

    Raises:
        Refused: no branches can be made here.
    """
    found = await git.root()
    if found is None:
        raise Refused(f"not a git repository: {git.folder}", hint="begin one with: git init")
    version = (await git.ask("version")).line
    numbers = tuple(int(word) for word in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST_GIT:
        raise GitError(f"{version} is too old for branches of workers", hint="install git 2.38 or newer")
    if await git.head() is None:
        raise Refused("the repository has no commit to begin from", hint="make a first one with: git commit")
    branch = await git.branch()
    if branch is None:
        raise Refused("no branch is checked out to merge into", hint="check one out with: git switch NAME")
    return found, branch
