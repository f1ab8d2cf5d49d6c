"""One HTTP/1.1 connection of a client: it collects requests and answers them in their order.

Who owns what. `http_listener` owns the socket, the set of open connections and the only periodic timer. A
`ServedConnection` owns its transport, its parser and the queue of its requests; it is in the listener's set from
`connection_made` to `connection_lost`. An `HttpExchange` owns the answer to one request. The application owns the tasks
that compute answers, and hooks `exchange.on_gone` to cancel one when its client goes away.

A request passes through these states:

    head read ──► admitted ──► whole ──► taken ──► answered, removed from the queue
        │            │           │
        └────────────┴───────────┴──► refused: answered without reading the rest, and the connection ends

Admission looks only at the head, and may have to wait (the session of an endpoint is opened first); then the
application returns a future. The body may be complete before the request is admitted. Only the first request of the
queue is handed to the application ("taken"); the others wait, so answers keep the order of the requests.

A connection is *reading* or *paused*. It pauses while a second request waits, while the client does not read our
answers, and while a request waits for admission. So a client costs us at most what one read delivers, one body and one
write buffer. It ends in one of four ways: the client closes it; `stop` closes it after its last answer; `abort` closes
it at once; or it is *refusing*. A refusing connection drops what arrives, sends its last answer and the end of its
stream, and waits up to `DRAIN_SECONDS` or `DRAIN_BYTES` for the client: a socket that is closed while data arrives is
reset, and the reset can destroy the answer.

What happens at the same time. Everything runs in callbacks of one event loop: data, admission, an answer, a full or
empty write buffer, the listener's look at timeouts, the end of the connection. No callback waits, so none sees another
half done, and there are no locks that could deadlock. The one nesting is an answer given during `take`, which calls
`finish` and so `_move` again; `_is_moving` makes the inner call return, and the outer loop continues.

Why nothing gets stuck. Each event that can let the first request proceed ends in `_move`: its last byte, its admission,
its answer, a write buffer that empties, `stop`. `_move` goes as far as possible and then pauses or resumes reading. A
request that stops arriving is refused after `ARRIVAL_SECONDS`; a silent connection without a taken request is closed
after `IDLE_SECONDS`. A taken request has the deadline of its tool; a stream lasts until the client goes or does not
read; both end when the server stops.

Why no answer is lost or sent twice. `exchange.is_answered` is set once: by the answer, or by `connection_lost`, which
then calls `on_gone`. Later answers are ignored. If the application fails in `take`, the answer is a 500. Only a client
that sends garbage after complete requests loses their answers: its connection is closed at once.
"""

import asyncio
import logging
import time
from collections import deque
from functools import partial
from typing import Any, Protocol

import httptools

from binnacle.lifecycle.process import Process
from binnacle.lifecycle.shell_caller import is_terminal_or_editor
from binnacle.server.http_exchange import HttpExchange, HttpReply, status_line
from binnacle.server.http_request_head import RequestHead

_log = logging.getLogger(__name__)

MAX_CONNECTIONS = 512
"""Connections open at once. Beyond that, the one that was silent longest is closed, unadmitted ones first."""

MAX_HEAD_BYTES = 64 << 10
"""Size of a request line with its headers, and of the trailers."""

IDLE_SECONDS = 75.0
"""How long a connection without a request is kept open."""

ARRIVAL_SECONDS = 60.0
"""How long a request may take to arrive, from its first byte to its last."""

DRAIN_BYTES = 16 << 20
"""Bytes that are read and dropped after a refusal."""

DRAIN_SECONDS = 2.0
"""How long bytes are dropped after a refusal."""


class HttpApplication(Protocol):
    """What answers requests. Its methods are called in the event loop and must not block."""

    def admit(self, exchange: HttpExchange) -> asyncio.Future[None] | None:
        """Checks a request before its body is read, and sets its token.

        Returns None if the request is admitted, or a future that decides. Until then nothing more is read; an
        `HttpReply` that the future raises is the answer.

        Raises:
            HttpReply: the request is refused with this answer.
        """

    def check_size(self, size: int) -> None:
        """Checks the size of a body, as announced or as received so far.

        Raises:
            HttpReply: it is too long.
        """

    def take(self, exchange: HttpExchange) -> None:
        """Answers a request, now or later."""

    def close(self) -> None:
        """Ends every stream of changes, so that the server can stop. Requests in progress continue."""

    def cancel(self) -> None:
        """Cancels every request in progress."""


class _Waiting:
    """A request in the queue of its connection."""

    __slots__ = ("body", "exchange", "is_admitted", "is_taken", "is_whole", "refusal")

    def __init__(self, exchange: HttpExchange) -> None:
        self.exchange = exchange
        self.body = bytearray()
        """Not a list of parts: a client may send single bytes."""

        self.refusal: HttpReply | None = None
        self.is_admitted = False
        self.is_whole = False
        self.is_taken = False


