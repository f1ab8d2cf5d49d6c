"""Differences between two commits as git writes them: files to fold away, and where a line of one is in the other."""

import re
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from binnacle.work.gaming import classify_path
from binnacle.work.review_policy import matches_path

MAX_SHOWN_FILE_LINES = 600
"""Changed lines of a file that are shown without being asked for."""

MAX_SHOWN_LINES = 20_000
"""Changed lines of all files that are shown at once."""

MAX_FILE_BYTES = 1 << 20
"""Larger files are not compared line by line."""

MAX_LINE_CHARACTERS = 2000
"""Characters of a line that are shown; longer ones are of generated files, and nobody reads them."""

_GENERATED = (
    *("**/*.min.js", "**/*.min.css", "**/*.map", "**/*.pb.go", "**/*_pb2.py", "**/*_pb2.pyi", "**/*.g.dart"),
    *("**/__snapshots__", "**/*.snap", "**/dist", "**/vendor", "**/third_party", "**/node_modules"),
)
"""Files that programs write. A mark within a file does not count: who made the change can write one."""

_LINK, _EXECUTABLE, _REPOSITORY = "120000", "100755", "160000"
_MODES = {_LINK: "a link", _EXECUTABLE: "executable", _REPOSITORY: "another repository"}

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class FileDiff(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a change does to one file."""

    path: str
    added: int = 0
    removed: int = 0
    status: str = "changed"
    """`added`, `removed`, `renamed`, `changed`, or `binary`."""

    before: str = ""
    """What a renamed file was called."""

    note: str = ""
    """What else is different about it: it is a link now, or can be executed."""

    folded: str = ""
    """Why its text is left out; empty if it is there."""

    text: str = ""
    """The hunks, as git writes them."""


DiffLineKind = Literal["hunk", "same", "added", "removed", "note"]
"""A `note` is what git says about the file's end."""


class DiffLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a difference."""

    kind: DiffLineKind
    old: int = 0
    """Its number in the old file; 0 if it is not there."""

    new: int = 0
    text: str
    cut: int = 0
    """Characters of a very long line that are left out."""


class Hunk(NamedTuple):
    """Lines that were replaced: where they were, and where the new ones are."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int


def find_fold(path: str, *, lines: int, size: int, is_asked: bool = False) -> str:
    """Why a file is folded away: it is generated or too long. Empty if it is shown. `is_asked` if a person wants it."""
    if size > MAX_FILE_BYTES:
        return f"{size:,} bytes"
    if is_asked:
        return ""
    if classify_path(path) == "lock" or matches_path(path, _GENERATED):
        return "generated"
    return f"{lines:,} changed lines" if lines > MAX_SHOWN_FILE_LINES else ""


def describe_modes(before: str, after: str) -> str:
    """What git's modes say about a file besides its content; empty if there is nothing to say."""
    if before == after or not after.strip("0"):
        return ""
    if not before.strip("0"):
        return _MODES.get(after, "")
    return f"now {_MODES[after]}" if after in _MODES else f"no longer {_MODES.get(before, 'what it was')}"


def is_within(path: str, chosen: Collection[str]) -> bool:
    """Whether a file is one of those that are chosen, or is in one of the folders."""
    return any(path == one or path.startswith(f"{one}/") for one in chosen)


def keep_hunks(section: str) -> str:
    """A file's part of a patch, from its first hunk on; lines before it repeat the name of the file."""
    start = 0 if section.startswith("@@ ") else section.find("\n@@ ") + 1
    return section[start:] if start or section.startswith("@@ ") else ""


def parse_hunks(patch: str) -> list[Hunk]:
    """The hunks of one file's patch without context (`-U0`)."""
    found = (_HUNK.match(line) for line in patch.splitlines())
    return [Hunk(int(one[1]), int(one[2] or 1), int(one[3]), int(one[4] or 1)) for one in found if one is not None]


def follow_line(hunks: Sequence[Hunk], line: int) -> int | None:
    """Where a line of the old file is in the new one; None if it was changed or is gone."""
    shift = 0
    for hunk in hunks:
        # A hunk that only adds names the line after which it adds.
        first = hunk.old_start if hunk.old_count else hunk.old_start + 1
        if line < first:
            break
        if line < first + hunk.old_count:
            return None
        shift += hunk.new_count - hunk.old_count
    return line + shift


def number_lines(hunks: str) -> str:
    """Hunks with the number of each line in the new file in front of it, so that a reader can name the line."""
    shown, number = [], 0
    for line in hunks.removesuffix("\n").split("\n"):
        if match := _HUNK.match(line):
            number = int(match[3])
            shown.append(line)
        elif line[:1] in ("+", " "):
            shown.append(f"{number:>6} {line}")
            number += 1
        else:
            shown.append(f"{'':>6} {line}")
    return "\n".join(shown)


def parse_lines(hunks: str) -> list[DiffLine]:
    """Hunks line by line, each with its numbers in both files."""
    found: list[DiffLine] = []
    old = new = 0
    for line in hunks.removesuffix("\n").split("\n") if hunks else ():
        mark, text = line[:1], line[1:]
        cut = max(0, len(text) - MAX_LINE_CHARACTERS)
        text = text[:MAX_LINE_CHARACTERS]
        if match := _HUNK.match(line):
            old, new = int(match[1]), int(match[3])
            found.append(
                DiffLine(kind="hunk", text=line[match.end() :].strip()[:MAX_LINE_CHARACTERS], old=old, new=new)
            )
        elif mark == "+":
            found.append(DiffLine(kind="added", new=new, text=text, cut=cut))
            new += 1
        elif mark == "-":
            found.append(DiffLine(kind="removed", old=old, text=text, cut=cut))
            old += 1
        elif mark == "\\":
            found.append(DiffLine(kind="note", text=text.strip()))
        else:
            found.append(DiffLine(kind="same", old=old, new=new, text=text, cut=cut))
            old, new = old + 1, new + 1
    return found
