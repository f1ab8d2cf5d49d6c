"""Runs the HTTP application on a listening socket until it is stopped."""

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import Callable, Iterator

from binnacle.errors import InvalidInput
from binnacle.server.http_connection import HttpApplication, ServedConnection

KEEP_ALIVE_SECONDS = 15.0
"""Seconds between two signs of life on a silent stream, so that no proxy closes it."""

STOP_TIMEOUT_SECONDS = 3
"""Seconds that requests in progress get to finish when the server stops."""

CANCEL_TIMEOUT_SECONDS = 1.0
"""Seconds that cancelled requests get to end."""

STOPPING = (signal.SIGTERM, signal.SIGINT)


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on `host` and `port`; port 0 takes a free one.

    Raises:
        InvalidInput: the address is not available.
    """
    # Without delay: the second part of an answer would wait 40 ms for the acknowledgement of the first.
    # Event loops set this only for sockets that are declared as TCP.
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InvalidInput(
            f"cannot listen on {host}:{port}: {error.strerror}", hint="choose another port, or 0 for a free one"
        ) from error
    return listener


async def serve_http(
    application: HttpApplication,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    stop: asyncio.Event | None = None,
    stop_within: float = STOP_TIMEOUT_SECONDS,
    keep_alive: float = KEEP_ALIVE_SECONDS,
) -> None:
    """Serves until `stop` is set, or, without `stop`, until SIGTERM or SIGINT.

    Returning closes the socket and every connection.
    """
    connections: set[ServedConnection] = set()
    stopping = stop or asyncio.Event()
    try:
        with contextlib.nullcontext() if stop else _handling_signals(stopping.set):
            server = await asyncio.get_running_loop().create_server(
                lambda: ServedConnection(application, connections), sock=listener
            )
            try:
                on_ready()
                await _look_after(connections, stopping, keep_alive)
            finally:
                server.close()
                application.close()
            await _stop(application, connections, stop_within)
    finally:
        for connection in connections:
            connection.abort()
        listener.close()


@contextlib.contextmanager
def _handling_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` on the signals that end a server."""
    loop = asyncio.get_running_loop()
    for number in STOPPING:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in STOPPING:
            loop.remove_signal_handler(number)


async def _look_after(connections: set[ServedConnection], stopping: asyncio.Event, keep_alive: float) -> None:
    """Checks the timeouts of every connection periodically until the server stops."""
    while not stopping.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(keep_alive / 4):
                await stopping.wait()
        now = time.monotonic()
        for connection in list(connections):
            connection.look(now, keep_alive)


async def _stop(application: HttpApplication, connections: set[ServedConnection], within: float) -> None:
    """Lets requests in progress finish, and cancels those that do not."""
    for connection in list(connections):
        connection.stop()
    await _wait_closed(connections, within)
    application.cancel()
    await _wait_closed(connections, CANCEL_TIMEOUT_SECONDS)


async def _wait_closed(connections: set[ServedConnection], within: float) -> None:
    if connections:
        await asyncio.wait({connection.closed for connection in connections}, timeout=within)
