"""Sessions of clients that start a server for every call, kept from one server to the next.

A file for each session, found by the client's process. Nothing secret is in it but a digest of the handle. What belongs
to a process that is gone is removed when it is met.
"""

import contextlib
import os

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_private_folder
from binnacle.lifecycle.process import Process, is_alive, is_here

MAX_FILES = 1000
"""Files looked at. Beyond that, sessions are not kept: something makes them faster than they go."""


class SavedSession(Struct, frozen=True, kw_only=True):
    """What the next server of a client goes on with."""

    id: str
    digest: str
    """Of the handle."""

    token: str = ""
    """Name of the token that its callers come with."""

    pid: int
    started: str
    """The client's process."""

    server_pid: int
    server_started: str
    home: str
    """Where that server was started: one that is started elsewhere is asked to work elsewhere."""

    cwd: str
    agent_id: str | None = None
    is_oriented: bool = False

    @property
    def file(self) -> str:
        return f"{self.pid}.{self.id}.{self.server_pid}.json"


class SavedSessions:
    """The sessions kept in one folder, of all clients of this person on this machine."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, session: SavedSession) -> None:
        """Best effort: a session that cannot be kept ends with its server."""
        with contextlib.suppress(OSError):
            make_private_folder(self._folder)
            if len(os.listdir(self._folder)) < MAX_FILES:
                write_atomically(os.path.join(self._folder, session.file), msgspec.json.encode(session))

    def find(self, client: Process, session_id: str, *, token: str) -> SavedSession | None:
        """A session of this client, whichever of its servers has it open."""
        return next((one for one in self._of(client) if (one.id, one.token) == (session_id, token)), None)

    def take(self, client: Process, server: Process, *, home: str, token: str) -> SavedSession | None:
        """The session that a server of this client left, started in the same place; it is `server`'s now.

        The newest if there are several. Of two servers that come at once only the one that removes the file has it.
        """
        for session in reversed(self._of(client)):
            is_left = (session.home, session.token) == (home, token)
            if not is_left or is_alive(session.server_pid, session.server_started):
                continue
            mine = msgspec.structs.replace(session, server_pid=server.pid, server_started=server.started)
            self.keep(mine)  # first, so that whoever looks for it by its handle always finds it
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

    def _of(self, client: Process) -> list[SavedSession]:
        """What is kept of a client, the oldest first."""
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
