"""What a setup made in a checkout: the files that git does not track, found, measured and compared.

Files of the repository are no part of it: they come from the commit that is checked. Nothing here follows a link.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from binnacle.checks.clean_checkout import remove_tree

_BLOCK_BYTES = 512
_COMPILED = "__pycache__"
"""Compiled files of the repository's own modules. They would be taken for those of another commit, whose sources may
have the same size and time."""


class FolderMeasure(NamedTuple):
    """A folder with everything in it."""

    digest: str
    """Of names, kinds, sizes and times. A program cannot set the time of a file's last change of status, so a file that
    was written since is seen."""

    size: int
    """Bytes on the disk."""


def measure_folder(path: str) -> FolderMeasure:
    """Measures a folder.

    Raises:
        OSError: it cannot be read.
    """
    from hashlib import sha256

    digest, size = sha256(), 0
    for name, about in _walk(path, ""):
        said = (about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
        digest.update(os.fsencode(name) + b"\0" + repr(said).encode())
        size += about.st_blocks * _BLOCK_BYTES
    return FolderMeasure(digest.hexdigest(), size)


def _walk(path: str, inside: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            about = entry.stat(follow_symlinks=False)
            yield inside + entry.name, about
            if stat.S_ISDIR(about.st_mode):
                yield from _walk(entry.path, f"{inside}{entry.name}/")


def note_files(tree: str, names: Iterable[str]) -> dict[str, tuple[int, ...] | None]:
    """What is known of files of a checkout, to see later whether they were changed."""
    found: dict[str, tuple[int, ...] | None] = {}
    for name in names:
        found[name] = None
        with suppress(OSError):
            about = os.lstat(os.path.join(tree, name))
            # Of a folder, which stands for a repository in this one, only that it is there.
            is_folder = stat.S_ISDIR(about.st_mode)
            found[name] = (about.st_mode,) if is_folder else (about.st_mode, about.st_size, about.st_ctime_ns)
    return found


def remove_tracked(tree: str, names: Sequence[str]) -> tuple[str, ...]:
    """Removes what git knows from a checkout. Returns what is left, by the folders and files at its top."""
    remove_tree(os.path.join(tree, ".git"))
    for name in (".git", *names):
        _remove_entry(os.path.join(tree, name))
    folders = _folders_of(names)
    for folder in sorted(folders, key=len, reverse=True):
        remove_tree(os.path.join(tree, folder, _COMPILED))
        with suppress(OSError):  # something is left in it
            os.rmdir(os.path.join(tree, folder))
    remove_tree(os.path.join(tree, _COMPILED))
    return tuple(_find_tops(tree, "", folders))


def _remove_entry(path: str) -> None:
    """Removes a file or a link; a folder, which stands for another repository, only if it is empty."""
    with suppress(FileNotFoundError, NotADirectoryError):
        if os.path.isdir(path) and not os.path.islink(path):
            with suppress(OSError):
                os.rmdir(path)
        else:
            os.unlink(path)


def _find_tops(path: str, inside: str, folders: set[str]) -> Iterator[str]:
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            name = inside + entry.name
            if name in folders and entry.is_dir(follow_symlinks=False):
                yield from _find_tops(entry.path, f"{name}/", folders)
            else:
                yield name


def is_in_the_way(tops: Sequence[str], names: Iterable[str]) -> bool:
    """Whether a commit has a file where a setup made one, in a folder that it made, or in place of such a folder."""
    made = {top.casefold() for top in tops}
    above = {folder.casefold() for folder in _folders_of(tops)}
    for name in names:
        path = name.casefold()
        if path in made or path in above or not made.isdisjoint(_parents(path)):
            return True
    return False


def _folders_of(names: Iterable[str]) -> set[str]:
    return {folder for name in names for folder in _parents(name)}


def _parents(name: str) -> Iterator[str]:
    at = name.rfind("/")
    while at > 0:
        yield name[:at]
        at = name.rfind("/", 0, at)
