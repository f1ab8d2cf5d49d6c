"""A way to a PostgreSQL server that is cut where it hurts: just before a commit arrives, or just before its answer."""

import contextlib
import os
import re
import select
import socket
import threading
from collections.abc import Iterator
from typing import Literal

QUERY = re.compile(rb"Q....commit\0", re.DOTALL)
PREPARATION = re.compile(rb"P....(\w*)\0commit\0", re.DOTALL)
"""The client prepares a statement that it has used a few times, and runs it by name from then on."""

Where = Literal["before the commit", "after the commit"]


class CutLine:
    """Passes connections on. Once `cut_at` is set, the next commit loses its connection there."""

    def __init__(self, listener: socket.socket, server: str) -> None:
        self._listener = listener
        self._server = server
        self.cut_at: Where | None = None

    def serve(self) -> None:
        """Until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        is_last = False
        prepared = b""
        with client, server, contextlib.suppress(OSError):
            server.connect(self._server)
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data or (is_last and source is server):
                        return
                    if source is client and (found := PREPARATION.match(data)):
                        prepared = b"\0%s\0" % found[1]
                    is_commit = QUERY.match(data) or (prepared and data[:1] == b"B" and prepared in data)
                    if source is client and is_commit and self.cut_at is not None:
                        is_last = self.cut_at == "after the commit"
                        self.cut_at = None
                        if not is_last:
                            return
                    (server if source is client else client).sendall(data)


@contextlib.contextmanager
def cut_line(folder: str, server: str) -> Iterator[CutLine]:
    """A line to the server whose socket is in the directory `server`, open in the directory `folder`."""
    name = ".s.PGSQL.5432"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.join(folder, name))
        listener.listen()
        line = CutLine(listener, os.path.join(server, name))
        threading.Thread(target=line.serve, daemon=True).start()
        try:
            yield line
        finally:
            listener.shutdown(socket.SHUT_RDWR)
