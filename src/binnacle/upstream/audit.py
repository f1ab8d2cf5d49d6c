"""Who called what, how long it took, how big the answer was and what came of it: a line of JSON for every call."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from binnacle.upstream.rolling import RollingFile

LIMIT = 16 << 20
"""Bytes of the file, beyond which it is put aside; the one put aside before goes."""


class Audit:
    """Appends lines to a file."""

    def __init__(self, path: str) -> None:
        self._file = RollingFile(path, LIMIT)

    def write(self, **line: Any) -> None:
        """Appends a line."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._file.append(msgspec.json.encode({"at": moment, **line}) + b"\n")

    def close(self) -> None:
        self._file.close()