class ServedConnection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, application: HttpApplication, connections: "set[ServedConnection]") -> None:
        """While it is open, the connection is in `connections`."""
        self._application = application
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._transport: Any = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line: deque[_Waiting] = deque()
        """Requests in their order; the first one is answered next."""

        self._is_moving = False
        self._is_full = False
        """Whether the write buffer is full because the client does not read."""

        self._is_paused = False
        self._is_stopping = False
        self._head = RequestHead()
        self._head_size = 0
        """Bytes received outside of a body."""

        self._heard_at = time.monotonic()
        self._began_at: float | None = None
        """When the arriving request began; None if none is arriving."""

        self._is_known = False
        """Whether a request was ever admitted on it."""

        self._is_refusing = False
        """Whether further data is dropped, and the last answer is a refusal."""

        self._drained = 0
        self._lingering: asyncio.TimerHandle | None = None
        self.peer: Process | None = None
        self._is_peer_known = False

    @property
    def unread(self) -> int:
        return int(self._transport.get_write_buffer_size())

    def find_peer(self) -> Process | None:
        """The process at the other end. Looked up once, because that takes milliseconds."""
        if not self._is_peer_known:
            from binnacle.lifecycle.loopback_peer import PeerAddress, find_peer

            peer, own = (self._transport.get_extra_info(name) for name in ("peername", "sockname"))
            likely = {one.peer.pid for one in self._connections if one.peer is not None}
            if peer and own:
                self.peer = find_peer(PeerAddress(*peer[:2]), PeerAddress(*own[:2]), likely=likely)
            self._is_peer_known = True
        return self.peer

    def find_client(self) -> Process | None:
        """The same, unless people start their own programs from it."""
        peer = self.find_peer()
        return None if peer is not None and is_terminal_or_editor(peer) else peer

    def find_user(self) -> int | None:
        """The user of the process at the other end."""
        from binnacle.lifecycle.loopback_peer import PeerAddress, find_user

        peer, own = (self._transport.get_extra_info(name) for name in ("peername", "sockname"))
        return find_user(PeerAddress(*peer[:2]), PeerAddress(*own[:2])) if peer and own else None

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def finish(self, *, is_last: bool) -> None:
        if is_last and self._is_refusing:
            self._linger()
        elif is_last:
            self._transport.close()
        self._move()

    def _linger(self) -> None:
        """Closes our side, and drops what the client still sends, for a limited time."""
        if self._lingering is None and not self._transport.is_closing():
            self._lingering = asyncio.get_running_loop().call_later(DRAIN_SECONDS, self.abort)
            self._transport.write_eof()

    def stop(self) -> None:
        """Closes the connection once the requests in its queue are answered."""
        self._is_stopping = True
        self._move()

    def abort(self) -> None:
        """Closes the connection at once."""
        self._transport.abort()

    def look(self, now: float, keep_alive: float) -> None:
        """Keeps a slow answer alive, and ends a connection that has timed out."""
        if self._line and self._line[0].is_taken:
            self._line[0].exchange.sign(now, keep_alive)
        elif self._began_at is not None and now - self._began_at > ARRIVAL_SECONDS and not self._is_paused:
            self._refuse(408)
        elif now - self._heard_at > IDLE_SECONDS:
            self.abort()

    def _move(self) -> None:
        """Serves the queue as far as possible. An answer given meanwhile calls it again, which returns at once."""
        if self._is_moving:
            return
        self._is_moving = True
        while self._line and not self._transport.is_closing() and self._serve(self._line[0]):
            self._line.popleft()
        self._is_moving = False
        if self._is_stopping and not self._line:
            self._transport.close()
        elif self._has_enough() != self._is_paused and not self._transport.is_closing():
            self._is_paused = not self._is_paused
            (self._transport.pause_reading if self._is_paused else self._transport.resume_reading)()
            if self._began_at is not None:
                self._began_at = time.monotonic()  # the request could not arrive while we did not read

    def _has_enough(self) -> bool:
        """Whether to pause reading: a request waits in the queue or for admission, or the client does not read."""
        return len(self._line) > 1 or self._is_full or bool(self._line and not self._line[-1].is_admitted)

    def _serve(self, one: _Waiting) -> bool:
        """Does what can be done for a request now. Returns whether it is finished."""
        if self._is_full and not one.exchange.is_answered:
            return False
        if one.refusal is not None:
            one.exchange.refuse(one.refusal)
            return True
        if one.is_whole and one.is_admitted and not one.is_taken:
            one.is_taken = True
            one.exchange.body, one.body = bytes(one.body), bytearray()
            self._hand_over(one.exchange)
        return one.is_whole and one.exchange.is_answered

    def _hand_over(self, exchange: HttpExchange) -> None:
        try:
            self._application.take(exchange)
        except Exception:  # noqa: BLE001 - a defect must not leave a client without an answer
            _log.exception("internal error while handling a request")
            exchange.reply(HttpReply(500))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if len(self._connections) >= MAX_CONNECTIONS and not self._make_room():
            self.write(b"%bconnection: close\r\ncontent-length: 0\r\n\r\n" % status_line(503))
            self._transport.close()
        else:
            self._connections.add(self)

    def _make_room(self) -> bool:
        """Closes the idle connection that was silent longest, unadmitted ones first. Returns whether there was one."""
        idle = [one for one in self._connections if not one._is_known or not one._line]  # noqa: SLF001 - same class
        if not idle:
            return False
        silent = min(idle, key=lambda one: (one._is_known, one._heard_at))  # noqa: SLF001
        self._connections.discard(silent)
        silent.abort()
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the reason does not matter
        self._connections.discard(self)
        if self._lingering is not None:
            self._lingering.cancel()
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
        while data and not self._is_refusing and not self._transport.is_closing():
            try:
                self._parser.feed_data(data)
                data = b""
            except httptools.HttpParserUpgrade as wish:
                data = self._strip_upgrade() + data[wish.args[0] :]
            except httptools.HttpParserError:
                self._refuse(400)
        if self._is_refusing:
            self._drained += len(data)
            if self._drained > DRAIN_BYTES:
                self.abort()
        elif self._head_size > MAX_HEAD_BYTES and not self._transport.is_closing():
            self._refuse(431)

    def _strip_upgrade(self) -> bytes:
        """The head of a request without its upgrade header, to be parsed again with its body."""
        method, head = self._parser.get_method(), self._head
        self._parser = httptools.HttpRequestParser(self)
        if head.headers.pop("upgrade", None) is None:  # a CONNECT request, meant for a proxy
            self._refuse(405)
        elif head.repeated:
            self._refuse(400)
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.headers.items()).encode("latin-1")
        return b"%b %b HTTP/1.1\r\n%b\r\n" % (method, head.url, lines)

    def _refuse(self, status: int) -> None:
        """Ends a connection with invalid, too much or no data."""
        if self._is_refusing:
            return
        if self._line and not self._line[-1].is_whole:
            self._turn_down(self._line[-1], HttpReply(status))
            return
        self._is_refusing = True
        if self._line:
            self._transport.close()
        else:
            self.write(b"%bconnection: close\r\ncontent-length: 0\r\n\r\n" % status_line(status))
            self._linger()

    def _turn_down(self, one: _Waiting, reply: HttpReply) -> None:
        """Refuses a request without reading the rest of it."""
        self._is_refusing = True
        self._began_at = None
        one.refusal = reply
        one.is_admitted = True
        one.body.clear()
        self._move()

    def on_message_begin(self) -> None:
        self._head = RequestHead()
        self._began_at = time.monotonic()

    def on_url(self, url: bytes) -> None:
        self._head.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head.add(name, value)

    def on_headers_complete(self) -> None:
        self._head_size = 0
        self._head.is_complete = True
        if self._parser.should_upgrade() or self._is_refusing:
            return
        exchange = HttpExchange(
            self,
            self._parser.get_method().decode("latin-1"),
            self._head.headers,
            is_old=self._parser.get_http_version() == "1.0",
            is_last=not self._parser.should_keep_alive(),
        )
        one = _Waiting(exchange)
        self._line.append(one)
        try:
            exchange.path, exchange.query = self._head.check()
            asked = self._application.admit(exchange)
        except HttpReply as reply:
            self._turn_down(one, reply)
            return
        if asked is None:
            self._let_in(one, self._head)
        else:
            asked.add_done_callback(partial(self._hear, one, self._head))
            self._move()

    def _hear(self, one: _Waiting, head: RequestHead, asked: asyncio.Future[None]) -> None:
        """Continues with a request whose admission was decided later."""
        if one.exchange.is_answered or one.refusal is not None:
            return
        refusal = None if asked.cancelled() else asked.exception()
        if refusal is None and not asked.cancelled():
            self._let_in(one, head)
            self._move()
        else:
            self._turn_down(one, refusal if isinstance(refusal, HttpReply) else HttpReply(500))

    def _let_in(self, one: _Waiting, head: RequestHead) -> None:
        one.is_admitted = self._is_known = True
        try:
            self._application.check_size(max(head.announced_size, len(one.body)))
        except HttpReply as reply:
            self._turn_down(one, reply)
        else:
            if head.headers.get("expect", "").lower() == "100-continue" and one is self._line[0] and not one.is_whole:
                self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._head_size = 0
        if self._is_refusing:
            return
        one = self._line[-1]
        one.body += body
        try:
            self._application.check_size(len(one.body))
        except HttpReply as reply:
            self._turn_down(one, reply)

    def on_message_complete(self) -> None:
        self._head_size = 0
        self._began_at = None
        if not self._parser.should_upgrade() and not self._is_refusing:
            self._line[-1].is_whole = True
            self._move()
