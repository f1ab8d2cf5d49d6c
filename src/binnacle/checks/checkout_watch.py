"""Sees that the files of a commit are in a checkout as they are in the commit, and stay so while a check runs in it.

What passes has to be what is in the commit. A check that rewrites files, and somebody else who does it from outside,
make it something else. What a setup changed of them is put back before the check begins. From then on the system notes
every change of a file with the time of its change (`ctime`), which cannot be set; of a file that was touched, the
content is compared with the commit.

Contents are hashed here. Where a file is not as git stored it, git says what it would store: it writes some files in
another way than it stores them (line ends, large files).
"""

import asyncio
import os
import secrets
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import PurePosixPath
from typing import NamedTuple

from binnacle.checks.change_files import LINK_MODE
from binnacle.checks.clean_checkout import CheckRoom, move_to
from binnacle.checks.prepared_rooms import ChangeRoom
from binnacle.errors import GitError
from binnacle.git.command import LONG_GIT_TIMEOUT_SECONDS, Git

MAX_SHOWN = 3
_FILE_MODES = ("100644", "100755", LINK_MODE)


class _CommittedFile(NamedTuple):
    path: str
    blob: str
    is_link: bool


class CheckoutWatch:
    """The files of one commit in a checkout."""

    def __init__(self, room: CheckRoom, files: list[_CommittedFile]) -> None:
        self._room = room
        self._files = files
        self._seen: dict[str, tuple[int, ...]] = {}
        """What the system said about each file before the check ran."""

    async def begin(self) -> list[str]:
        """Watches from now on. The files that are not as they are in the commit."""
        self._seen = await asyncio.to_thread(self._look_at_all)
        return await self._find_others(self._files)

    async def list_changed(self) -> list[str]:
        """The files that were touched since, and are not as they are in the commit."""
        now = await asyncio.to_thread(self._look_at_all)
        return await self._find_others([one for one in self._files if now[one.path] != self._seen[one.path]])

    def _look_at_all(self) -> dict[str, tuple[int, ...]]:
        return {one.path: _look(self._room.tree, one.path) for one in self._files}

    async def _find_others(self, files: Iterable[_CommittedFile]) -> list[str]:
        found = await asyncio.to_thread(lambda: [one for one in files if _digest(self._room.tree, one) != one.blob])
        stored = await self._hash_as_git(found)
        return [one.path for one in found if stored.get(one.path) != one.blob]

    async def _hash_as_git(self, files: list[_CommittedFile]) -> dict[str, str]:
        """What git would store for files. Settings of the checkout do not count: a setup could have made them."""
        tree = self._room.tree
        paths = [one.path for one in files if "\n" not in one.path and not one.is_link and _is_file(tree, one.path)]
        if not paths:
            return {}
        place = os.path.join(self._room.outside, f"{secrets.token_hex(8)}.git")
        git, kind = self._room.git, "sha1" if len(files[0].blob) == 40 else "sha256"
        await git.ask("init", "--quiet", "--bare", "--template=", f"--object-format={kind}", place)
        hashed = await git.run(
            "hash-object", "--stdin-paths", given="\n".join(paths).encode(errors="surrogateescape"),
            variables={"GIT_DIR": place, "GIT_WORK_TREE": tree}, within=LONG_GIT_TIMEOUT_SECONDS,
        )  # fmt: skip
        return dict(zip(paths, hashed.line.split(), strict=False))


async def watch_checkout(
    repo: str, commit: str, room: CheckRoom, *, change: ChangeRoom | None = None, laid_over: Collection[str] = ()
) -> tuple[CheckoutWatch, list[str]]:
    """Begins to watch a prepared checkout. Also the files that are not as in the commit, and could not be put back.

    `change` laid other contents over the files `laid_over`, which are not watched. Git is asked in the person's
    repository: code under test may have changed that of the checkout.

    Raises:
        GitError: there is no such commit.
    """
    # A folder of theirs may have taken the place of a link.
    replaced = {*laid_over, *(str(folder) for path in laid_over for folder in PurePosixPath(path).parents)}
    listed = (await Git(repo, has_settings=False).ask("ls-tree", "-r", "-z", "--full-tree", commit)).names
    files = []
    for about, _, path in (entry.partition("\t") for entry in listed):
        mode, _, blob = about.split()
        if mode in _FILE_MODES and path not in replaced:
            files.append(_CommittedFile(path, blob, mode == LINK_MODE))
    watch = CheckoutWatch(room, files)
    others = await watch.begin()
    if others:  # changed by the setup, which has run in it
        with suppress(GitError):  # it may have changed the checkout's git as well; then they stay as they are
            await move_to(room, commit)
            if change is not None:
                await change(room)
        others = await watch.begin()
    return watch, others


def _look(tree: str, path: str) -> tuple[int, ...]:
    try:
        found = os.lstat(os.path.join(tree, path))
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _is_file(tree: str, path: str) -> bool:
    """Whether it is one itself, and no link to one."""
    place = os.path.join(tree, path)
    return os.path.isfile(place) and not os.path.islink(place)


def _digest(tree: str, file: _CommittedFile) -> str:
    """The id that git would give to the file as it is; empty if it is gone, or of another kind."""
    place = os.path.join(tree, file.path)
    try:
        if file.is_link != os.path.islink(place):
            return ""
        if file.is_link:
            content = os.fsencode(os.readlink(place))
        else:
            with open(place, "rb") as opened:
                content = opened.read()
    except OSError:
        return ""
    from hashlib import new as new_hash

    kind = "sha1" if len(file.blob) == 40 else "sha256"
    return new_hash(kind, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def describe_changed(paths: list[str], when: str) -> str:
    """Why a check does not count in which files of the commit were changed."""
    more = f" and {len(paths) - MAX_SHOWN} more" if len(paths) > MAX_SHOWN else ""
    return f"files of the commit were changed {when}: {', '.join(paths[:MAX_SHOWN])}{more}"
