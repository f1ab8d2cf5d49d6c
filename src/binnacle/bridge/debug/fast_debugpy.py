"""Runs debugpy's adapter without two of its waits.

What runs in the program answers in two small writes on a socket that holds the second back until the first is
acknowledged, and acknowledgements are delayed by 40 ms (https://github.com/microsoft/debugpy/issues/2054). The
adapter is ours, so it acknowledges at once. To be dropped when debugpy sets TCP_NODELAY in the program.

A program that ends before it has called back is waited for a minute, since the adapter listens to nobody meanwhile. So
it listens, and the process that starts the program is watched.

Run as a script, by any Python that has debugpy; it imports nothing of this package.
"""

import contextlib
import socket
import subprocess
import sys
import threading
import time
import types
from typing import Any


class SocketStream:
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

    stream = SocketStream(sock)
    return cls(stream, stream, name or repr(sock), clean_up)


def tell_of_end(session: Any, process: "subprocess.Popen[bytes]") -> None:
    """Tells the client if the launcher ends before the program was let go: then it never will be."""
    code = process.wait()
    client = session.client
    if client and not client.has_started:
        with contextlib.suppress(Exception):
            client.channel.send_event("exited", {"exitCode": code & 0xFF})
            client.channel.send_event("terminated")


def listen_while_waiting(servers: Any) -> None:
    """Takes the place of debugpy's way to wait for a program, which keeps everybody else from being heard."""
    find = servers.wait_for_connection

    def wait_for_connection(session: Any, predicate: Any, timeout: "float | None" = None) -> Any:
        started = time.monotonic()
        while (found := find(session, predicate, 0)) is None:
            launcher = session.launcher
            # One that is missing is false, and refuses every other question. Once it has left, the client knows
            # with which code the program ended.
            is_over = bool(launcher) and not launcher.is_connected
            if is_over or (timeout is not None and time.monotonic() - started >= timeout):
                break
            with session:
                session._changed_condition.wait(0.005)  # noqa: SLF001 - which unlocks the session
        return found

    servers.wait_for_connection = wait_for_connection


def watch(launchers: Any) -> None:
    """Has every launcher watched that debugpy's adapter starts."""
    spawn = launchers.spawn_debuggee

    def spawn_and_watch(session: Any, *args: Any, **options: Any) -> Any:
        def start(*words: Any, **rest: Any) -> "subprocess.Popen[bytes]":
            process: subprocess.Popen[bytes] = subprocess.Popen(*words, **rest)
            threading.Thread(target=tell_of_end, args=(session, process), daemon=True).start()
            return process

        launchers.subprocess = types.SimpleNamespace(Popen=start)
        return spawn(session, *args, **options)

    launchers.spawn_debuggee = spawn_and_watch


def main() -> None:
    # The directory of this file was put first, and its modules are nobody's business here.
    del sys.path[0]
    import runpy

    from debugpy.adapter import launchers, servers
    from debugpy.common import messaging

    messaging.JsonIOStream.from_socket = classmethod(from_socket)  # type: ignore[method-assign,assignment]
    watch(launchers)
    listen_while_waiting(servers)
    sys.argv = ["debugpy.adapter"]
    runpy.run_module("debugpy.adapter", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
