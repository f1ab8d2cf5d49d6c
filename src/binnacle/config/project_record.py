"""The few lines that say which project is where.

They are kept twice: in git's folder they say which project a repository is, in the
data directory they say which place the data belongs to. `config.identity` has the rules.
"""

import os
from typing import NamedTuple

from binnacle.config.private_files import FILE_MODE, is_private_place, make_folder

MAX_RECORD_BYTES = 16 << 10
"""A record is a handful of lines; more than this is something else."""


class ProjectRecord(NamedTuple):
    """Which project a repository is, or which place a store belongs to."""

    id: str
    """Name of the data directory."""

    place: str
    """The folder of the project when this was written."""

    kept: str = "git"
    """`git` if git's folder has the id, `path` if it follows from the path alone."""

    inode: str = ""
    """Number of the folder itself: tells it from another one at the same path."""

    origin: str = ""
    """Where the repository was cloned from, without user and password."""

    root: str = ""
    """The first commit, once it was asked for."""

    mark: str = ""
    """A random word that tells this repository from every other, made with the record."""


def read_record(path: str) -> ProjectRecord | None:
    """The record in the file; `None` if there is none, or none that makes sense."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_RECORD_BYTES)
    except OSError:
        return None
    fields: dict[str, str] = {}
    # The place comes last and reaches to the end: a path may have any byte in it, line feeds too.
    head, _, place = content.partition(b"\nplace ")
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        fields[os.fsdecode(name)] = os.fsdecode(value)
    known = {name: fields[name] for name in ProjectRecord._fields if name in fields}
    if not is_plain_name(known.get("id", "")) or not place.endswith(b"\n"):
        return None
    return ProjectRecord(**{**known, "place": os.fsdecode(place[:-1])})


def encode_record(record: ProjectRecord) -> bytes:
    """The record as it is kept."""
    lines = [f"{name} {value}" for name, value in record._asdict().items() if value and name != "place"]
    return os.fsencode("\n".join([*lines, f"place {record.place}\n"]))


def write_record(path: str, record: ProjectRecord) -> None:
    """Puts the record in the place of the one that is there.

    Raises:
        OSError: it cannot be written.
    """
    from binnacle.config.atomic_write import write_atomically

    make_folder(os.path.dirname(path))
    write_atomically(path, encode_record(record), mode=_mode(path))


def create_record(path: str, record: ProjectRecord) -> bool:
    """Writes the record if there is none yet; says whether there was none. Of several at once, one wins.

    Raises:
        OSError: it cannot be written.
    """
    from binnacle.config.atomic_write import write_atomically

    make_folder(os.path.dirname(path))
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        write_atomically(temporary, encode_record(record), mode=_mode(path))
        os.link(temporary, path)  # fails if it is there, and shows only a complete file
    except FileExistsError:
        return False
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)
    return True


def _mode(path: str) -> int:
    """In git's folder everybody who works in the repository reads it."""
    return FILE_MODE if is_private_place(path) else 0o644


def is_plain_name(text: str) -> bool:
    """Whether `text` can name a directory and nothing outside of the one it is in."""
    return bool(text) and not text.startswith(".") and all(c.isalnum() or c in "._-" for c in text)
