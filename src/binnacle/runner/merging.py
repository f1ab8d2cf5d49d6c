"""Merges the branches of workers into the branch of a run, one at a time, each wholly or not at all.

A merge is worked out without touching any file. Only if it is clean does the branch move, and with it the tree in which
it is checked out (`moving`). If it is not, the branch of the run is merged into the worker's tree instead, where an
agent resolves it; nobody else sees anything of it.
"""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.errors import GitError, TimedOut
from binnacle.runner.git import MERGE, Commit, Git, failed
from binnacle.runner.locks import locked
from binnacle.runner.moving import InTheWay, Move, Mover

LOCK_PATIENCE = 600.0
"""Seconds to wait for others that merge; the hooks of the repository may run meanwhile."""

ATTEMPTS = 5
"""How often a merge is worked out anew because somebody else moved the branch."""

_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


class Tree(NamedTuple):
    """A working tree and the branch that is checked out in it."""

    number: int
    """Of the worker; 0 for the tree of the run itself."""

    path: str
    branch: str


class Merged(Struct, frozen=True, kw_only=True):
    """The work of a branch is in the branch of the run."""

    branch: str
    into: str
    commit: str
    files: int


class Nothing(Struct, frozen=True, kw_only=True):
    """The branch has nothing that the branch of the run does not have."""

    branch: str


class Held(Struct, frozen=True, kw_only=True):
    """The branch could not be merged now, and is kept."""

    branch: str
    into: str
    reason: str
    files: tuple[str, ...] = ()


