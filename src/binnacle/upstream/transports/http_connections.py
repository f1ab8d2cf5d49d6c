"""HTTP/1.1 to one server: connections that are kept and used again, and answers whose bodies are read as they come.

As much of it as MCP needs, so that a call costs little more than its bytes: a request is one write, and an answer
that comes in one piece wakes its caller once. Proxies are not for here.
"""

import asyncio
import functools
import socket
import ssl
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import aiohappyeyeballs
import httptools
from multidict import CIMultiDict
from yarl import URL

from binnacle.upstream.transports.address_policy import ANYWHERE, AddressNearness, AddressNotAllowed, allowed_addresses

MAX_HEAD_BYTES, MAX_HEADERS = 64 << 10, 200
"""Bytes of the head of an answer, and headers in it."""

MAX_BUFFERED_BYTES = 1 << 20
"""Bytes of a body that are taken before somebody reads them."""

UNPACKED_PIECE_BYTES = 256 << 10
"""Bytes that are unpacked at once: what is packed may be a thousand times as large."""

KEEP_ALIVE_SECONDS = 3.0
"""Seconds an idle connection is kept. Many servers close theirs after five, and what is sent just then is lost."""

NEXT_ADDRESS_SECONDS = 0.25
"""Seconds after which the next address of a host is tried beside the one before."""

PACKED_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})

Endpoint = tuple[str, str, int]
"""Scheme, host and port."""


class NoAnswer(Exception):
    """A request that has no answer, or only part of one."""


class ServerUnreachable(NoAnswer):
    """No connection could be made."""

    def __init__(self, os_error: OSError) -> None:
        super().__init__(os_error)
        self.os_error = os_error


class ConnectTimedOut(ServerUnreachable):
    """No connection was made in time."""


class HostNotFound(ServerUnreachable):
    """The host has no address."""


class AddressForbidden(ServerUnreachable):
    """The host leads where nobody may be led."""


class TlsFailed(ServerUnreachable):
    """TLS could not be agreed on."""


class CertificateInvalid(TlsFailed):
    """The certificate is not valid."""


class ProxyUnreachable(ServerUnreachable):
    """The proxy on the way could not be connected to."""


class ProxyRefused(NoAnswer):
    """The proxy on the way does not let us through."""


class ConnectionLost(NoAnswer):
    """The connection ended, for a reason of the system."""

    def __init__(self, os_error: OSError) -> None:
        super().__init__(os_error)
        self.os_error = os_error


class ConnectionClosed(NoAnswer):
    """The connection was closed before the answer began."""


class AnswerTruncated(NoAnswer):
    """The connection was closed in the middle of the answer."""


class NotHttp(NoAnswer):
    """What came back is no HTTP."""


CONNECT_FAILURES: tuple[tuple[type[OSError], type[ServerUnreachable]], ...] = (
    (TimeoutError, ConnectTimedOut),
    (AddressNotAllowed, AddressForbidden),
    (ssl.SSLCertVerificationError, CertificateInvalid),
    (ssl.SSLError, TlsFailed),
    (socket.gaierror, HostNotFound),
    (OSError, ServerUnreachable),
)
"""What becomes of what goes wrong while connecting; the first that fits."""


