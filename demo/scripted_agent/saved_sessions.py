"""What another process of this agent needs to load a session: a small file for each."""

import contextlib
import os
import re

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically

MAX_SAVED_SESSIONS = 100
"""Older ones are deleted."""


class Exchange(Struct, frozen=True):
    """A turn: what was asked and what was said."""

    prompt: str
    said: str


class SavedSession(Struct):
    """A session as it is saved."""

    folder: str
    name: str = ""
    """What the server calls us: who holds the tasks that we take."""

    exchanges: list[Exchange] = []


def state_folder() -> str:
    """Where sessions are saved, below XDG_STATE_HOME."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(home, "binnacle", "demo-agent")


def save(folder: str, session_id: str, saved: SavedSession) -> None:
    """Writes a session down."""
    os.makedirs(folder, exist_ok=True)
    write_atomically(_file(folder, session_id), msgspec.json.encode(saved))
    _forget(folder)


def _forget(folder: str) -> None:
    """Drops all but the newest sessions."""
    with os.scandir(folder) as entries, contextlib.suppress(FileNotFoundError):
        found = [(one.stat().st_mtime, one.path) for one in entries if one.name.startswith("demo-")]
        for _, path in sorted(found)[:-MAX_SAVED_SESSIONS]:
            os.unlink(path)


def load(folder: str, session_id: str) -> SavedSession | None:
    """A session that was saved."""
    if not re.fullmatch(r"demo-[0-9a-f]+", session_id):
        return None
    try:
        with open(_file(folder, session_id), "rb") as file:
            return msgspec.json.decode(file.read(), type=SavedSession)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _file(folder: str, session_id: str) -> str:
    return os.path.join(folder, f"{session_id}.json")
