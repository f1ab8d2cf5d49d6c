"""Who called what, how long it took, how big the answer was and what came of it: a line of JSON for every call."""

import contextlib
import os
from datetime import UTC, datetime
from typing import Any

import msgspec

LIMIT = 16 << 20
"""Bytes of the file, beyond which it is put aside; the one put aside before goes."""


class Audit:
    """Appends lines to a file. A line is one write, so that it is whole or not there, whoever else writes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._size = 0

    def write(self, **line: Any) -> None:
        """Appends a line. What cannot be written is not worth failing a call for."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        with contextlib.suppress(OSError):
            if self._descriptor is None or self._size > LIMIT:
                self._begin()
            assert self._descriptor is not None
            self._size += os.write(self._descriptor, msgspec.json.encode({"at": moment, **line}) + b"\n")

    def _begin(self) -> None:
        self.close()
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            if os.path.getsize(self._path) > LIMIT:
                os.replace(self._path, f"{self._path}.old")
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
