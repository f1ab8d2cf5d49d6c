"""Which upstream tools a project used lately: they stay listed when not all of them fit."""

import contextlib
import os

import msgspec

from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_private_folder

MAX_KEPT_NAMES = 20


class RecentTools:
    """The names of the tools used last, kept in a file that all sessions of a project share.

    Best effort: read and write errors are ignored, and of two simultaneous writes one may be lost.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.names = _read(path)
        """The most recent first."""

        self._is_kept = True

    def note(self, name: str) -> None:
        """Notes that a tool was used. The file is written only if it lacks the tool."""
        if self.names[:1] == [name]:
            return
        is_new = name not in self.names
        self.names = [name, *(one for one in self.names if one != name)][:MAX_KEPT_NAMES]
        self._is_kept = False
        if is_new:
            self._save()

    def close(self) -> None:
        """Writes the file if it is out of date."""
        if not self._is_kept:
            self._save()

    def _save(self) -> None:
        self._is_kept = True
        merged = list(dict.fromkeys([*self.names, *_read(self._path)]))[:MAX_KEPT_NAMES]
        with contextlib.suppress(OSError):
            make_private_folder(os.path.dirname(self._path))
            write_atomically(self._path, msgspec.json.encode(merged))


def _read(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=list[str])[:MAX_KEPT_NAMES]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return []
