"""Which files a tool call changes, and whether they are files of the working tree.

A policy that allows changes of files is about the work: what a person sees in a diff and can revert with git. A hook or
a setting in `.git` is neither, and git would run it with the next commit; nor is a file outside of the tree.
"""

import os
from collections.abc import Iterator
from typing import Any

PATH_KEYS = ("path", "file_path", "filePath", "filepath", "file", "target_file", "abs_path")
"""Names that the editing tools of agents give to the file."""

_TARGET_KEYS = ("destination", "dest", "new_path", "newPath", "target", "to")
"""Names that they give to where a file is moved."""

MAX_DEPTH = 3
"""Levels of an input in which files are looked for."""


def paths_in(given: Any, depth: int = 0) -> Iterator[str]:
    """The files that the input of a call names."""
    if isinstance(given, list) and depth < MAX_DEPTH:
        for one in given:
            yield from paths_in(one, depth + 1)
    if not isinstance(given, dict):
        return
    for key, value in given.items():
        if isinstance(value, str) and key in (*PATH_KEYS, *_TARGET_KEYS):
            yield value
        elif key == "changes" and isinstance(value, dict):
            yield from value
        elif depth < MAX_DEPTH:
            yield from paths_in(value, depth + 1)


def is_inside(path: Any, folder: str) -> bool:
    """Whether a path, with its links followed, is a folder or below it."""
    if not isinstance(path, str) or not folder or "\0" in path:
        return False
    top = os.path.realpath(folder)
    found = os.path.realpath(_absolute(path, top))
    return found == top or found.startswith(f"{top}{os.sep}")


def is_work(path: str, folder: str) -> bool:
    """Whether a path is a file of the working tree at `folder`, and none of git itself."""
    if not is_inside(path, folder):
        return False
    top = os.path.realpath(folder)
    found = os.path.relpath(os.path.realpath(_absolute(path, top)), top)
    return all(".git" not in name.casefold().split(os.sep) for name in (path, found))


def _absolute(path: str, top: str) -> str:
    return os.path.join(top, os.path.expanduser(path))
