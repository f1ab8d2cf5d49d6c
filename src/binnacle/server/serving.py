"""Runs the HTTP face on a socket of its own until told to stop."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from binnacle.errors import InvalidInput
from binnacle.server.endpoints import Endpoints
from binnacle.server.http import HttpServer

STOP_WITHIN = 3
"""Seconds that requests under way get to finish when the server is told to stop."""

STOPPING = (signal.SIGTERM, signal.SIGINT)


class _Joined:
    """A transport that writes the head and the body of an answer as one: each write costs a quarter of a call."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._held:
            asyncio.get_running_loop().call_soon(self._flush)
        self._held += data

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, bytearray()
            self._transport.write(held)


class _Protocol(HttpToolsProtocol):
    def connection_made(self, transport: Any) -> None:
        super().connection_made(_Joined(transport))  # type: ignore[arg-type]


class _Server(uvicorn.Server):
    """uvicorn, which says when it accepts connections and ends its streams when it stops."""

    def __init__(
        self, config: uvicorn.Config, face: HttpServer | Endpoints, on_ready: Callable[[], None], stop_within: float
    ) -> None:
        super().__init__(config)
        self._face = face
        self._on_ready = on_ready
        self._stop_within = stop_within

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._face.close()
        cancelling = asyncio.get_running_loop().call_later(self._stop_within, self._face.cancel)
        await super().shutdown(sockets=sockets)
        cancelling.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stops at SIGTERM and SIGINT, and that is all: uvicorn would raise them again and so die of them."""
        loop = asyncio.get_running_loop()
        for number in STOPPING:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in STOPPING:
                loop.remove_signal_handler(number)


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on `host` and `port`; port 0 takes a free one.

    Raises:
        InvalidInput: the address cannot be had.
    """
    # Named as TCP and without delay: the second part of an answer would wait 40 ms for the first to be
    # acknowledged. Event loops see to it only for sockets that say they are TCP.
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
    face: HttpServer | Endpoints,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    stop_within: float = STOP_WITHIN,
) -> None:
    """Serves until SIGTERM or SIGINT. Leaving it closes the socket and every connection."""
    settings: dict[str, Any] = {
        "http": _Protocol,
        "interface": "asgi3",
        "lifespan": "off",
        "log_level": "warning",
        "access_log": False,
        "timeout_keep_alive": 75,
        "timeout_graceful_shutdown": stop_within + 1,
        "proxy_headers": False,
        "server_header": False,
        "ws": "none",
    }
    server = _Server(uvicorn.Config(face, **settings), face, on_ready, stop_within)
    try:
        await server.serve(sockets=[listener])
    except asyncio.CancelledError:
        face.close()
        raise
    finally:
        listener.close()
