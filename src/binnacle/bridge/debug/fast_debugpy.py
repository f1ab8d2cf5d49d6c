"""Runs debugpy's adapter without two of its waits.

What runs in the program answers in two small writes on a socket that holds the second back until the first is
acknowledged, and acknowledgements are delayed by 40 ms (https://github.com/microsoft/debugpy/issues/2054). The
adapter is ours, so it acknowledges at once. To be dropped when debugpy sets TCP_NODELAY in the program.

If a program ends before it has called back, debugpy's adapter waits for a minute and handles nothing else meanwhile. So
here it keeps handling messages, and the process that starts the program is watched.

It runs as a script, by any Python that has debugpy, and imports nothing of this package.
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
    """A socket with the file interface that debugpy expects.

    Not a buffered file of Python: closing one waits for the lock that its reader holds while it waits for data.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = b""

    def _receive(self) -> bytes:
        # The system may reset this option at any time, so it is set again each time.
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
        """Does nothing: nothing is buffered."""

    def close(self) -> None:
        """Does nothing: the stream's owner closes the socket."""


def from_socket(cls: Any, sock: socket.socket, name: "str | None" = None) -> Any:
    """Replaces debugpy's function that makes a message stream from a socket."""
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
    """Notifies the client if the launcher ends before the program was released: then it never will be."""
    code = process.wait()
    client = session.client
    if client and not client.has_started:
        with contextlib.suppress(Exception):
            client.channel.send_event("exited", {"exitCode": code & 0xFF})
            client.channel.send_event("terminated")


def listen_while_waiting(servers: Any) -> None:
    """Replaces debugpy's way to wait for a program, which blocks all other messages."""
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
    """Watches every launcher that debugpy's adapter starts."""
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
    # Python puts the directory of this file first; its modules must not be imported.
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
