"""What the agent keeps of a session, so that another process of it can go on: a small file for each."""

import contextlib
import os
import re

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically

SESSIONS = 100
"""Sessions that are kept."""


class Exchange(Struct, frozen=True):
    """A turn: what was asked and what was said."""

    prompt: str
    said: str


class Kept(Struct):
    """A session as it is kept."""

    folder: str
    name: str = ""
    """What the server calls us: who holds the tasks that we take."""

    exchanges: list[Exchange] = []


def state_folder() -> str:
    """Where sessions are kept: `BN_DEMO_STATE`, or a place below XDG_STATE_HOME."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.environ.get("BN_DEMO_STATE") or os.path.join(home, "binnacle", "demo-agent")


def keep(folder: str, session_id: str, kept: Kept) -> None:
    """Writes a session down."""
    os.makedirs(folder, exist_ok=True)
    write_atomically(_file(folder, session_id), msgspec.json.encode(kept))
    _forget(folder)


def _forget(folder: str) -> None:
    """Drops all but the newest sessions."""
    with os.scandir(folder) as entries, contextlib.suppress(FileNotFoundError):
        found = [(one.stat().st_mtime, one.path) for one in entries if one.name.startswith("demo-")]
        for _, path in sorted(found)[:-SESSIONS]:
            os.unlink(path)


def recall(folder: str, session_id: str) -> Kept | None:
    """A session that was kept."""
    if not re.fullmatch(r"demo-[0-9a-f]+", session_id):
        return None
    try:
        with open(_file(folder, session_id), "rb") as file:
            return msgspec.json.decode(file.read(), type=Kept)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _file(folder: str, session_id: str) -> str:
    return os.path.join(folder, f"{session_id}.json")
