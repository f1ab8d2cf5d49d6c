"""Moves a working tree from one commit to another: completely, or not at all.

Git writes the files first and the branch last, so a git that is killed in between leaves files of both. So the move is
noted before it begins; the next run finds the note and restores the tree. Only files are restored whose content is that
of one of the two commits, or the beginning of it: whatever else is there, somebody wrote, and it stays.
"""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.errors import GitError
from binnacle.git.command import LONG_GIT_TIMEOUT_SECONDS, Git, GitResult, git_failure
from binnacle.runner.trees.commits import find_branch

MAX_LOCK_RETRIES = 20
"""How often we try again when the index of a tree is locked; an editor that reads it locks it for moments."""

RETRY_PAUSE_SECONDS = 0.25


class TreeMove(Struct, frozen=True, kw_only=True):
    """A move of a working tree under way, from one commit to another."""

    tree: str
    branch: str
    """The branch that is moved or checked out."""

    old: str
    new: str
    """The commit that is checked out afterwards; for a conflict, the tree of git that has it."""

    is_ours: bool
    """Whether only agents work in the tree."""


class MoveBlocked(Struct, frozen=True, kw_only=True):
    """Why a tree was not moved."""

    reason: str
    files: tuple[str, ...] = ()


class TreeMover:
    """Moves trees, one at a time. `note` is the file that records a move under way."""

    def __init__(self, note: str) -> None:
        self._note = note

    async def advance(self, git: Git, move: TreeMove) -> MoveBlocked | None:
        """Moves a tree and its branch from `old` to its descendant `new`; returns why, if the tree prevents it."""
        here = git.at(move.tree)
        if what := await here.find_unfinished():
            return MoveBlocked(reason=f"{move.tree} is in the middle of {what}")
        self._write(move)
        ran = await _fast_forward(here, move.new)
        at = await find_branch(here, move.branch)
        self._forget()
        return None if at == move.new else _in_the_way(ran, move.tree)

    async def switch(self, git: Git, move: TreeMove) -> None:
        """Checks out a branch in a tree of ours that has no changes.

        Raises:
            GitError: git refused.
        """
        self._write(move)
        ran = await git.at(move.tree).run("checkout", "--quiet", move.branch, "--", within=LONG_GIT_TIMEOUT_SECONDS)
        await self.repair(git)
        if ran.code:
            raise git_failure("checkout", ran)

    async def begin_merge(self, git: Git, *, tree: str, branch: str, commit: str) -> None:
        """Begins to merge `commit` into a tree of ours that has no changes, and leaves the conflicts there.

        Raises:
            GitError: git could not begin.
        """
        here = git.at(tree)
        merged = await here.run("merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", "HEAD", commit)
        if merged.code not in (0, 1):
            raise git_failure("merge-tree", merged)
        old = await here.head() or ""
        self._write(TreeMove(tree=tree, branch=branch, old=old, new=merged.names[0], is_ours=True))
        # Git writes the same files as above, as it gives both sides the same names.
        words = (*await here.identity(), "merge", "--no-ff", "--no-commit", "--quiet", commit)
        ran = await here.run(*words, within=LONG_GIT_TIMEOUT_SECONDS)
        await self.repair(git)
        if ran.code and not await here.find_unfinished():
            raise git_failure("merge", ran)

    async def repair(self, git: Git) -> None:
        """Restores a tree whose move did not end. The caller makes sure that no process works in it."""
        move = self._read()
        if move is not None and os.path.isdir(move.tree):
            here = git.at(move.tree)
            await here.remove_dead_locks()
            await _unlock_branch(here, move.branch)
            # Git changes the commit last, and begins to count a merge when all files are written.
            is_begun = await here.head() == move.old and not await here.find_unfinished()
            if is_begun and move.is_ours:
                await here.ask("reset", "--quiet")
            if is_begun and (move.is_ours or await here.branch() == move.branch):
                await _restore(here, move.old, await _list_changes(here, move.old, move.new))
        self._forget()

    def _write(self, move: TreeMove) -> None:
        try:
            write_atomically(self._note, msgspec.json.encode(move), is_lasting=True)
        except OSError as error:
            raise GitError(f"cannot write {self._note}: {error.strerror}", hint="check free space") from error

    def _read(self) -> TreeMove | None:
        try:
            with open(self._note, "rb") as file:
                return msgspec.json.decode(file.read(), type=TreeMove)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _forget(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._note)


