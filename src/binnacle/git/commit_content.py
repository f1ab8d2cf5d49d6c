"""What is in commits: their trees, files and lines, and what differs between two of them. Nothing is changed.

File names and content come from whoever made the commit. No program that the repository's configuration names takes
part: no textconv, no external diff. Attributes that make git call a text binary are overruled.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from binnacle.errors import GitError
from binnacle.git.command import Git
from binnacle.work.diff import (
    MAX_FILE_BYTES,
    MAX_SHOWN_LINES,
    FileDiff,
    Hunk,
    describe_modes,
    find_fold,
    is_within,
    keep_hunks,
    parse_hunks,
)

MAX_CHANGED_FILES = 5000
MAX_DIFFED_FILES = 500
"""Files whose differences are read at once."""

_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--text", "--ignore-submodules=none")
_RENAMES = ("--find-renames=50%", "-l2000")
_MAIN_BRANCHES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")


class _Entry(NamedTuple):
    path: str
    status: str
    before: str
    """Id of the blob, of zeros if there is none."""

    after: str
    note: str
    was: str = ""
    """What it was called."""

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path, self.was) if self.was else (self.path,)


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
    ran = await _diff(git, before, after, "--patch", "--unified=0", "--no-renames", paths=[path])
    return parse_hunks(ran.decode(errors="replace"))


async def list_changed_paths(git: Git, before: str, after: str) -> list[str]:
    """The files that differ between two commits."""
    return [one.path for one in await _list_entries(git, before or await _find_empty_tree(git), after, "--no-renames")]


async def read_diff(
    git: Git,
    before: str,
    after: str,
    *,
    only: Collection[str] = (),
    within: Collection[str] | None = None,
    unfold: bool = False,
    has_text: bool = True,
) -> tuple[list[FileDiff], int]:
    """How files differ between two commits, and how many more there are. `before` may be empty: then all is new.

    `only` are the files and folders that somebody asks for, `within` the files that come into question. Generated and
    long files are folded, unless `unfold` is set or they are asked for by name. Without `has_text`, no file has its
    hunks, so that it is not known of any file that it is not text.
    """
    first = before or await _find_empty_tree(git)
    entries = [
        one
        for one in await _list_entries(git, first, after, *_RENAMES)
        if (not only or any(is_within(path, only) for path in one.paths))
        and (within is None or not set(one.paths).isdisjoint(within))
    ]
    shown = entries[:MAX_CHANGED_FILES]
    sizes = await _read_sizes(git, shown)
    small = [one for one in shown if sizes[one.path] <= MAX_FILE_BYTES]
    counts = await _count_lines(git, first, after, small, is_limited=bool(only))
    folds = _fold(shown, sizes, counts, only, unfold=unfold)
    wanted = [one for one in shown if has_text and not folds[one.path]]
    patches = await _read_patches(git, first, after, wanted)
    found = [_describe(one, counts.get(one.path, (0, 0)), folds[one.path], patches.get(one.path, "")) for one in shown]
    return found, len(entries) - len(shown)


async def read_file_hunks(git: Git, before: str, after: str, path: str, *, was: str = "", context: int = 3) -> str:
    """The hunks of one file, with some lines of `context`. `was` is what a renamed file was called.

    Raises:
        GitError: it is not text, or too large to be compared.
    """
    first = before or await _find_empty_tree(git)
    paths = [one for one in (path, was) if one]
    sizes = await _read_sizes(git, await _list_entries(git, first, after, *_RENAMES, paths=paths))
    if (size := max(sizes.values(), default=0)) > MAX_FILE_BYTES:
        raise GitError(f"it is too large to be compared line by line: {size:,} bytes", hint="look at it with git")
    ran = await _diff(git, first, after, "--patch", f"--unified={context}", *_RENAMES, paths=paths)
    patch = ran.decode(errors="replace")
    if "\0" in patch:
        raise GitError("it is not text", hint="look at it with a program for such files")
    parts = f"\n{patch}".split("\ndiff --git ")[1:]  # one that became a link, for instance, has two
    return "".join(keep_hunks(f"diff --git {part}") for part in parts)


async def _find_empty_tree(git: Git) -> str:
    return (await git.ask("hash-object", "-t", "tree", "--stdin", given=b"")).line


def _fold(
    entries: Sequence[_Entry],
    sizes: Mapping[str, int],
    counts: Mapping[str, tuple[int, int]],
    asked: Collection[str],
    *,
    unfold: bool,
) -> dict[str, str]:
    """Why each file is folded; empty for those that are shown."""
    folds: dict[str, str] = {}
    budget, texts = MAX_SHOWN_LINES, 0
    for one in entries:
        lines, is_named = sum(counts.get(one.path, (0, 0))), one.path in asked
        fold = find_fold(one.path, lines=lines, size=sizes[one.path], is_asked=unfold or is_named)
        if not fold and not is_named and (lines > budget or texts >= MAX_DIFFED_FILES):
            fold = f"{lines:,} changed lines"
        if not fold:
            budget, texts = budget - lines, texts + 1
        folds[one.path] = fold
    return folds


def _describe(entry: _Entry, counts: tuple[int, int], fold: str, patch: str) -> FileDiff:
    status = {"A": "added", "D": "removed", "R": "renamed"}.get(entry.status, "changed")
    if "\0" in patch:
        return FileDiff(path=entry.path, status="binary", before=entry.was, note=entry.note, folded="not text")
    return FileDiff(
        path=entry.path,
        status=status,
        before=entry.was,
        note=entry.note,
        added=counts[0],
        removed=counts[1],
        folded=fold,
        text=keep_hunks(patch),
    )


async def _list_entries(git: Git, before: str, after: str, *options: str, paths: Sequence[str] = ()) -> list[_Entry]:
    ran = await _diff(git, before, after, "--raw", "-z", "--no-abbrev", *options, paths=paths)
    names = iter(one for one in os.fsdecode(ran).split("\0") if one)
    found = []
    for about in names:
        old_mode, new_mode, old, new, status = about.lstrip(":").split(" ")
        path, was = next(names), ""
        if status[:1] in ("R", "C"):
            was, path = path, next(names)
        found.append(_Entry(path, status[:1], old, new, describe_modes(old_mode, new_mode), was))
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
    git: Git, before: str, after: str, entries: Sequence[_Entry], *, is_limited: bool
) -> dict[str, tuple[int, int]]:
    if not entries:
        return {}
    paths = [path for one in entries for path in one.paths] if is_limited else []
    ran = await _diff(git, before, after, "--numstat", "-z", *_RENAMES, paths=paths)
    wanted = {one.path for one in entries}
    found = {}
    names = iter(os.fsdecode(ran).split("\0"))
    for entry in names:
        if entry:
            added, removed, path = entry.split("\t", 2)
            if not path:  # renamed: the old name and the new one follow
                _, path = next(names), next(names)
            if path in wanted and added != "-":
                found[path] = (int(added), int(removed))
    return found


async def _read_patches(git: Git, before: str, after: str, entries: Sequence[_Entry]) -> dict[str, str]:
    """The patch of each file. Git quotes names with line ends, so a line that begins a file's part is one."""
    if not entries:
        return {}
    paths = [path for one in entries for path in one.paths]
    text = (await _diff(git, before, after, "--patch", *_RENAMES, paths=paths)).decode(errors="replace")
    parts = [f"diff --git {part}" for part in f"\n{text}".split("\ndiff --git ")[1:]]
    if len(parts) == len(entries) and await _is_paired_alike(git, before, after, entries, paths):
        return {one.path: part for one, part in zip(entries, parts, strict=True)}
    found = {}
    for one in entries:  # one that became a link, for instance, has two parts
        with suppress(GitError):
            ran = await _diff(git, before, after, "--patch", *_RENAMES, paths=one.paths)
            found[one.path] = ran.decode(errors="replace")
    return found


async def _is_paired_alike(git: Git, before: str, after: str, entries: Sequence[_Entry], paths: Sequence[str]) -> bool:
    """Whether git takes the same files for renamed when it sees these alone."""
    if not any(one.was for one in entries):
        return True
    found = await _list_entries(git, before, after, *_RENAMES, paths=paths)
    return [one.paths for one in found] == [one.paths for one in entries]


async def _diff(git: Git, before: str, after: str, *options: str, paths: Sequence[str]) -> bytes:
    literal = {"GIT_LITERAL_PATHSPECS": "1"}
    return (await git.ask("diff", *options, *_PLAIN, before, after, "--", *paths, variables=literal)).out
