"""Replaces a file of a project or of a person: a reader sees the old file or the new one, never a part."""

import os

from binnacle.config import repository_files
from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import FILE_MODE, is_private_place, make_folder
from binnacle.errors import ConfigError


def replace_file(path: str, content: str, *, root: str | None = None) -> None:
    """Writes `content` to `path` so that a reader sees the old file or the new one, never a part.

    `root` is the repository, for a file of a project whose path does not show it.
    """
    try:
        if (top := root or repository_files.root_of(path)) is not None:
            repository_files.write_inside(top, os.path.abspath(path), content.encode())
        else:
            _replace_own(os.path.realpath(path), content.encode())
    except OSError as error:
        hint = repository_files.hint_of(error, "check permissions and free space")
        raise ConfigError(f"cannot write {path}: {error.strerror}", hint=hint) from error


def _replace_own(path: str, content: bytes) -> None:
    """Replaces a file of the person, following links."""
    make_folder(os.path.dirname(path))
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
    mode = FILE_MODE if is_private_place(path) else mode
    write_atomically(path, content, mode=mode, is_lasting=True)
