"""The fork server, on the side of the `CommandRunner`: starts it, asks it for guards, notices when it is outdated."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Sequence

from binnacle.passthrough.call_process import wait_exit
from binnacle.passthrough.call_request import LENGTH_BYTES, CallRequest, from_frame
from binnacle.passthrough.command import PassthroughCommand
from binnacle.passthrough.forked_call import ForkedCall
from binnacle.passthrough.installed_files import Fingerprint, fingerprint, is_current, snapshot
from binnacle.processes.helper_process import start_helper

START_TIMEOUT_SECONDS = 20.0
"""Seconds to load the command. A new process would need as long."""

GUARD_TIMEOUT_SECONDS = 5.0
"""Seconds until a guard is ready. A fork takes a millisecond; a server that takes this long is stuck."""

STOP_TIMEOUT_SECONDS = 2.0
"""Seconds to end, and again after it is killed."""

BOOT_CODE = (
    "import sys; path, *argv = sys.argv[1:]; sys.path[:] = path.split('\\n'); "
    "from binnacle.passthrough.forked.server import main; main(argv)"
)
"""Finds modules where the parent does, which may differ from a new interpreter's path."""

CAN_FORK = hasattr(os, "fork") and sys.platform in ("linux", "darwin")


class ForkServerLost(Exception):
    """The fork server could not start, has died, or does not answer. Nothing of the request has run."""


class ForkServer:
    """A process that has the command loaded. Closing it ends the process; running calls continue without it."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket) -> None:
        self.pid = process.pid
        self._process = process
        self._connection = connection
        self._known: Fingerprint = {}
        """The files it has loaded, as they were installed then."""

        self._is_lost = False
        """Whether it has failed a request. It is not used again: it may be stopped, or out of memory."""

    @classmethod
    async def start(cls, command: PassthroughCommand, *, grace: float) -> "ForkServer":
        """A fork server that is ready.

        Raises:
            ForkServerLost: it could not be started; the message says why.
        """
        distribution = command.distribution or command.package
        before = snapshot(command.package, distribution)
        try:
            server = cls(*_spawn(command, grace=grace))
        except OSError as error:
            raise ForkServerLost(f"cannot start the fork server: {error}") from error
        try:
            loaded = await _loaded_files(server._connection)
        except BaseException:
            server._is_lost = True
            await server.aclose()
            raise
        server._known = fingerprint(before, distribution, loaded)
        return server

    def is_fresh(self) -> bool:
        """Whether it is alive and has loaded the current installation."""
        return not self._is_lost and self._process.poll() is None and is_current(self._known)

    async def launch(self, process: ForkedCall, request: CallRequest) -> None:
        """Begins a call.

        Raises:
            ForkServerLost: it gave no guard.
        """
        try:
            process.connect(self._hand_over)
            await process.wait_ready(patience=GUARD_TIMEOUT_SECONDS)
            await process.begin(request)
        except OSError as error:
            self._is_lost = True
            await process.aclose()
            raise ForkServerLost(f"cannot reach the fork server: {error}") from error
        except BaseException:
            await process.aclose()
            raise

    def _hand_over(self, descriptors: Sequence[int]) -> None:
        # Never waits: the socket has room for hundreds of requests, and there are only as many as calls at once.
        socket.send_fds(self._connection, [b"."], list(descriptors))

    async def aclose(self) -> None:
        """Ends the process by closing its socket, or kills it if that does not help or it was lost."""
        self._connection.close()
        try:
            await wait_exit(self._process, patience=0 if self._is_lost else STOP_TIMEOUT_SECONDS)
        finally:
            self._process.kill()
        await wait_exit(self._process, patience=STOP_TIMEOUT_SECONDS)


def _spawn(command: PassthroughCommand, *, grace: float) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A new process and the socket to it."""
    # Relative entries would lead into the repository of a call.
    path = "\n".join(entry for entry in sys.path if os.path.isabs(entry))
    start = (sys.executable, "-X", "utf8", "-c", BOOT_CODE, path)
    return start_helper(lambda end: [*start, str(end), str(grace), command.name, command.function, *command.preload])


async def _loaded_files(connection: socket.socket) -> list[str]:
    """The files that a new fork server reports as loaded."""
    try:
        async with asyncio.timeout(START_TIMEOUT_SECONDS):
            head = await _receive(connection, LENGTH_BYTES)
            word, *rest = from_frame(await _receive(connection, int.from_bytes(head, "big")))
    except TimeoutError as error:
        raise ForkServerLost(f"the fork server was not ready after {START_TIMEOUT_SECONDS:g} seconds") from error
    except OSError as error:
        raise ForkServerLost(f"the fork server ended while it started: {error}") from error
    if word != "ready":
        raise ForkServerLost(f"the fork server could not load the command: {' '.join(rest)}")
    return rest


async def _receive(connection: socket.socket, count: int) -> bytes:
    loop = asyncio.get_running_loop()
    parts = bytearray()
    while len(parts) < count:
        part = await loop.sock_recv(connection, count - len(parts))
        if not part:
            raise ConnectionResetError("no answer")
        parts += part
    return bytes(parts)
