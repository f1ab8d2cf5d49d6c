"""HTTP/1.1 as we serve it: requests are taken from a connection whole, and answered in their order.

Nothing here waits and nothing here is a task, so that a call costs little more than the bytes read and written for it.
"""

import asyncio
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import httptools

from binnacle.server.exchange import Exchange, Reply, status_line

if TYPE_CHECKING:
    from binnacle.lifecycle.processes import Process

_log = logging.getLogger(__name__)

HEAD_LIMIT = 64 << 10
"""Bytes of the line and the headers that a request begins with."""

IDLE = 75.0
"""Seconds that a connection without a request is kept, and that a request may take from one part to the next."""


class Face(Protocol):
    """What answers requests. The event loop calls it, so it does not wait."""

    def admit(self, exchange: Exchange) -> None:
        """Looks at a request before its body is read, and notes whose it is.

        Raises:
            Reply: what to answer instead.
        """

    def weigh(self, size: int) -> None:
        """Looks at the size of a body, as it was announced or as it comes in.

        Raises:
            Reply: it is too long.
        """

    def take(self, exchange: Exchange) -> None:
        """Answers a request, now or later."""

    def close(self) -> None:
        """Ends every stream of changes, so that the server can stop. Requests under way go on."""

    def cancel(self) -> None:
        """Stops every request under way."""


class _Waiting:
    """A request in the line of its connection."""

    __slots__ = ("exchange", "is_taken", "is_whole", "parts", "refusal", "size")

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.parts: list[bytes] = []
        self.size = 0
        self.refusal: Reply | None = None
        self.is_whole = False
        self.is_taken = False


class Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, face: Face, connections: "set[Connection]") -> None:
        """Is among `connections` while it is open."""
        self._face = face
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._transport: Any = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line: deque[_Waiting] = deque()
        """Requests in their order; the first is the one that is answered."""

        self._is_moving = False
        self._is_full = False
        """Whether the client has not read what it was sent."""

        self._is_paused = False
        self._is_stopping = False
        self._url = b""
        self._headers: dict[str, str] = {}
        self._head_size = 0
        """Bytes that came while no body was due."""

        self._heard_at = time.monotonic()
        self.client: Process | None = None
        self._is_client_known = False

    @property
    def unread(self) -> int:
        return int(self._transport.get_write_buffer_size())

    def find_client(self) -> "Process | None":
        """The process at the other end. Looked for once: it takes some milliseconds."""
        if not self._is_client_known:
            from binnacle.lifecycle.caller import is_host
            from binnacle.lifecycle.loopback import Address, find_peer

            peer, own = (self._transport.get_extra_info(name) for name in ("peername", "sockname"))
            likely = {one.client.pid for one in self._connections if one.client is not None}
            found = find_peer(Address(*peer[:2]), Address(*own[:2]), likely=likely) if peer and own else None
            self.client = None if found is not None and is_host(found) else found
            self._is_client_known = True
        return self.client

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def finish(self, *, is_last: bool) -> None:
        if is_last:
            self._transport.close()
        self._move()

    def stop(self) -> None:
        """Takes no more requests, and closes when those it has are answered."""
        self._is_stopping = True
        self._move()

    def abort(self) -> None:
        """Closes, whatever is under way."""
        self._transport.abort()

    def look(self, now: float, keep_alive: float) -> None:
        """Looks after a connection on which nothing happens."""
        if self._line and self._line[0].is_taken:
            self._line[0].exchange.sign(now, keep_alive)
        elif now - self._heard_at > IDLE:
            self.abort()

    def _move(self) -> None:
        """Goes as far along the line as can be gone. An answer that is given on the way comes back here."""
        if self._is_moving:
            return
        self._is_moving = True
        while self._line and not self._transport.is_closing() and self._serve(self._line[0]):
            self._line.popleft()
        self._is_moving = False
        if self._is_stopping and not self._line:
            self._transport.close()
        elif (len(self._line) > 1 or self._is_full) != self._is_paused and not self._transport.is_closing():
            # Who asks on without waiting for answers, or without reading them, has to wait.
            self._is_paused = not self._is_paused
            (self._transport.pause_reading if self._is_paused else self._transport.resume_reading)()

    def _serve(self, one: _Waiting) -> bool:
        """Does what can be done for a request; whether it is over."""
        if self._is_full and not one.exchange.is_answered:
            return False
        if one.refusal is not None:
            one.exchange.reply(one.refusal)
        elif one.is_whole and not one.is_taken:
            one.is_taken = True
            one.exchange.body = b"".join(one.parts)
            one.parts.clear()
            self._hand_over(one.exchange)
        return one.is_whole and one.exchange.is_answered

    def _hand_over(self, exchange: Exchange) -> None:
        try:
            self._face.take(exchange)
        except Exception:  # noqa: BLE001 - the face: a defect must not leave a client without an answer
            _log.exception("a defect while taking a request")
            exchange.reply(Reply(500))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - gone is gone
        self._connections.discard(self)
        self.closed.set_result(None)
        line, self._line = self._line, deque()
        for exchange in (one.exchange for one in line):
            if not exchange.is_answered:
                exchange.is_answered = True
                exchange.on_gone()

    def pause_writing(self) -> None:
        self._is_full = True
        self._move()

    def resume_writing(self) -> None:
        self._is_full = False
        self._move()

    def data_received(self, data: bytes) -> None:
        self._heard_at = time.monotonic()
        self._head_size += len(data)
        while data and not self._transport.is_closing():
            try:
                self._parser.feed_data(data)
                data = b""
            except httptools.HttpParserUpgrade as wish:
                data = self._without_wish() + data[wish.args[0] :]
            except httptools.HttpParserError:
                self._refuse(400)
        if self._head_size > HEAD_LIMIT and not self._transport.is_closing():
            self._refuse(431)

    def _without_wish(self) -> bytes:
        """The head of a request that wants another protocol, without that: it is read again, and its body with it."""
        method = self._parser.get_method()
        self._parser = httptools.HttpRequestParser(self)
        if self._headers.pop("upgrade", None) is None:  # it wants to be connected to somebody else
            self._refuse(405)
        lines = "".join(f"{name}: {value}\r\n" for name, value in self._headers.items()).encode("latin-1")
        return b"%b %b HTTP/1.1\r\n%b\r\n" % (method, self._url, lines)

    def _refuse(self, status: int) -> None:
        """Ends a connection on which something else is spoken, or too much of it."""
        if not self._line:
            self.write(b"%bconnection: close\r\ncontent-length: 0\r\n\r\n" % status_line(status))
        self._transport.close()

    def on_message_begin(self) -> None:
        self._url, self._headers = b"", {}

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1").strip()

    def on_headers_complete(self) -> None:
        self._head_size = 0
        if self._parser.should_upgrade():
            return
        exchange = Exchange(
            self,
            self._parser.get_method().decode("latin-1"),
            _path_of(self._url),
            self._headers,
            is_old=self._parser.get_http_version() == "1.0",
            is_last=not self._parser.should_keep_alive(),
        )
        one = _Waiting(exchange)
        self._line.append(one)
        declared = self._headers.get("content-length", "")
        try:
            self._face.admit(exchange)
            self._face.weigh(int(declared) if declared.isdecimal() else 0)
        except Reply as reply:
            self._turn_down(one, reply)
        else:
            if self._headers.get("expect", "").lower() == "100-continue" and one is self._line[0]:
                self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _turn_down(self, one: _Waiting, reply: Reply) -> None:
        # The connection stays open: closed with data on its way, it would be reset and the answer lost.
        one.refusal = reply
        one.parts.clear()
        self._move()

    def on_body(self, body: bytes) -> None:
        self._head_size = 0
        one = self._line[-1]
        if one.refusal is not None:
            return
        one.parts.append(body)
        one.size += len(body)
        try:
            self._face.weigh(one.size)
        except Reply as reply:
            self._turn_down(one, reply)

    def on_message_complete(self) -> None:
        self._head_size = 0
        if not self._parser.should_upgrade():
            self._line[-1].is_whole = True
            self._move()


def _path_of(url: bytes) -> str:
    """The path of a request, which may name the host before it."""
    if not url.startswith(b"/"):
        try:
            url = httptools.parse_url(url).path or b""
        except httptools.HttpParserInvalidURLError:
            url = b""
    return url.partition(b"?")[0].decode("latin-1")
