"""The lines of one file of a change, and where comments on other commits belong in it.

Names of files need not be UTF-8. They are shown with what is not escaped, and found again by what was shown.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from binnacle.errors import GitError, InvalidInput
from binnacle.git.command import Git
from binnacle.git.commit_content import find_commit, list_changed_paths, read_file_hunks, read_hunks
from binnacle.work.diff import DiffLine, follow_line, parse_lines
from binnacle.work.review import ReviewRemark, is_followed

MAX_FOLLOWED_PLACES = 100
"""Files at commits whose comments are followed."""

MAX_CONTEXT_LINES = 10_000

_COMMIT = re.compile(r"[0-9a-f]{40,64}")


class FileLines(NamedTuple):
    """A part of how one file differs."""

    lines: Sequence[DiffLine]
    total: int
    problem: str = ""
    """Why there is nothing to see."""


async def read_file_lines(
    repo: str,
    *,
    before: str,
    commit: str,
    path: str,
    was: str = "",
    context: int = 3,
    offset: int = 0,
    limit: int,
) -> FileLines:
    """Some lines of how a file differs between two commits. `before` may be empty: then all of it is new.

    Raises:
        InvalidInput: something that is no id of a commit.
    """
    for one in (commit, *([before] if before else [])):
        if not _COMMIT.fullmatch(one):
            raise InvalidInput(f"not the id of a commit: {one[:60]!r}", hint="give all its characters")
    git = Git(repo)
    try:
        name, old = await _find_names(git, before, commit, path, was)
        around = min(max(0, context), MAX_CONTEXT_LINES)
        hunks = await read_file_hunks(git, before, commit, name, was=old, context=around)
    except GitError as error:
        return FileLines((), 0, error.message)
    lines = parse_lines(hunks)
    return FileLines(lines[offset : offset + limit], len(lines))


def show_name(path: str) -> str:
    """The name of a file with what is not UTF-8 in it escaped."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


async def _find_names(git: Git, before: str, commit: str, path: str, was: str) -> tuple[str, str]:
    """The names of files that are shown like this."""
    if "\\" not in path + was:
        return path, was
    known = {show_name(one): one for one in await list_changed_paths(git, before, commit)}
    return known.get(path, path), known.get(was, was)


async def place_remarks(repo: str, remarks: Sequence[ReviewRemark], commit: str) -> Mapping[str, int]:
    """The lines of a commit that comments belong to, by the ids of the comments. Those whose line is gone are left out.

    A comment on the file itself is at line 0.
    """
    git = Git(repo)
    here = {one.id: one.line for one in remarks if one.path and one.commit_id == commit}
    others = [one for one in remarks if one.commit_id != commit and is_followed(one)]
    files = list(dict.fromkeys((one.commit_id, one.path) for one in others))[:MAX_FOLLOWED_PLACES]
    for known, path in files:
        if not await find_commit(git, known):
            continue
        hunks = await read_hunks(git, known, commit, path)
        for one in others:
            if (one.commit_id, one.path) == (known, path):
                line = follow_line(hunks, one.line) if one.line else 0
                here.update({one.id: line} if line is not None else {})
    return here
