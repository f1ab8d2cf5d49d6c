"""One keeper's process, on the side of the `Keeper`.

    open         takes programs; messages go both ways
      │          `hang_up`: the process ends everything, still reports ends, and exits; or `kill`; or it died by itself
    closed       takes no programs; its remaining messages are still read
      │          its socket has ended
    cleaning up  its exit status is collected; if it was killed, `leftovers` ends what it had started
      │
    gone         the future `gone` is done, and nothing is left

Everything except cleaning up happens on the event loop, so no two steps run at the same time. Cleaning up waits in a
thread, each wait with a bound, and is never cancelled. Descriptors in the queue are copies of the caller's, and are
closed when they were sent or never will be.
"""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from binnacle.processes import keeper_process
from binnacle.processes.facts import LIBRARY_FOLDERS
from binnacle.processes.frames import FrameUnpacker, pack
from binnacle.processes.helper_process import start_helper
from binnacle.processes.leftovers import end_leftovers

STOP_TIMEOUT_SECONDS = 2.0
"""Seconds until a process that has hung up, or was killed, is gone."""

KEEPER_MAIN = os.path.join(os.path.dirname(keeper_process.__file__), "__main__.py")
"""What the process runs."""

OnMessage = Callable[[tuple[Any, ...]], None]
"""Called with every message of the keeper."""


class KeeperConnection:
    """A process and the socket to it. When either ends, so does the other, and everything it had started."""

    def __init__(self, hear: OnMessage) -> None:
        """Starts the process.

        Raises:
            OSError: it cannot be started.
        """
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._token = os.urandom(8).hex()
        self._process, self._connection = start_helper(
            lambda end: [sys.executable, "-I", "-S", KEEPER_MAIN, str(end), self._token, *LIBRARY_FOLDERS]
        )
        self.pid = self._process.pid
        self.leaders: dict[int, int] = {}
        """The programs it runs: process ids, and when they started."""

        self.is_open = True
        """Whether it takes programs."""

        self.gone: asyncio.Future[None] = self._loop.create_future()
        """Done when the process and everything it had started are gone."""

        self._unsent: deque[tuple[bytes, list[int]]] = deque()
        self._unpacker = FrameUnpacker()
        self._cleanup: asyncio.Task[None] | None = None
        self._loop.add_reader(self._connection.fileno(), self._read)

    def send(self, *message: object, descriptors: Sequence[int] = ()) -> None:
        """Queues a message. If the process is gone, `gone` shows it.

        Raises:
            OSError: a descriptor is not open, or there are too many. Nothing is sent then.
        """
        if not self.is_open:
            return
        self._unsent.append((pack(*message), _duplicate(descriptors)))
        if len(self._unsent) == 1:
            self._write()

    def hang_up(self) -> None:
        """Asks the process to end everything and itself. It reports ends until then."""
        if self.is_open:
            self.is_open = False
            self._forget_unsent()
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)

    def kill(self) -> None:
        """Kills a stuck process; then we end what it had started."""
        if self._cleanup is None:
            self._process.kill()
            self._begin_cleanup()

    def _write(self) -> None:
        try:
            while self._unsent:
                data, descriptors = self._unsent[0]
                sent = socket.send_fds(self._connection, [data], descriptors)
                # They travel with the first byte.
                _close(descriptors)
                self._unsent[0] = (data[sent:], [])
                if sent == len(data):
                    self._unsent.popleft()
        except BlockingIOError:
            self._loop.add_writer(self._connection.fileno(), self._write)
        except OSError:
            self._begin_cleanup()
        else:
            self._loop.remove_writer(self._connection.fileno())

    def _read(self) -> None:
        # To the last byte: uvloop reports only once that a process died with a request unread.
        while self._cleanup is None:
            try:
                data = self._connection.recv(64 * 1024)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            for message in self._unpacker.feed(data):
                self._hear(message)
            if not data:
                self._begin_cleanup()

    def _forget_unsent(self) -> None:
        self._loop.remove_writer(self._connection.fileno())
        for _, descriptors in self._unsent:
            _close(descriptors)
        self._unsent.clear()

    def _begin_cleanup(self) -> None:
        """Begins cleaning up after the process is gone."""
        if self._cleanup is None:
            self.is_open = False
            self._forget_unsent()
            self._loop.remove_reader(self._connection.fileno())
            self._connection.close()
            self._cleanup = self._loop.create_task(self._clean_up())

    async def _clean_up(self) -> None:
        try:
            await asyncio.to_thread(_collect, self._process)
            if self.leaders or self._process.returncode:
                await asyncio.to_thread(end_leftovers, self._token, self.leaders)
        finally:
            if not self.gone.done():
                self.gone.set_result(None)


def _collect(process: subprocess.Popen[bytes]) -> None:
    """Waits for the end of a process, which has hung up or was killed."""
    try:
        process.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT_SECONDS)


def _duplicate(descriptors: Sequence[int]) -> list[int]:
    copies: list[int] = []
    try:
        for descriptor in descriptors:
            copies.append(os.dup(descriptor))  # noqa: PERF401 - those made before a failure are to be closed
    except OSError:
        _close(copies)
        raise
    return copies


def _close(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())