class Conflict(Struct, frozen=True, kw_only=True):
    """Both branches changed the same place. The worker's tree has it before it, to be resolved there."""

    worker: int
    branch: str
    into: str
    files: tuple[str, ...]

    @property
    def title(self) -> str:
        """Of the task that it becomes."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"Merge {self.branch}: conflict in {self.files[0]}{more}"

    @property
    def description(self) -> str:
        files = "\n".join(f"- {name}" for name in self.files)
        return (
            f"{self.branch} and {self.into} both changed:\n\n{files}\n\n"
            f"The merge of {self.into} is begun in the tree of worker {self.worker}. Where both changed the same "
            "lines they are marked with <<<<<<< and >>>>>>>; a file that one side deleted or that is not text has no "
            "marks. Keep what both sides were made for and run the tests; then git add every file above, or git rm it, "
            "and commit."
        )


class Merger:
    """Merges into one branch. `folder` holds the lock that all runs of the repository share."""

    def __init__(self, git: Git, folder: str, into: str) -> None:
        self._git = git
        self._folder = folder
        self._mover = Mover(os.path.join(folder, "moving.json"))
        self.into = into

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Git]:
        """Nobody else merges meanwhile, and whatever a run that was killed left half done is put right first.

        A git that we start has the lock too: should we be killed, the next run waits until it has ended.
        """
        lock = os.path.join(self._folder, "lock")
        busy = TimedOut("another run has been merging for too long", hint="end it, or wait for it")
        async with locked(lock, within=LOCK_PATIENCE, otherwise=busy) as handle:
            git = self._git.holding(handle)
            await self._mover.repair(git)
            yield git

    async def commit(self, tree: Tree, message: str) -> Commit | None:
        """Commits what a worker left, and ends a merge that it has resolved; None if there is nothing to commit.

        Raises:
            Refused: the tree is in the middle of something else.
            GitError: git failed, or a hook of the repository refused.
        """
        here = self._git.at(tree.path)
        await here.remove_dead_locks()
        await _return_to_branch(here, tree.branch)
        if await here.unfinished() == MERGE and await self._unresolved(here, tree):
            return None
        return await here.commit_all(message, ends_merge=True)

    async def merge(self, tree: Tree, message: str) -> Merged | Conflict | Nothing | Held:
        """Brings what is committed on a worker's branch into the branch of the run.

        Raises:
            GitError: git failed.
        """
        async with self.alone() as git:
            if obstacle := await self._not_now(git.at(tree.path), tree):
                return obstacle
            for _ in range(ATTEMPTS):
                theirs, ours = await _tips(git, tree.branch, self.into)
                found = await self._merge(git, tree, theirs, ours, message)
                # A person may commit in the same moment; then there is something else to merge with.
                if not isinstance(found, Held) or await _tips(git, self.into) == [ours]:
                    break
            return found

    async def _merge(
        self, git: Git, tree: Tree, theirs: str, ours: str, message: str
    ) -> Merged | Conflict | Nothing | Held:
        if await _is_ancestor(git, theirs, ours):
            self._forget(tree)
            return Nothing(branch=tree.branch)
        joined = await self._join(git, ours, theirs, message)
        if not isinstance(joined, str):
            return await self._hand_over(git, tree, theirs, ours, joined)
        if in_the_way := await self._move(git, ours, joined):
            return self._held(tree, in_the_way.reason, in_the_way.files)
        self._forget(tree)
        files = (await git.ask("diff", "--name-only", "-z", ours, joined)).names
        return Merged(branch=tree.branch, into=self.into, commit=joined, files=len(files))

    async def refresh(self, tree: Tree) -> Conflict | None:
        """Brings the branch of the run into a worker's tree, so that its next iteration starts from what others did.

        A tree with unfinished work is left as it is.

        Raises:
            GitError: git failed.
        """
        async with self.alone() as git:
            here = git.at(tree.path)
            await here.remove_dead_locks()
            await _return_to_branch(here, tree.branch)
            if await here.unfinished() or await here.changed() or self._remembered(tree):
                return None
            theirs, ours = await _tips(git, tree.branch, self.into)
            if await _is_ancestor(git, ours, theirs):
                return None
            joined = await self._join(git, theirs, ours, f"Merge {self.into} into {tree.branch}\n")
            if not isinstance(joined, str):
                return await self._hand_over(git, tree, theirs, ours, joined)
            move = Move(tree=tree.path, branch=tree.branch, old=theirs, new=joined, is_ours=True)
            if in_the_way := await self._mover.advance(git, move):
                hint = f"see what is there with: git -C {tree.path} status"
                raise GitError(f"the tree of a worker could not be moved on: {in_the_way.reason}", hint=hint)
            return None

    async def _not_now(self, here: Git, tree: Tree) -> Held | Conflict | None:
        """Why a branch cannot be merged as it is."""
        what = await here.unfinished()
        if what in ("", MERGE) and (files := await self._unresolved(here, tree)):
            return self._conflict(tree, files)
        reason, changed = "", list[str]()
        if what:
            reason = f"{tree.path} is in the middle of {what}"
        elif not await _return_to_branch(here, tree.branch):
            reason = f"{tree.path} has something else than {tree.branch} checked out"
        elif changed := await here.changed():
            reason = f"{tree.path} has uncommitted changes"
        return self._held(tree, reason, changed) if reason else None

    async def _join(self, git: Git, ours: str, theirs: str, message: str) -> str | tuple[str, ...]:
        """A commit that has both, or the files in which they are in conflict."""
        if await _is_ancestor(git, ours, theirs):
            return theirs
        ran = await git.run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
        if ran.code not in (0, 1):
            raise failed("merge-tree", ran)
        content, *files = ran.names
        if ran.code == 1:
            return tuple(files)
        words = (*await git.identity(), "commit-tree", content, "-p", ours, "-p", theirs, "-F", "-")
        return (await git.ask(*words, given=message.encode(errors="replace"))).line

    async def _move(self, git: Git, old: str, new: str) -> InTheWay | None:
        """Moves the branch of the run, with the tree in which it is checked out, if it is in one."""
        for one in await worktrees(git):
            if one.branch == self.into:
                move = Move(tree=one.path, branch=self.into, old=old, new=new, is_ours=False)
                return await self._mover.advance(git, move)
            if _is_rebasing(one, self.into):
                return InTheWay(reason=f"{one.path} is in the middle of a rebase of {self.into}")
        ran = await git.run("update-ref", "-m", "bn run: merge", f"refs/heads/{self.into}", new, old)
        return InTheWay(reason=ran.err) if ran.code else None

    async def _hand_over(self, git: Git, tree: Tree, theirs: str, ours: str, files: tuple[str, ...]) -> Conflict:
        """Begins the merge in the worker's tree."""
        self._remember(tree, files)
        move = Move(tree=tree.path, branch=tree.branch, old=theirs, new=ours, is_ours=True)
        try:
            await self._mover.begin_merge(git, move)
        except GitError:
            self._forget(tree)
            raise
        return self._conflict(tree, files)

    def _conflict(self, tree: Tree, files: Sequence[str]) -> Conflict:
        return Conflict(worker=tree.number, branch=tree.branch, into=self.into, files=_readable(files))

    def _held(self, tree: Tree, reason: str, files: Sequence[str]) -> Held:
        return Held(branch=tree.branch, into=self.into, reason=reason, files=_readable(files))

    async def _unresolved(self, here: Git, tree: Tree) -> list[str]:
        """The files of a conflict that nobody has resolved: with marks in them, or without any and not staged."""
        marked = [name for name in self._remembered(tree) if _has_marks(os.path.join(tree.path, name))]
        unmerged = (await here.ask("ls-files", "--unmerged", "-z")).names
        stages: dict[str, set[str]] = {}
        for about, _, name in (one.partition("\t") for one in unmerged):
            stages.setdefault(name, set()).add(about[-1])
        bare = [name for name, found in stages.items() if not _may_be_marked(os.path.join(tree.path, name), found)]
        marked += [name for name in stages if _has_marks(os.path.join(tree.path, name))]
        return sorted({*marked, *bare})

    def _place(self, tree: Tree) -> str:
        return f"{tree.path}.conflict"

    def _remember(self, tree: Tree, files: Sequence[str]) -> None:
        write_atomically(self._place(tree), msgspec.json.encode([os.fsencode(name).hex() for name in files]))

    def _remembered(self, tree: Tree) -> list[str]:
        with suppress(FileNotFoundError, msgspec.DecodeError, ValueError), open(self._place(tree), "rb") as file:
            return [os.fsdecode(bytes.fromhex(name)) for name in msgspec.json.decode(file.read(), type=list[str])]
        return []

    def _forget(self, tree: Tree) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._place(tree))


