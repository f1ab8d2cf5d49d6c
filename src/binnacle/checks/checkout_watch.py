"""Sees that the files of a commit stay in a checkout as they are while a check runs in it.

What passes has to be what is in the commit. A check that rewrites files, and somebody else who does it from outside,
make it something else. The system notes every change of a file with the time of its change (`ctime`), which cannot be
set; of a file that was touched, the content is compared with the commit.
"""

import os
from typing import NamedTuple

from binnacle.checks.change_files import LINK_MODE
from binnacle.git.command import Git

MAX_SHOWN = 3
_FILE_MODES = ("100644", "100755", LINK_MODE)


class _CommittedFile(NamedTuple):
    path: str
    blob: str
    seen: tuple[int, ...]
    """What the system said about it before the check ran."""


class CheckoutWatch:
    """The files of one commit in a checkout, from now on."""

    def __init__(self, tree: str, files: list[_CommittedFile]) -> None:
        self._tree = tree
        self._files = files

    def list_changed(self) -> list[str]:
        """The files that are not any more as they are in the commit."""
        touched = [one for one in self._files if _look(self._tree, one.path) != one.seen]
        return [one.path for one in touched if _digest(self._tree, one.path, one.blob) != one.blob]


async def watch_checkout(repo: str, commit: str, tree: str) -> CheckoutWatch:
    """Begins to watch. Git is asked in the person's repository: code under test may have changed that of the checkout.

    Raises:
        GitError: there is no such commit.
    """
    listed = (await Git(repo, has_settings=False).ask("ls-tree", "-r", "-z", commit)).names
    files = []
    for about, _, path in (entry.partition("\t") for entry in listed):
        mode, _, blob = about.split()
        if mode in _FILE_MODES:
            files.append(_CommittedFile(path, blob, _look(tree, path)))
    return CheckoutWatch(tree, files)


def _look(tree: str, path: str) -> tuple[int, ...]:
    try:
        found = os.lstat(os.path.join(tree, path))
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _digest(tree: str, path: str, blob: str) -> str:
    """The id that git would give to the file; empty if it is gone."""
    place = os.path.join(tree, path)
    try:
        if os.path.islink(place):
            content = os.fsencode(os.readlink(place))
        else:
            with open(place, "rb") as file:
                content = file.read()
    except OSError:
        return ""
    from hashlib import new as new_hash

    kind = "sha1" if len(blob) == 40 else "sha256"
    return new_hash(kind, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def describe_changed(paths: list[str]) -> str:
    """Why a pass does not count after files of the commit have changed."""
    more = f" and {len(paths) - MAX_SHOWN} more" if len(paths) > MAX_SHOWN else ""
    return f"files of the commit were changed while the check ran: {', '.join(paths[:MAX_SHOWN])}{more}"