class HttpResponse:
    """An answer: its head, and its body as it comes."""

    def __init__(self, connection: "HttpConnection", method: str, url: URL) -> None:
        self.method = method
        self.url = url
        self.status = 0
        self.reason = ""
        self.headers: CIMultiDict[str] = CIMultiDict()
        self._connection = connection
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._is_whole = False
        self._error: NoAnswer | None = None
        self._news: asyncio.Future[None] | None = None

    @property
    def ok(self) -> bool:
        return self.status < 400

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "application/octet-stream").partition(";")[0].strip().lower()

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing else says where the body ends."""
        return "Content-Length" not in self.headers and "Transfer-Encoding" not in self.headers

    @property
    def content(self) -> "HttpResponse":
        """Itself: where its body is read."""
        return self

    def at_eof(self) -> bool:
        """Whether all of the body was read."""
        return self._is_whole and not self._parts

    async def iter_any(self) -> AsyncIterator[bytes]:
        """The body in the pieces it comes in, unpacked.

        Raises:
            NotAnswered: it breaks off.
        """
        is_packed = self.headers.get("Content-Encoding", "").strip().lower() in PACKED_ENCODINGS
        unpacker = zlib.decompressobj(wbits=47) if is_packed else None  # whichever of the two it is
        while (part := await self._next()) is not None:
            for piece in _unpacked(unpacker, part) if unpacker else (part,):
                yield piece

    async def _next(self) -> bytes | None:
        while not self._parts:
            if self._error is not None:
                raise self._error
            if self._is_whole:
                return None
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        part = self._parts.popleft()
        self._size -= len(part)
        if self._size < MAX_BUFFERED_BYTES:
            self._connection.pause(is_full=False)
        return part

    def feed(self, data: bytes) -> None:
        """Takes a part of the body."""
        self._parts.append(data)
        self._size += len(data)
        if self._size >= MAX_BUFFERED_BYTES:
            self._connection.pause(is_full=True)
        self._tell()

    def finish(self, error: NoAnswer | None = None) -> None:
        """The body is complete, or broke off."""
        self._is_whole, self._error = error is None, error
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def close(self) -> None:
        """Wants no more of it. A connection on which more was to come is closed."""
        if not self._is_whole:
            self._connection.close()


class HttpConnection(asyncio.Protocol):
    """One connection, with one request under way at most."""

    def __init__(
        self, on_free: "Callable[[HttpConnection], None]", on_lost: "Callable[[HttpConnection], None]"
    ) -> None:
        self._on_free = on_free
        self._on_lost = on_lost
        self._parser = httptools.HttpResponseParser(self)
        self._transport: Any = None
        self._response: HttpResponse | None = None
        self._begun: asyncio.Future[None] | None = None
        """Done when the head of the answer is there."""

        self._head_size = 0
        """Bytes that came without being part of a body."""

        self._headers_size = 0
        self._is_paused = False

    async def ask(self, method: str, url: URL, message: bytes) -> HttpResponse:
        """Sends a request. Returns when the head of its answer has come; the body is still to be read.

        Raises:
            NotAnswered: there is none.
        """
        self._response = response = HttpResponse(self, method, url)
        self._begun = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        try:
            await self._begun
        except BaseException:
            self.close()
            raise
        return response

    def pause(self, *, is_full: bool) -> None:
        """Takes no more from the server while nobody reads what there is."""
        if is_full != self._is_paused and not self._transport.is_closing():
            self._is_paused = is_full
            (self._transport.pause_reading if is_full else self._transport.resume_reading)()

    @property
    def is_closing(self) -> bool:
        return bool(self._transport.is_closing())

    def close(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost(self)
        response, begun = self._response, self._begun
        if response is None or begun is None:
            return
        if not begun.done():
            begun.set_exception(ConnectionClosed())
            begun.exception()  # seen, also where nobody waits any more
        elif exc is None and response.ends_with_connection:
            response.finish()
        else:
            response.finish(AnswerTruncated())

    def data_received(self, data: bytes) -> None:
        self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(NotHttp(str(error.__context__ or error)))
        else:
            if self._head_size > MAX_HEAD_BYTES:
                self._fail(NotHttp("its head has no end"))

    def _fail(self, error: NoAnswer) -> None:
        if self._begun is not None and not self._begun.done():
            self._begun.set_exception(error)
            self._begun.exception()
        elif self._response is not None:
            self._response.finish(error)
        self._response = None
        self.close()

    def on_message_begin(self) -> None:
        if self._response is None:
            raise NotHttp("it answers what was not asked")
        self._response.status, self._response.reason = 0, ""
        self._response.headers.clear()
        self._headers_size = 0

    def on_status(self, status: bytes) -> None:
        if self._response is not None:
            self._response.reason += status.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        assert self._response is not None
        self._headers_size += len(name) + len(value)
        if len(self._response.headers) >= MAX_HEADERS or self._headers_size > MAX_HEAD_BYTES:
            raise NotHttp("too many headers")
        self._response.headers.add(name.decode("latin-1"), value.decode("latin-1").strip())

    def on_headers_complete(self) -> None:
        self._head_size = 0
        status = self._parser.get_status_code()
        if status >= 200 and self._response is not None and self._begun is not None:
            self._response.status = status
            if not self._begun.done():
                self._begun.set_result(None)

    def on_body(self, body: bytes) -> None:
        self._head_size = 0
        if self._response is not None:
            self._response.feed(body)

    def on_message_complete(self) -> None:
        self._head_size = 0
        response = self._response
        if response is None or not response.status:  # only a word on the way
            return
        self._response = None
        response.finish()
        if self._parser.should_keep_alive():
            self.pause(is_full=False)
            self._on_free(self)
        else:
            self.close()


class HttpConnections:
    """Connections to the places of one server. Closing it closes all of them."""

    def __init__(self, *, connect_within: float, limit: AddressNearness = ANYWHERE) -> None:
        """`limit` is how near the addresses may be that the places resolve to."""
        self._connect_within = connect_within
        self._limit = limit
        self._open: set[HttpConnection] = set()
        self._free: dict[Endpoint, list[tuple[float, HttpConnection]]] = {}
        self._sweeping: asyncio.TimerHandle | None = None

    async def ask(self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> HttpResponse:
        """Sends a request, over a connection that is free or a new one.

        Raises:
            NotAnswered: there is no answer.
            ValueError: it cannot be sent.
        """
        message = encode_request(method, url, headers, body)
        place = (url.scheme, url.host or "", url.port or 0)
        connection = self._kept(place) or await self._connect(place)
        return await connection.ask(method, url, message)

    def _kept(self, place: Endpoint) -> HttpConnection | None:
        free = self._free.get(place)
        while free:
            _, connection = free.pop()
            if not connection.is_closing:
                return connection
        return None

    async def _connect(self, place: Endpoint) -> HttpConnection:
        try:
            async with asyncio.timeout(self._connect_within):
                made = await self._made(*place)
        except OSError as error:
            raise next(kind for cause, kind in CONNECT_FAILURES if isinstance(error, cause))(error) from error
        self._open.add(made)
        return made

    async def _made(self, scheme: str, host: str, port: int) -> HttpConnection:
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
        """Closes what was free for too long."""
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


def encode_request(method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """A request as it goes out.

    Raises:
        ValueError: a header would end before its time.
    """
    lines = [f"{method} {url.raw_path_qs} HTTP/1.1", f"Host: {url.host_port_subcomponent}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines)
    if head.count("\n") >= len(lines) or head.count("\r") >= len(lines) or "\0" in head:
        raise ValueError("a line break in a header")
    return f"{head}\r\n\r\n".encode() + (body or b"")


def _literal(host: str, port: int) -> list[Any]:
    """The address of a host that is given as one; nothing for a name."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return []


@functools.lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _unpacked(unpacker: Any, data: bytes) -> Iterator[bytes]:
    """What a packed part holds, in pieces."""
    while True:
        try:
            piece = unpacker.decompress(data, UNPACKED_PIECE_BYTES)
        except zlib.error as error:
            raise AnswerTruncated from error
        if piece:
            yield piece
        data = unpacker.unconsumed_tail
        if not data and len(piece) < UNPACKED_PIECE_BYTES:
            return
