"""Moves a branch forward together with the tree in which it is checked out: wholly, or not at all.

Git writes the files first and the branch last, so one that is killed in between leaves files of both. What is about to
be done is therefore written down before, and whoever comes next finds it and puts the tree back as it was; the branch
that was to be merged is still there, and is merged again.
"""

import asyncio
import os
from contextlib import suppress

import msgspec
from msgspec import Struct

from binnacle.config.whole import write_whole
from binnacle.errors import GitError
from binnacle.runner.git import HOOK_PATIENCE, OURS, Git, Ran, failed

RETRIES = 20
"""How often a tree is tried again whose index someone else has locked; an editor that looks at it does, for moments."""

PAUSE = 0.25


class Move(Struct, frozen=True, kw_only=True):
    """What is being done to a tree."""

    tree: str
    branch: str
    old: str
    new: str
    is_ours: bool
    """Whether nobody but agents works in the tree: then whatever is not committed there is ours to remove."""


class InTheWay(Struct, frozen=True, kw_only=True):
    """Why a tree was left as it was."""

    reason: str
    files: tuple[str, ...] = ()


class Mover:
    """Moves trees, one at a time. `note` is the file in which it is written down."""

    def __init__(self, note: str) -> None:
        self._note = note

    async def advance(self, git: Git, move: Move) -> InTheWay | None:
        """Brings a tree and its branch from `old` to `new`, which follows it; says so if the tree stands in the way."""
        here = git.at(move.tree)
        if what := await here.unfinished():
            return InTheWay(reason=f"{move.tree} is in the middle of {what}")
        self._write(move)
        ran = await _fast_forward(here, move.new)
        at = (await here.ask("rev-parse", "--verify", f"refs/heads/{move.branch}")).line
        self._forget()
        return None if at == move.new else _in_the_way(ran, move.tree)

    async def begin_merge(self, git: Git, move: Move) -> None:
        """Merges `new` into a tree of ours and leaves it there, conflicts and all, for an agent to end."""
        here = git.at(move.tree)
        self._write(move)
        ran = await here.run(*await here.identity(), "merge", "--no-ff", "--no-commit", "--quiet", move.new)
        self._forget()
        if ran.code and not await here.unfinished():
            raise failed("merge", ran)

    async def repair(self, git: Git) -> None:
        """Puts a tree back in which somebody was killed. The caller knows that nobody is at it any more."""
        move = self._read()
        if move is not None and os.path.isdir(move.tree):
            here = git.at(move.tree)
            await here.remove_dead_locks()
            await _unlock_branch(here, move.branch)
            head = await here.run("rev-parse", "--verify", "--quiet", f"refs/heads/{move.branch}")
            if move.is_ours and head.line in (move.old, move.new):
                await _wipe(here)
            elif head.line == move.old and await here.branch() == move.branch:
                await _roll_back(here, move)
        self._forget()

    def _write(self, move: Move) -> None:
        try:
            write_whole(self._note, msgspec.json.encode(move), is_lasting=True)
        except OSError as error:
            raise GitError(f"cannot write {self._note}: {error.strerror}", hint="check free space") from error

    def _read(self) -> Move | None:
        try:
            with open(self._note, "rb") as file:
                return msgspec.json.decode(file.read(), type=Move)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _forget(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._note)


async def _fast_forward(here: Git, commit: str) -> Ran:
    for _ in range(RETRIES):
        # What is ignored may still be somebody's: it is not overwritten either.
        words = ("merge", "--ff-only", "--no-overwrite-ignore", "--quiet", commit)
        ran = await here.run(*words, within=HOOK_PATIENCE)
        if ran.code == 0 or "index.lock" not in ran.err:
            break
        await asyncio.sleep(PAUSE)
    return ran


def _in_the_way(ran: Ran, tree: str) -> InTheWay:
    files = tuple(line.strip() for line in ran.err.splitlines() if line.startswith("\t"))
    said = ran.err.splitlines() or [f"git ended with {ran.code}"]
    reason = f"{tree} has uncommitted changes in files that would change" if files else said[0]
    return InTheWay(reason=reason, files=files)


async def _unlock_branch(here: Git, branch: str) -> None:
    """Only a git that moves this branch has this lock, and the one that did is dead."""
    folder = (await here.ask("rev-parse", "--path-format=absolute", "--git-common-dir")).line
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, "refs", "heads", f"{branch}.lock"))


async def _wipe(here: Git) -> None:
    """Leaves what is committed, and nothing else but what is ignored."""
    await here.ask("reset", "--hard", "--quiet")
    await here.ask("clean", "-fdq", *(word for name in OURS for word in ("-e", f"/{name}")))


async def _roll_back(here: Git, move: Move) -> None:
    """Gives every file that would have changed its old content, unless somebody has edited it since."""
    names = (await here.ask("diff", "--name-only", "--no-renames", "-z", move.old, move.new)).names
    mine = [name for name in names if await _is_untouched(here, move, name)]
    old = set((await here.ask("ls-tree", "-r", "--name-only", "-z", "--full-tree", move.old)).names)
    for name in mine:
        with suppress(OSError):  # a directory that somebody made of it is not ours
            os.unlink(os.path.join(here.folder, name))
    listed = "\0".join(names).encode(errors="surrogateescape")
    await _with_paths(here, listed, "reset", "--quiet", move.old)
    restored = "\0".join(name for name in mine if name in old).encode(errors="surrogateescape")
    if restored:
        await _with_paths(here, restored, "checkout", "--quiet", move.old)
    for folder in {os.path.dirname(name) for name in mine} - {""}:
        with suppress(OSError):  # it is not empty
            os.removedirs(os.path.join(here.folder, folder))


async def _with_paths(here: Git, names: bytes, *words: str) -> None:
    options = ("--pathspec-from-file=-", "--pathspec-file-nul")
    await here.ask("--literal-pathspecs", *words, *options, given=names)


async def _is_untouched(here: Git, move: Move, name: str) -> bool:
    """Whether a file has its old content or its new one, or as much of the new one as was written."""
    path = os.path.join(here.folder, name)
    if not os.path.lexists(path):
        return True
    if os.path.isdir(path) and not os.path.islink(path):
        return False
    if os.path.islink(path):
        content = os.fsencode(os.readlink(path))
    else:
        found = await here.run("hash-object", "--", path)
        known = [(await here.run("rev-parse", "--verify", "--quiet", f"{one}:{name}")).line for one in _both(move)]
        if found.line in known:
            return True
        with open(path, "rb") as file:
            content = file.read()
    old, new = [await here.run("cat-file", "blob", f"{one}:{name}") for one in _both(move)]
    return (old.code == 0 and content == old.out) or (new.code == 0 and new.out.startswith(content))


def _both(move: Move) -> tuple[str, str]:
    return move.old, move.new
