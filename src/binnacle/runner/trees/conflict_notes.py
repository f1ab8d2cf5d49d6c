"""Which files of a worker's tree are in conflict, noted in a file next to the tree for later runs."""

import os
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.git.command import Git

_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


class ConflictNote(Struct, frozen=True, kw_only=True):
    """A conflict that was begun in a tree."""

    ours: str
    """The commit of the tree before."""

    theirs: str
    """The commit that is merged into it."""

    names: tuple[str, ...]
    """The files, their bytes in hex: names of files need not be text."""

    @property
    def files(self) -> list[str]:
        return [os.fsdecode(bytes.fromhex(name)) for name in self.names]


async def find_unresolved(here: Git) -> list[str]:
    """The unresolved files of a conflict: with conflict markers in them, or without any and not staged."""
    note = read_note(here.folder)
    marked = [name for name in note.files if _has_marks(os.path.join(here.folder, name))] if note else []
    unmerged = (await here.ask("ls-files", "--unmerged", "-z")).names
    stages: dict[str, set[str]] = {}
    for about, _, name in (one.partition("\t") for one in unmerged):
        stages.setdefault(name, set()).add(about[-1])
    bare = [name for name, found in stages.items() if not _may_be_marked(os.path.join(here.folder, name), found)]
    marked += [name for name in stages if _has_marks(os.path.join(here.folder, name))]
    return sorted({*marked, *bare})


def write_note(tree: str, *, ours: str, theirs: str, files: Sequence[str]) -> None:
    """Notes a conflict that is begun in the tree at this path."""
    names = tuple(os.fsencode(name).hex() for name in files)
    note = ConflictNote(ours=ours, theirs=theirs, names=names)
    write_atomically(_note_path(tree), msgspec.json.encode(note), is_lasting=True)


def read_note(tree: str) -> ConflictNote | None:
    """The conflict that was begun in a tree; None if there was none."""
    with suppress(FileNotFoundError, msgspec.DecodeError), open(_note_path(tree), "rb") as file:
        return msgspec.json.decode(file.read(), type=ConflictNote)
    return None


def delete_note(tree: str) -> None:
    """Forgets the conflict of a tree."""
    with suppress(FileNotFoundError):
        os.unlink(_note_path(tree))


def _note_path(tree: str) -> str:
    return f"{tree}.conflict"


def readable_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names of files as text, whatever their bytes are."""
    return tuple(os.fsencode(name).decode(errors="replace") for name in names)


def _may_be_marked(path: str, stages: set[str]) -> bool:
    """Whether git puts conflict markers into this file, so that a file without them is resolved."""
    if not {"2", "3"} <= stages or os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return b"\0" not in file.read(8000)


def _has_marks(path: str) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        found = {mark for line in file for mark in _MARKERS if line.startswith(mark)}
        return len(found) == len(_MARKERS)
    return False
