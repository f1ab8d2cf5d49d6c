"""The connections to one server: kept, used again, and closed when they were idle for a while.

As much of HTTP/1.1 as MCP needs, so that a call costs little more than its bytes. Proxies go over aiohttp instead.
"""

import asyncio
import functools
import socket
import ssl
from collections.abc import Mapping
from typing import Any

import aiohappyeyeballs
from yarl import URL

from binnacle.upstream.transports.address_policy import ANYWHERE, AddressNearness, AddressNotAllowed, allowed_addresses
from binnacle.upstream.transports.http_client_connection import HttpConnection, encode_request
from binnacle.upstream.transports.http_errors import (
    AddressForbidden,
    CertificateInvalid,
    ConnectTimedOut,
    HostNotFound,
    ServerUnreachable,
    TlsFailed,
)
from binnacle.upstream.transports.http_response import HttpResponse

KEEP_ALIVE_SECONDS = 3.0
"""Seconds an idle connection is kept. Many servers close theirs after five, and a request sent just then is lost."""

NEXT_ADDRESS_SECONDS = 0.25
"""Seconds after which the next address of a host is tried in parallel."""

Endpoint = tuple[str, str, int]
"""Scheme, host and port."""


CONNECT_FAILURES: tuple[tuple[type[OSError], type[ServerUnreachable]], ...] = (
    (TimeoutError, ConnectTimedOut),
    (AddressNotAllowed, AddressForbidden),
    (ssl.SSLCertVerificationError, CertificateInvalid),
    (ssl.SSLError, TlsFailed),
    (socket.gaierror, HostNotFound),
    (OSError, ServerUnreachable),
)
"""Our errors for failures to connect; the first match counts."""


class HttpConnections:
    """Connections to the origins of one server. Closing it closes all of them."""

    def __init__(self, *, connect_within: float, limit: AddressNearness = ANYWHERE) -> None:
        """`limit` is how near the resolved addresses may be."""
        self._connect_within = connect_within
        self._limit = limit
        self._open: set[HttpConnection] = set()
        self._free: dict[Endpoint, list[tuple[float, HttpConnection]]] = {}
        self._sweeping: asyncio.TimerHandle | None = None

    async def ask(self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> HttpResponse:
        """Sends a request, over a free connection or a new one.

        Raises:
            NoAnswer: there is no answer.
            ValueError: it cannot be sent.
        """
        message = encode_request(method, url, headers, body)
        place = (url.scheme, url.host or "", url.port or 0)
        connection = self._take_free(place) or await self._connect(place)
        return await connection.ask(method, url, message)

    def _take_free(self, place: Endpoint) -> HttpConnection | None:
        free = self._free.get(place)
        while free:
            _, connection = free.pop()
            if not connection.is_closing:
                return connection
        return None

    async def _connect(self, place: Endpoint) -> HttpConnection:
        try:
            async with asyncio.timeout(self._connect_within):
                made = await self._open_connection(*place)
        except OSError as error:
            raise next(kind for cause, kind in CONNECT_FAILURES if isinstance(error, cause))(error) from error
        self._open.add(made)
        return made

    async def _open_connection(self, scheme: str, host: str, port: int) -> HttpConnection:
        loop = asyncio.get_running_loop()
        tls = _tls() if scheme == "https" else None
        on_free = functools.partial(self._keep, (scheme, host, port))
        found = _literal(host, port) or await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found = allowed_addresses(found, self._limit)
        raw = await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS, interleave=1)
        try:
            _, made = await loop.create_connection(
                lambda: HttpConnection(on_free, self._drop), sock=raw, ssl=tls, server_hostname=host if tls else None
            )
        except BaseException:
            raw.close()
            raise
        return made

    def _keep(self, place: Endpoint, connection: HttpConnection) -> None:
        loop = asyncio.get_running_loop()
        self._free.setdefault(place, []).append((loop.time(), connection))
        if self._sweeping is None:
            self._sweeping = loop.call_later(KEEP_ALIVE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Closes connections that were free for too long."""
        loop = asyncio.get_running_loop()
        until = loop.time() - KEEP_ALIVE_SECONDS / 2
        for free in self._free.values():
            while free and free[0][0] < until:
                free.pop(0)[1].close()
        is_any = any(self._free.values())
        self._sweeping = loop.call_later(KEEP_ALIVE_SECONDS / 2, self._sweep) if is_any else None

    def _drop(self, connection: HttpConnection) -> None:
        self._open.discard(connection)
        for free in self._free.values():
            free[:] = [one for one in free if one[1] is not connection]

    def close(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in list(self._open):
            connection.close()


def _literal(host: str, port: int) -> list[Any]:
    """The address of a numeric host; empty for a name."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return []


@functools.lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
