"""A log file with a bound: when it is full it becomes `….old`, and the `.old` before is removed."""

import contextlib
import os

from binnacle.config.private_files import make_private_folder


class RollingFile:
    """Appends to a file that several processes may share. One append is written completely or not at all.

    What cannot be written is lost: no caller should fail because of a log.
    """

    def __init__(self, path: str, limit: int) -> None:
        """`limit` is how many bytes the file may have before it is renamed to `….old`."""
        self._path = path
        self._limit = limit
        self._descriptor: int | None = None
        self._size = 0

    def append(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            if self._descriptor is None or self._size > self._limit:
                self._begin()
            assert self._descriptor is not None
            self._size += os.write(self._descriptor, data)

    def _begin(self) -> None:
        self.close()
        make_private_folder(os.path.dirname(self._path))
        with contextlib.suppress(FileNotFoundError):
            if os.path.getsize(self._path) > self._limit:
                os.replace(self._path, f"{self._path}.old")
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def last_lines(path: str, number: int) -> list[str]:
    """The last lines of a rolling file, also of its `.old`."""
    lines: list[str] = []
    for one in (path, f"{path}.old"):
        with contextlib.suppress(FileNotFoundError), open(one, encoding="utf-8", errors="replace") as file:
            lines[:0] = file.read().split("\n")[:-1]
        if len(lines) >= number:
            break
    return lines[-number:] if number else []
