"""Ignored files in a worker's tree that nobody could get back: git neither stores them nor minds removing them.

What builds and tools make again at any time may go with a tree, and so may a copy of a file that the person has in the
same place, such as an `.env` that a hook copied. Anything else somebody may have written, so it stays.
"""

import filecmp
import os
from collections.abc import Iterable, Iterator

from binnacle.git.command import LONG_GIT_TIMEOUT_SECONDS, NEVER_COMMITTED, Git

REBUILT_FOLDERS = frozenset(
    {
        *("__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", "htmlcov"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".cache"),
        *("node_modules", ".next", ".nuxt", ".turbo", ".parcel-cache", ".svelte-kit"),
        *("target", "build", "dist", "out", "obj", ".gradle", "coverage"),
    }
)
"""Folders whose content a build, a test or an installation makes again."""

REBUILT_SUFFIXES = (".pyc", ".pyo", ".o", ".obj", ".class", ".egg-info", ".tsbuildinfo")
REBUILT_FILES = frozenset({".coverage", ".DS_Store", ".eslintcache"})


async def find_precious(here: Git, *, home: str) -> list[str]:
    """The ignored files of a tree that would be lost with it. `home` is the tree of the person."""
    words = ("status", "--porcelain=v1", "-z", "--ignored=matching", "--untracked-files=all", "--no-renames")
    listed = (await here.ask(*words, within=LONG_GIT_TIMEOUT_SECONDS)).names
    ignored = (entry[3:] for entry in listed if entry.startswith("!! "))
    return sorted(name for name in _files(here.folder, ignored) if not _is_copy(name, here.folder, home))


def _files(tree: str, names: Iterable[str]) -> Iterator[str]:
    """The files with these names, or in the folders with these names, that nothing makes again."""
    for name in names:
        if _is_rebuilt(name) or name.partition("/")[0] in NEVER_COMMITTED:
            continue
        if not name.endswith("/"):
            yield name
        for folder, folders, files in os.walk(os.path.join(tree, name)) if name.endswith("/") else ():
            inside = os.path.relpath(folder, tree)
            folders[:] = [one for one in folders if not _is_rebuilt(one)]
            links = [one for one in folders if os.path.islink(os.path.join(folder, one))]
            yield from (os.path.join(inside, one) for one in (*files, *links) if not _is_rebuilt(one))


def _is_rebuilt(name: str) -> bool:
    parts = name.strip("/").split("/")
    return (
        not REBUILT_FOLDERS.isdisjoint(parts)
        or parts[-1] in REBUILT_FILES
        or any(part.endswith(REBUILT_SUFFIXES) for part in parts)
    )


def _is_copy(name: str, tree: str, home: str) -> bool:
    """Whether the person has the same file in the same place."""
    ours, theirs = os.path.join(tree, name), os.path.join(home, name)
    try:
        if os.path.islink(ours) or os.path.islink(theirs):
            return os.readlink(ours) == os.readlink(theirs)
        return os.path.isfile(theirs) and filecmp.cmp(ours, theirs, shallow=False)
    except OSError:
        return False
