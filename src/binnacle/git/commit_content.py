"""What is in commits: their trees, files and lines, and what differs between two of them. Nothing is changed.

File names and content come from whoever made the commit. No program that the repository's configuration names takes
part: no textconv, no external diff. Attributes that make git call a text binary are overruled.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from binnacle.errors import GitError
from binnacle.git.command import Git
from binnacle.work.diff import (
    MAX_FILE_BYTES,
    MAX_SHOWN_LINES,
    FileDiff,
    Hunk,
    find_fold,
    keep_hunks,
    parse_hunks,
)

MAX_CHANGED_FILES = 5000
MAX_DIFFED_FILES = 500
"""Files whose differences are read at once."""

_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--text", "--ignore-submodules=none")
_MAIN_BRANCHES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")


class _Entry(NamedTuple):
    path: str
    status: str
    before: str
    """Id of the blob, of zeros if there is none."""

    after: str


async def find_commit(git: Git, revision: str) -> str:
    """The id of a commit; empty if there is none of that name."""
    found = await git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return found.line.splitlines()[-1] if found.code == 0 and found.line else ""


async def get_commit(git: Git, revision: str) -> str:
    """The id of a commit.

    Raises:
        GitError: there is none.
    """
    found = await find_commit(git, revision)
    if not found:
        raise GitError(f"no such commit: {revision[:100]}", hint="name a commit or a branch of this repository")
    return found


async def get_tree(git: Git, commit: str) -> str:
    """The id of a commit's tree."""
    return (await git.ask("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")).line


async def find_start(git: Git, commit: str) -> str:
    """Where a commit left the main branch, or, if it is on it, its parent; empty for the first commit."""
    for branch in _MAIN_BRANCHES:
        found = await git.run("merge-base", branch, commit)
        if found.code == 0 and found.line not in ("", commit):
            return found.line
    return await find_commit(git, f"{commit}^")


async def read_lines(git: Git, commit: str, path: str) -> list[str] | None:
    """The lines of a file in a commit; None if there is none, or it is too large."""
    name = f"{commit}:{path}"
    kind = await git.run("cat-file", "-t", name)
    size = await git.run("cat-file", "-s", name)
    if kind.line != "blob" or not size.line.isdecimal() or int(size.line) > MAX_FILE_BYTES:
        return None
    text = (await git.ask("cat-file", "blob", name)).out.decode(errors="replace")
    return text.replace("\r\n", "\n").split("\n")[: -1 if text.endswith("\n") else None]


async def read_hunks(git: Git, before: str, after: str, path: str) -> list[Hunk]:
    """How one file differs between two commits, without context."""
    ran = await _diff(git, before, after, "--patch", "--unified=0", paths=[path])
    return parse_hunks(ran.decode(errors="replace"))


async def list_changed_paths(git: Git, before: str, after: str) -> list[str]:
    """The files that differ between two commits."""
    return [one.path for one in await _list_entries(git, before, after)]


async def read_diff(
    git: Git, before: str, after: str, *, only: str = "", unfold: bool = False
) -> tuple[list[FileDiff], int]:
    """How files differ between two commits, and how many more there are. `before` may be empty: then all is new.

    Generated and long files are folded, unless `unfold` is set or the file is the one that is asked for.
    """
    first = before or (await git.ask("hash-object", "-t", "tree", "--stdin", given=b"")).line
    entries = [one for one in await _list_entries(git, first, after) if not only or one.path == only]
    shown = entries[:MAX_CHANGED_FILES]
    sizes = await _read_sizes(git, shown)
    counts = await _count_lines(git, first, after, [one for one in shown if sizes[one.path] <= MAX_FILE_BYTES], only)
    folds: dict[str, str] = {}
    budget, texts = MAX_SHOWN_LINES, 0
    for one in shown:
        lines = sum(counts.get(one.path, (0, 0)))
        fold = find_fold(one.path, lines=lines, size=sizes[one.path], is_asked=unfold or bool(only))
        if not fold and not only and (lines > budget or texts >= MAX_DIFFED_FILES):
            fold = f"{lines:,} changed lines"
        if not fold:
            budget, texts = budget - lines, texts + 1
        folds[one.path] = fold
    patches = await _read_patches(git, first, after, [one.path for one in shown if not folds[one.path]])
    found = [_describe(one, counts.get(one.path, (0, 0)), folds[one.path], patches.get(one.path, "")) for one in shown]
    return found, len(entries) - len(shown)


def _describe(entry: _Entry, counts: tuple[int, int], fold: str, patch: str) -> FileDiff:
    status = {"A": "added", "D": "removed"}.get(entry.status, "changed")
    if "\0" in patch:
        return FileDiff(path=entry.path, status="binary", folded="not text")
    return FileDiff(
        path=entry.path, status=status, added=counts[0], removed=counts[1], folded=fold, text=keep_hunks(patch)
    )


async def _list_entries(git: Git, before: str, after: str) -> list[_Entry]:
    names = (await git.ask("diff", "--raw", "-z", "--no-abbrev", *_PLAIN, before, after)).names
    found = []
    for about, path in zip(names[::2], names[1::2], strict=True):
        _, _, old, new, status = about.lstrip(":").split(" ")
        found.append(_Entry(path, status[:1], old, new))
    return found


async def _read_sizes(git: Git, entries: Sequence[_Entry]) -> Mapping[str, int]:
    """The size of the larger side of each file."""
    blobs = list(dict.fromkeys(blob for one in entries for blob in (one.before, one.after) if blob.strip("0")))
    known = {}
    if blobs:
        ran = await git.ask("cat-file", "--batch-check", given="\n".join(blobs).encode() + b"\n")
        for line in ran.out.decode(errors="replace").splitlines():
            blob, _, rest = line.partition(" ")
            kind, _, size = rest.partition(" ")
            known[blob] = int(size) if kind == "blob" and size.isdecimal() else 0
    return {one.path: max(known.get(one.before, 0), known.get(one.after, 0)) for one in entries}


async def _count_lines(
    git: Git, before: str, after: str, entries: Sequence[_Entry], only: str
) -> dict[str, tuple[int, int]]:
    ran = await _diff(git, before, after, "--numstat", "-z", paths=[only] if only else [])
    wanted = {one.path for one in entries}
    found = {}
    for entry in os.fsdecode(ran).split("\0"):
        if entry:
            added, removed, path = entry.split("\t", 2)
            if path in wanted and added != "-":
                found[path] = (int(added), int(removed))
    return found


async def _read_patches(git: Git, before: str, after: str, paths: Sequence[str]) -> dict[str, str]:
    """The patch of each file. Git quotes names with line ends, so a line that begins a file's part is one."""
    if not paths:
        return {}
    text = (await _diff(git, before, after, "--patch", paths=paths)).decode(errors="replace")
    parts = [f"diff --git {part}" for part in f"\n{text}".split("\ndiff --git ")[1:]]
    if len(parts) == len(paths):
        return dict(zip(paths, parts, strict=True))
    found = {}
    for path in paths:  # one that became a link, for instance, has two parts
        with suppress(GitError):
            found[path] = (await _diff(git, before, after, "--patch", paths=[path])).decode(errors="replace")
    return found


async def _diff(git: Git, before: str, after: str, *options: str, paths: Sequence[str]) -> bytes:
    literal = {"GIT_LITERAL_PATHSPECS": "1"}
    return (await git.ask("diff", *options, *_PLAIN, before, after, "--", *paths, variables=literal)).out
