"""Records the events of adapters: a file for each session, bounded in size and number."""

import contextlib
import os
import time
from typing import Any

import msgspec

from binnacle.config.private_files import make_private_folder

MAX_RECORDING_BYTES = 4 << 20
"""Bytes of one recording. Later events are only counted."""

MAX_RECORDING_BYTES_WITH_END = MAX_RECORDING_BYTES + (64 << 10)
"""Bytes up to which the end of a session is still written: how it ended matters more than its output."""

KEPT_RECORDINGS = 20
"""Recordings of a workspace. Older ones are removed."""

MAX_TEXT_CHARACTERS = 4000
"""Characters of one text in a recording."""

UNRECORDED_EVENTS = ("module", "loadedSource", "debugpySockets", "debugpyWaitingForServer", "capabilities", "memory")
"""Events that are of no use later."""

END_EVENTS = ("exited", "terminated", "end", "stop")


class SessionRecorder:
    """Records one session. What cannot be written is lost: a recording is not worth an error."""

    def __init__(self, folder: str, about: dict[str, Any]) -> None:
        """Takes the next free number, which is the session's id."""
        self.id, self._descriptor = _create(folder)
        self._size = 0
        self.count = 0
        self._is_silent = False
        self.write("", "session", about)

    def write(self, target: str, kind: str, body: dict[str, Any]) -> None:
        if kind in UNRECORDED_EVENTS or (kind == "output" and body.get("category") == "telemetry"):
            return
        self.count += 1
        if (
            self._descriptor is None
            or (self._size > MAX_RECORDING_BYTES and kind not in END_EVENTS)
            or self._size > MAX_RECORDING_BYTES_WITH_END
        ):
            return
        entry = {"at": round(time.time(), 3), "target": target, "type": kind, "body": _cut(body)}
        with contextlib.suppress(OSError):
            self._size += os.write(self._descriptor, msgspec.json.encode(entry) + b"\n")

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def list_recordings(folder: str) -> list[int]:
    """All recordings, oldest first."""
    with contextlib.suppress(OSError):
        names = [name.removesuffix(".jsonl") for name in os.listdir(folder) if name.endswith(".jsonl")]
        return sorted(int(name) for name in names if name.isdecimal())
    return []


def read_recording(folder: str, number: int) -> list[dict[str, Any]]:
    """The entries of a recording. A line that a crash cut off is left out.

    Raises:
        FileNotFoundError: there is none.
    """
    entries = []
    with open(recording_path(folder, number), "rb") as file:
        for line in file:
            with contextlib.suppress(msgspec.DecodeError):
                entries.append(msgspec.json.decode(line))
    return entries


def recording_path(folder: str, number: int) -> str:
    return os.path.join(folder, f"{number}.jsonl")


def _create(folder: str) -> tuple[str, int | None]:
    """Creates a recording, and removes old ones. If nothing can be written, sessions are numbered by time."""
    try:
        make_private_folder(folder)
        found = list_recordings(folder)
        for old in found[: 1 - KEPT_RECORDINGS]:
            os.unlink(recording_path(folder, old))
        number = (found or [0])[-1] + 1
        while True:
            with contextlib.suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                return str(number), os.open(recording_path(folder, number), flags, 0o600)
            number += 1
    except OSError:
        return str(time.time_ns() // 1_000_000), None


def _cut(value: Any) -> Any:
    """A value with long texts cut."""
    if isinstance(value, str):
        return (
            value if len(value) <= MAX_TEXT_CHARACTERS else f"{value[:MAX_TEXT_CHARACTERS]}… ({len(value)} characters)"
        )
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_cut(one) for one in value[:100]]
    return value
