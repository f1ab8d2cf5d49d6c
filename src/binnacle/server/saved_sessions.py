"""Keeps sessions of clients that start a new server for every call.

Each session has a file, found by the client's process. The file contains no secret, only a digest of the handle. Files
of ended processes are removed when they are found.
"""

import contextlib
import os

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_private_folder
from binnacle.lifecycle.process import Process, is_alive, is_here

MAX_FILES = 1000
"""Files that are read. Beyond that, no session is saved: something creates them faster than they end."""


class SavedSession(Struct, frozen=True, kw_only=True):
    """What the next server of a client needs to continue a session."""

    id: str
    digest: str
    """Digest of the handle."""

    token: str = ""
    """Name of its callers' bearer token."""

    pid: int
    started: str
    """The client's process."""

    server_pid: int
    server_started: str
    home: str
    """Where that server was started: only a server started in the same place continues the session."""

    cwd: str
    agent_id: str | None = None
    is_oriented: bool = False

    @property
    def file(self) -> str:
        return f"{self.pid}.{self.id}.{self.server_pid}.json"


class SavedSessions:
    """The sessions saved in one folder, of all clients of this person on this machine."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, session: SavedSession) -> None:
        """Saves a session. Best effort: a session that cannot be saved ends with its server."""
        with contextlib.suppress(OSError):
            make_private_folder(self._folder)
            if len(os.listdir(self._folder)) < MAX_FILES:
                write_atomically(os.path.join(self._folder, session.file), msgspec.json.encode(session))

    def find(self, client: Process, session_id: str, *, token: str) -> SavedSession | None:
        """A session of this client, whichever of its servers has it open."""
        return next((one for one in self._list_for(client) if (one.id, one.token) == (session_id, token)), None)

    def take(self, client: Process, server: Process, *, home: str, token: str) -> SavedSession | None:
        """The newest session left by an ended server of this client that was started in `home`; `server` owns it now.

        If two servers try at once, the one that removes the file gets the session.
        """
        for session in reversed(self._list_for(client)):
            is_left = (session.home, session.token) == (home, token)
            if not is_left or is_alive(session.server_pid, session.server_started):
                continue
            mine = msgspec.structs.replace(session, server_pid=server.pid, server_started=server.started)
            self.keep(mine)  # first, so that a lookup by its handle always finds it
            try:
                os.unlink(os.path.join(self._folder, session.file))
            except OSError:
                self._remove(mine)
                continue
            return session
        return None

    def _remove(self, session: SavedSession) -> None:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self._folder, session.file))

    def _list_for(self, client: Process) -> list[SavedSession]:
        """The saved sessions of a client, the oldest first."""
        kept = []
        for name in self._names():
            path = os.path.join(self._folder, name)
            with contextlib.suppress(OSError, msgspec.DecodeError):
                with open(path, "rb") as file:
                    session = msgspec.json.decode(file.read(), type=SavedSession)
                if is_here(session.started) and not is_alive(session.pid, session.started):
                    os.unlink(path)
                elif (session.pid, session.started) == (client.pid, client.started):
                    kept.append((os.stat(path).st_mtime_ns, session))
        return [session for _, session in sorted(kept, key=lambda one: one[0])]

    def _names(self) -> list[str]:
        try:
            return os.listdir(self._folder)[:MAX_FILES]
        except OSError:
            return []
