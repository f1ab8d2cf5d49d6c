"""Which files of a worker's tree are in conflict, noted in a file next to the tree for later runs."""

import os
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from binnacle.config.atomic_write import write_atomically
from binnacle.runner.trees.git import Git
from binnacle.runner.trees.merge_results import WorkerTree

_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


async def find_unresolved(here: Git, tree: WorkerTree) -> list[str]:
    """The unresolved files of a conflict: with conflict markers in them, or without any and not staged."""
    marked = [name for name in files_in_conflict(tree) if _has_marks(os.path.join(tree.path, name))]
    unmerged = (await here.ask("ls-files", "--unmerged", "-z")).names
    stages: dict[str, set[str]] = {}
    for about, _, name in (one.partition("\t") for one in unmerged):
        stages.setdefault(name, set()).add(about[-1])
    bare = [name for name, found in stages.items() if not _may_be_marked(os.path.join(tree.path, name), found)]
    marked += [name for name in stages if _has_marks(os.path.join(tree.path, name))]
    return sorted({*marked, *bare})


def write_note(tree: WorkerTree, files: Sequence[str]) -> None:
    """Notes the files of a conflict that is begun in a tree."""
    write_atomically(_note_path(tree), msgspec.json.encode([os.fsencode(name).hex() for name in files]))


def files_in_conflict(tree: WorkerTree) -> list[str]:
    """The files of the conflict that was begun in a tree; none if there was no conflict."""
    with suppress(FileNotFoundError, msgspec.DecodeError, ValueError), open(_note_path(tree), "rb") as file:
        return [os.fsdecode(bytes.fromhex(name)) for name in msgspec.json.decode(file.read(), type=list[str])]
    return []


def delete_note(tree: WorkerTree) -> None:
    """Forgets the conflict of a tree."""
    with suppress(FileNotFoundError):
        os.unlink(_note_path(tree))


def _note_path(tree: WorkerTree) -> str:
    return f"{tree.path}.conflict"


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