async def restore_missing(here: Git) -> None:
    """Writes the files of a tree of ours that are missing or only partly written; all other changes stay."""
    await here.ask("reset", "--quiet")
    changed = await _list_changes(here, "HEAD")
    await _restore(here, "HEAD", [one._replace(new=one.old) for one in changed])


async def _fast_forward(here: Git, commit: str) -> GitResult:
    for _ in range(MAX_LOCK_RETRIES):
        # Ignored files may matter to the person: they are not overwritten either.
        words = ("merge", "--ff-only", "--no-overwrite-ignore", "--quiet", commit)
        ran = await here.run(*words, within=LONG_GIT_TIMEOUT_SECONDS)
        if ran.code == 0 or "index.lock" not in ran.err:
            break
        await asyncio.sleep(RETRY_PAUSE_SECONDS)
    return ran


def _in_the_way(ran: GitResult, tree: str) -> MoveBlocked:
    files = tuple(line.strip() for line in ran.err.splitlines() if line.startswith("\t"))
    said = ran.err.splitlines() or [f"git ended with {ran.code}"]
    reason = f"{tree} has uncommitted changes in files that would change" if files else said[0]
    return MoveBlocked(reason=reason, files=files)


async def _unlock_branch(here: Git, branch: str) -> None:
    """Removes the lock of the branch, which only the dead git had."""
    folder = (await here.ask("rev-parse", "--path-format=absolute", "--git-common-dir")).line
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, "refs", "heads", f"{branch}.lock"))


class _Change(NamedTuple):
    """A file that differs between two commits, with the ids of its contents; zeros if it does not exist."""

    name: str
    old: str
    new: str


async def _restore(here: Git, commit: str, changes: Sequence[_Change]) -> None:
    """Restores the content of files as `commit` has it, unless somebody has edited them since."""
    ours = await _find_unedited(here, changes)
    for one in ours:
        with suppress(OSError):  # somebody made a directory of it
            os.unlink(os.path.join(here.folder, one.name))
    await _with_paths(here, [one.name for one in changes], "reset", "--quiet", commit)
    await _with_paths(here, [one.name for one in ours if one.old.strip("0")], "checkout", "--quiet", commit)
    for folder in {os.path.dirname(one.name) for one in ours} - {""}:
        with suppress(OSError):  # it is not empty
            os.removedirs(os.path.join(here.folder, folder))


async def _list_changes(here: Git, *commits: str) -> list[_Change]:
    """What differs between two commits, or between one and the files."""
    found = (await here.ask("diff", "--raw", "--no-renames", "--no-abbrev", "-z", *commits)).names
    return [_Change(name, *about.split()[2:4]) for about, name in zip(found[::2], found[1::2], strict=True)]


async def _find_unedited(here: Git, changes: Sequence[_Change]) -> list[_Change]:
    """The files that nobody has edited: with the old content, or a part of the new one."""
    paths = {one: os.path.join(here.folder, one.name) for one in changes}
    there = [one for one, path in paths.items() if os.path.isfile(path) and not os.path.islink(path)]
    named = [one for one in there if "\n" not in one.name]
    listed = os.fsencode("".join(f"{one.name}\n" for one in named))
    hashes = (await here.ask("hash-object", "--stdin-paths", given=listed)).line.split() if named else []
    known = {one for one, found in zip(named, hashes, strict=True) if found in (one.old, one.new)}
    return [
        one
        for one, path in paths.items()
        if one in known or not os.path.lexists(path) or await _is_part(here, one, path)
    ]


async def _is_part(here: Git, one: _Change, path: str) -> bool:
    """Whether a file, or a link, has its old content to the byte or the beginning of its new one."""
    if os.path.islink(path):
        content = os.fsencode(os.readlink(path))
    elif os.path.isfile(path):
        with open(path, "rb") as file:
            content = file.read()
    else:
        return False
    old, new = [await here.run("cat-file", "blob", found) for found in (one.old, one.new)]
    return (old.code == 0 and content == old.out) or (new.code == 0 and new.out.startswith(content))


async def _with_paths(here: Git, names: Sequence[str], *words: str) -> None:
    if names:
        options = ("--pathspec-from-file=-", "--pathspec-file-nul")
        await here.ask("--literal-pathspecs", *words, *options, given=os.fsencode("\0".join(names)))
