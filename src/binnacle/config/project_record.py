"""The record of which project is where.

It exists twice: in git's folder it says which project a repository is, in the data
directory it says which place the data belongs to. `config.identity` has the rules.
"""

import os
from typing import NamedTuple

from binnacle.config.private_files import FILE_MODE, is_private_place, make_folder

MAX_RECORD_BYTES = 16 << 10
"""A record has a few lines; a larger file is something else."""


class ProjectRecord(NamedTuple):
    """Which project a repository is, or which place a store belongs to."""

    id: str
    """Name of the data directory."""

    place: str
    """The folder of the project when this was written."""

    kept: str = "git"
    """`git` if git's folder has the id, `path` if it is derived from the path."""

    inode: str = ""
    """Inode of the folder, which distinguishes it from another one at the same path."""

    origin: str = ""
    """Where the repository was cloned from, without user and password."""

    root: str = ""
    """The first commit, once it is known."""

    mark: str = ""
    """A random word that identifies this repository, made with the record."""


def read_record(path: str) -> ProjectRecord | None:
    """The record in the file; None if there is no valid one."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_RECORD_BYTES)
    except OSError:
        return None
    fields: dict[str, str] = {}
    # The place comes last and extends to the end, because a path may contain any byte, even line feeds.
    head, _, place = content.partition(b"\nplace ")
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        fields[os.fsdecode(name)] = os.fsdecode(value)
    known = {name: fields[name] for name in ProjectRecord._fields if name in fields}
    if not is_plain_name(known.get("id", "")) or not place.endswith(b"\n"):
        return None
    return ProjectRecord(**{**known, "place": os.fsdecode(place[:-1])})


def encode_record(record: ProjectRecord) -> bytes:
    """The record as the bytes of its file."""
    lines = [f"{name} {value}" for name, value in record._asdict().items() if value and name != "place"]
    return os.fsencode("\n".join([*lines, f"place {record.place}\n"]))


def write_record(path: str, record: ProjectRecord) -> None:
    """Replaces the record in the file.

    Raises:
        OSError: it cannot be written.
    """
    from binnacle.config.atomic_write import write_atomically

    make_folder(os.path.dirname(path))
    write_atomically(path, encode_record(record), mode=_mode(path))


def create_record(path: str, record: ProjectRecord) -> bool:
    """Writes the record if there is none. Returns whether it was written; of several processes, one wins.

    Raises:
        OSError: it cannot be written.
    """
    from binnacle.config.atomic_write import write_atomically

    make_folder(os.path.dirname(path))
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        write_atomically(temporary, encode_record(record), mode=_mode(path))
        os.link(temporary, path)  # fails if it exists, and never shows an incomplete file
    except FileExistsError:
        return False
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)
    return True


def _mode(path: str) -> int:
    """The mode of a record. In git's folder, everyone who works in the repository may read it."""
    return FILE_MODE if is_private_place(path) else 0o644


def is_plain_name(text: str) -> bool:
    """Whether `text` is a safe name for a directory, which cannot lead outside of its parent."""
    return bool(text) and not text.startswith(".") and all(c.isalnum() or c in "._-" for c in text)
