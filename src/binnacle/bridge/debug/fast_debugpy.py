"""Runs debugpy's adapter without the 40 ms that each of its answers takes by default.

What runs in the program answers in two small writes on a socket that holds the second back until the first is
acknowledged, and acknowledgements are delayed by 40 ms (https://github.com/microsoft/debugpy/issues/2054). The
adapter is ours, so it acknowledges at once. To be dropped when debugpy sets TCP_NODELAY in the program.

Run as a script, by any Python that has debugpy; it imports nothing of this package.
"""

import contextlib
import socket
import sys
from typing import Any


class Stream:
    """A socket, read and written as debugpy expects of a file.

    Not a buffered file of Python: closing one waits for the lock that its reader holds while it waits for data.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = b""

    def _receive(self) -> bytes:
        # The system forgets this setting with every delay it has reason for, so it is renewed each time.
        with contextlib.suppress(OSError, AttributeError):
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return self._sock.recv(65536)

    def readline(self) -> bytes:
        while (end := self._buffer.find(b"\n") + 1) == 0:
            if not (data := self._receive()):
                end = len(self._buffer)
                break
            self._buffer += data
        line, self._buffer = self._buffer[:end], self._buffer[end:]
        return line

    def read(self, size: int) -> bytes:
        if not self._buffer:
            self._buffer = self._receive()
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def write(self, data: bytes) -> int:
        return self._sock.send(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """The socket is closed by the stream's owner."""


def from_socket(cls: Any, sock: socket.socket, name: "str | None" = None) -> Any:
    """Takes the place of debugpy's way to make a stream of messages from a socket."""
    sock.settimeout(None)
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def clean_up() -> None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        sock.close()

    stream = Stream(sock)
    return cls(stream, stream, name or repr(sock), clean_up)


def main() -> None:
    # The directory of this file was put first, and its modules are nobody's business here.
    del sys.path[0]
    import os
    import runpy

    # A program that ends before it has called back is waited for; a minute, unless told otherwise.
    os.environ.setdefault("DEBUGPY_PROCESS_SPAWN_TIMEOUT", "20")

    from debugpy.common import messaging

    messaging.JsonIOStream.from_socket = classmethod(from_socket)  # type: ignore[method-assign,assignment]
    sys.argv = ["debugpy.adapter"]
    runpy.run_module("debugpy.adapter", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
