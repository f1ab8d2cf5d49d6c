"""The socket between a `CommandRunner` and one guard; `forked.guard` is the other side and lists the messages."""

import asyncio
import contextlib
import socket
from contextlib import ExitStack
from typing import Any


class GuardConnection:
    """The messages of a guard so far."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[bool] = self._loop.create_future()
        """Whether the guard is ready for a request."""

        self.ended: asyncio.Future[int | None] = self._loop.create_future()
        """The exit code of the call; None if the guard is gone without a report."""

        self.gone: asyncio.Future[None] = self._loop.create_future()
        """Done when the guard is gone, or will never start."""

        self.pid: int | None = None
        self.roots: dict[int, int] = {}
        """The process of the call and its start time, once it runs."""

        self._connection: socket.socket | None = None
        self._rest = b""

    def open(self, theirs: ExitStack) -> int:
        """Makes the socket. Returns the guard's end, which closes with `theirs`."""
        self._connection, other = socket.socketpair()
        theirs.enter_context(other)
        self._connection.setblocking(False)
        self._loop.add_reader(self._connection.fileno(), self._read, self._connection)
        return other.fileno()

    async def send(self, data: bytes) -> None:
        """Sends the guard its request. If the guard is gone, `ended` shows it."""
        if self._connection is not None:
            with contextlib.suppress(OSError):
                await self._loop.sock_sendall(self._connection, data)

    def end(self) -> None:
        """Asks the guard to end its call and itself. Then it hangs up."""
        if self._connection is None:
            self.close()
        else:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hangs up. A guard that still runs ends its call and itself."""
        if self._connection is not None:
            self._loop.remove_reader(self._connection.fileno())
            self._connection.close()
            self._connection = None
        _settle(self.ready, False)
        _settle(self.ended, None)
        _settle(self.gone, None)

    def _read(self, connection: socket.socket) -> None:
        # To the last byte: uvloop reports only once that a guard died with its request unread.
        while self._connection is connection:
            try:
                data = connection.recv(4096)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._hear(line)
            if not data:
                self.close()

    def _hear(self, line: bytes) -> None:
        match line.split():
            case [b"ready", guard]:
                self.pid = int(guard)
                _settle(self.ready, True)
            case [b"started", root, started]:
                self.roots[int(root)] = int(started)
            case [b"ended", code]:
                _settle(self.ended, int(code))


def _settle(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)