async def why_needed(git: Git, tree: Tree, into: str) -> str:
    """Why a tree and its branch cannot go yet; empty if all that is in them is in the branch `into`."""
    if os.path.isdir(tree.path):
        here = git.at(tree.path)
        if what := await here.unfinished():
            return f"in the middle of {what}"
        if await here.changed():
            return "uncommitted changes"
        if not await _return_to_branch(here, tree.branch):
            return f"something else than {tree.branch} is checked out"
    theirs, ours = await _tips(git, tree.branch, into)
    return "" if await _is_ancestor(git, theirs, ours) else f"commits that are not in {into}"


class Worktree(NamedTuple):
    """A working tree as git lists it."""

    path: str
    branch: str
    """Empty where a commit is checked out."""

    git_dir: str
    locked: str = ""
    """Why it may not be removed."""


async def worktrees(git: Git) -> list[Worktree]:
    """Every working tree of the repository, the main one first."""
    common = (await git.ask("rev-parse", "--path-format=absolute", "--git-common-dir")).line
    listed = os.fsdecode((await git.ask("worktree", "list", "--porcelain", "-z")).out)
    found = []
    for entry in listed.split("\0\0"):
        about = dict(line.partition(" ")[::2] for line in entry.split("\0") if line)
        if "worktree" in about and "bare" not in about:
            path = about["worktree"]
            branch = about.get("branch", "").removeprefix("refs/heads/")
            found.append(Worktree(path, branch, _git_dir(path, common), about.get("locked", "")))
    return found


def _git_dir(path: str, common: str) -> str:
    marker = os.path.join(path, ".git")
    with suppress(OSError), open(marker, encoding="utf-8", errors="surrogateescape") as file:
        return os.path.join(path, file.read().removeprefix("gitdir:").strip())
    return marker if os.path.isdir(marker) else common


def _is_rebasing(one: Worktree, branch: str) -> bool:
    for folder in ("rebase-merge", "rebase-apply"):
        with suppress(OSError), open(os.path.join(one.git_dir, folder, "head-name"), encoding="utf-8") as file:
            if file.read().strip() == f"refs/heads/{branch}":
                return True
    return False


async def _tips(git: Git, *branches: str) -> list[str]:
    return [(await git.ask("rev-parse", "--verify", f"refs/heads/{branch}^{{commit}}")).line for branch in branches]


async def _is_ancestor(git: Git, first: str, second: str) -> bool:
    return first == second or (await git.run("merge-base", "--is-ancestor", first, second)).code == 0


async def _return_to_branch(here: Git, branch: str) -> bool:
    """Whether a tree has its branch checked out, or has now: an agent that went to another takes its commits along."""
    if await here.branch() == branch:
        return True
    head, ref = await here.head(), f"refs/heads/{branch}"
    if head is None or await here.unfinished() or not await _is_ancestor(here, ref, head):
        return False
    await here.ask("update-ref", "-m", "bn run: commits of the worker", ref, head)
    await here.ask("symbolic-ref", "HEAD", ref)
    return True


def _readable(names: Sequence[str]) -> tuple[str, ...]:
    """Names of files as text, whatever their bytes are."""
    return tuple(os.fsencode(name).decode(errors="replace") for name in names)


def _may_be_marked(path: str, stages: set[str]) -> bool:
    """Whether git has put marks into a file in conflict, so that one without any is resolved."""
    if not {"2", "3"} <= stages or os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return b"\0" not in file.read(8000)


def _has_marks(path: str) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        found = {mark for line in file for mark in _MARKERS if line.startswith(mark)}
        return len(found) == len(_MARKERS)
    return False
