"""A repository of its own with exactly one commit checked out, in which a check runs.

It borrows the objects of the person's repository and has nothing else of it: no refs, no remotes, no hooks, no
configuration; what is configured in the person's home does not count either. So the code under test can use git as it
likes, and its commands move nothing of the person's.

    <folder>/
      <name>.lock        held while the room is used; the system releases it when its holder dies
      <name>/            a room
        tree/            the checkout
        home/            HOME
        outside/         reports, and our plugin for pytest: outside of the checkout
        temporary        the path of TMPDIR, which is short, because sockets in it have short paths

What a killed process left is removed by the next one: a room whose lock nobody holds. Nothing outside of the folder is
ever removed, except for the folder that `temporary` names, which must be one of ours.
"""

import asyncio
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from binnacle.config.file_lock import try_lock
from binnacle.config.private_files import make_private_folder
from binnacle.errors import GitError
from binnacle.git.command import LONG_GIT_TIMEOUT_SECONDS, Git

LOCK_SUFFIX = ".lock"
OUR_FILES = "bn-????????????.py"
"""Pattern of what we add to a checkout, which git does not show."""

_NAME = re.compile(r"room-[0-9a-f]{12}")
_TEMPORARY_PREFIX = "bn-check-"


class CheckRoom(NamedTuple):
    """The folders of one run of checks."""

    tree: str
    home: str
    outside: str
    temporary: str

    @property
    def git(self) -> Git:
        return Git(self.tree, has_settings=False)


@asynccontextmanager
async def clean_checkout(repo: str, commit: str, *, folder: str) -> AsyncIterator[CheckRoom]:
    """A room in `folder` with a checkout of `commit`. Leaving the block removes it, and what killed processes left.

    Raises:
        GitError: there is no such commit, or it cannot be written.
    """
    make_private_folder(folder)
    await asyncio.to_thread(remove_abandoned, folder)
    name, lock = _claim_name(folder)
    try:
        room = make_room(os.path.join(folder, name))
        await check_out(repo, commit, room)
        yield room
    finally:
        await asyncio.shield(asyncio.to_thread(_remove_room, folder, name))
        os.close(lock)


def _claim_name(folder: str) -> tuple[str, int]:
    """A new name for a room, and its lock, which we hold."""
    while True:
        name = f"room-{secrets.token_hex(6)}"
        path = os.path.join(folder, name + LOCK_SUFFIX)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            # Another process may have taken the file for abandoned before we had its lock.
            is_ours = try_lock(lock) and os.path.exists(path)
        except OSError:  # a file system without locks: there nothing is ever taken for abandoned
            is_ours = True
        if is_ours:
            return name, lock
        os.close(lock)


def make_room(path: str) -> CheckRoom:
    """The empty folders of a room."""
    temporary = os.path.join(tempfile.gettempdir(), f"{_TEMPORARY_PREFIX}{secrets.token_hex(8)}")
    tree, home, outside = (os.path.join(path, name) for name in ("tree", "home", "outside"))
    room = CheckRoom(tree, home, outside, temporary)
    for one in (path, room.tree, room.home, room.outside, room.temporary):
        make_private_folder(one)
    with open(os.path.join(path, "temporary"), "w", encoding="utf-8") as file:
        file.write(temporary)
    return room


async def check_out(repo: str, commit: str, room: CheckRoom) -> None:
    """Makes the repository of a room, and checks out a commit of `repo`.

    Raises:
        GitError: there is no such commit, or it cannot be written.
    """
    source = Git(repo)
    found = await source.run("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    if found.code:
        raise GitError(f"no such commit: {commit}", hint="name a commit or a branch of this repository")
    common = (await source.ask("rev-parse", "--path-format=absolute", "--git-common-dir")).line
    kind = (await source.ask("rev-parse", "--show-object-format")).line
    git = room.git
    await git.ask("init", "--quiet", "--template=", f"--object-format={kind}", "--initial-branch=check")
    own = os.path.join(room.tree, ".git")
    make_private_folder(os.path.join(own, "objects", "info"))
    with open(
        os.path.join(own, "objects", "info", "alternates"), "w", encoding="utf-8", errors="surrogateescape"
    ) as file:
        file.write(os.path.join(common, "objects") + "\n")
    make_private_folder(os.path.join(own, "info"))
    with open(os.path.join(own, "info", "exclude"), "w", encoding="utf-8") as file:
        file.write(f"{OUR_FILES}\n")
    with suppress(FileNotFoundError):
        shutil.copyfile(os.path.join(common, "shallow"), os.path.join(own, "shallow"))
    await move_to(room, found.line)


async def move_to(room: CheckRoom, commit: str) -> None:
    """Checks out another commit in the repository of a room."""
    await room.git.ask("checkout", "--quiet", "--force", "--detach", commit, within=LONG_GIT_TIMEOUT_SECONDS)


def remove_abandoned(folder: str) -> None:
    """Removes the rooms that killed processes left."""
    for entry in os.listdir(folder):
        name = entry.removesuffix(LOCK_SUFFIX)
        if entry == name or not _NAME.fullmatch(name):
            continue
        with suppress(OSError):
            lock = os.open(os.path.join(folder, entry), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if try_lock(lock):
                    _remove_room(folder, name)
            finally:
                os.close(lock)


def _remove_room(folder: str, name: str) -> None:
    path = os.path.join(folder, name)
    remove_room(path)
    with suppress(FileNotFoundError):
        os.unlink(path + LOCK_SUFFIX)


def remove_room(path: str) -> None:
    """Removes a room with its folder for temporary files."""
    with suppress(OSError), open(os.path.join(path, "temporary"), encoding="utf-8") as file:
        _remove_temporary(file.read(4096))
    remove_tree(path)


def _remove_temporary(path: str) -> None:
    """Removes a folder for temporary files, if it is one of ours: by its name, its place and its owner."""
    parent, name = os.path.split(path)
    if not re.fullmatch(rf"{_TEMPORARY_PREFIX}\w+", name) or parent != tempfile.gettempdir():
        return
    with suppress(OSError):
        if os.lstat(path).st_uid == os.geteuid():
            remove_tree(path)


def remove_tree(path: str) -> None:
    """Removes a folder, also where a check has taken away its own right to do that. Links are not followed."""

    def unlock(_function: object, failed: str, _error: object) -> None:
        with suppress(OSError):
            os.chmod(os.path.dirname(failed), stat.S_IRWXU)
            if os.path.isdir(failed) and not os.path.islink(failed):
                os.chmod(failed, stat.S_IRWXU)
                shutil.rmtree(failed, ignore_errors=True)
            else:
                os.unlink(failed)

    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, onerror=unlock)
        shutil.rmtree(path, ignore_errors=True)
