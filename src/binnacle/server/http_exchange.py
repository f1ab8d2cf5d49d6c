"""One HTTP request and its answer: a reply, or a stream of events that may end in one. Independent of MCP."""

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol

from binnacle.lifecycle.process import Process

PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
"""Headers that show that a proxy forwards the request of another client."""

MAX_BACKLOG_BYTES = 1 << 20
"""Bytes buffered for a client that does not read."""

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_STREAM = b"content-type: text/event-stream\r\ncache-control: no-cache, no-transform\r\nx-accel-buffering: no\r\n"


class HttpReply(Exception):
    """An HTTP answer, raised to end the handling of a request."""

    def __init__(self, status: int, body: bytes = b"", **headers: str) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class AnswerSink(Protocol):
    """What an answer is written to."""

    @property
    def unread(self) -> int:
        """Bytes that the client has not read yet."""

    def write(self, data: bytes) -> None: ...

    def find_peer(self) -> Process | None:
        """The process at the other end, if it is on this machine and can be found."""

    def find_client(self) -> Process | None:
        """The same, if it is not a terminal or an editor by its name: they identify no agent."""

    def find_user(self) -> int | None:
        """The user of that process, if the system says it."""

    def finish(self, *, is_last: bool) -> None:
        """Called when the answer is complete; with `is_last`, no other answer can follow it."""


class HttpExchange:
    """A request and its answer."""

    def __init__(
        self, wire: AnswerSink, method: str, headers: Mapping[str, str], *, is_old: bool, is_last: bool
    ) -> None:
        """With `is_old`, the client speaks HTTP/1.0; with `is_last`, it wants the connection closed."""
        self.method = method
        self.path = ""
        self.query = ""
        """What follows the question mark after the path, as it was sent."""

        self.headers = headers
        """By their names in lower case."""

        self.token = ""
        """Name of its bearer token."""

        self.body = b""
        self.fixed_headers = b""
        """Lines that the head of every answer to it gets."""

        self.sign_of_life = b": alive\n\n"
        """What a silent stream says from time to time."""

        self.may_stream = True
        """Whether the client understands a slow answer that becomes a stream."""

        self.on_gone: Callable[[], object] = _do_nothing
        """Called when the client disconnects, or is dropped, before the answer is complete."""

        self.is_answered = False
        """Whether the answer is complete or the client has gone, so that nothing more can be sent."""

        self._wire = wire
        self._is_old = is_old
        self._is_last = is_last
        self._is_streaming = False
        self._spoke_at = time.monotonic()

    def find_peer(self) -> Process | None:
        """The process that sent the request, if it is on this machine and can be found, whatever its name."""
        return self._wire.find_peer()

    def find_client(self) -> Process | None:
        """The client that sent the request, if it can be found. None behind a proxy, and for terminals and editors."""
        if any(name in self.headers for name in PROXY_HEADERS):
            return None
        return self._wire.find_client()

    def find_user(self) -> int | None:
        """The user of the process that sent the request, if it is on this machine and the system says it."""
        return self._wire.find_user()

    def reply(self, reply: HttpReply) -> None:
        """Answers. In a stream, the body of the reply is the last event."""
        if self._is_streaming:
            self.end(reply.body)
        elif not self.is_answered:
            more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items()).encode("latin-1")
            is_json = reply.body and "content-type" not in reply.headers
            kind = b"content-type: application/json\r\n" if is_json else b""
            head = self._head(reply.status, b"%b%bcontent-length: %d\r\n" % (more, kind, len(reply.body)))
            self._finish(head if self.method == "HEAD" else head + reply.body)

    def refuse(self, reply: HttpReply) -> None:
        """Answers, and ends the connection."""
        self._is_last = True
        self.reply(reply)

    def open(self) -> None:
        """Begins a stream."""
        self._is_streaming = True
        self._is_last = self._is_last or self._is_old  # HTTP/1.0 marks the end of a stream only by closing
        framing = b"" if self._is_old else b"transfer-encoding: chunked\r\n"
        self._write(self._head(200, _STREAM + framing) + self._chunk(b": open\n\n"))

    def mention(self, message: bytes) -> None:
        """Sends a message before the answer. A client that does not read misses progress and logs, never the answer."""
        if not self.is_answered and self._wire.unread < MAX_BACKLOG_BYTES:
            self._say(message)

    def announce(self, message: bytes, *, name: str = "message", event_id: str = "") -> None:
        """Sends a notification of a change. A client that does not read loses the stream and must open it again.

        It resumes after the newest `event_id`.
        """
        if self.is_answered:
            return
        if self._wire.unread < MAX_BACKLOG_BYTES:
            self._say(message, name, event_id)
        else:
            self.end()
            self.on_gone()

    def _say(self, message: bytes, name: str = "message", event_id: str = "") -> None:
        if not self._is_streaming:
            self.open()
        self._write(self._chunk(_event(message, name, event_id)))

    def end(self, message: bytes = b"") -> None:
        """Ends a stream, with a last message if given."""
        if not self.is_answered:
            last = self._chunk(_event(message)) if message else b""
            self._finish(last if self._is_old else last + b"0\r\n\r\n")

    def sign(self, now: float, keep_alive: float) -> None:
        """Sends a sign of life if nothing was sent for `keep_alive` seconds."""
        if self.is_answered or now - self._spoke_at < keep_alive:
            return
        if self._is_streaming:
            self._write(self._chunk(self.sign_of_life))
        elif self.may_stream:
            self.open()

    def _head(self, status: int, more: bytes) -> bytes:
        closing = b"connection: close\r\n" if self._is_last else b""
        date = _date(int(time.time()))
        return b"%bdate: %b\r\n%b%b%b\r\n" % (status_line(status), date, closing, self.fixed_headers, more)

    def _chunk(self, data: bytes) -> bytes:
        return data if self._is_old else b"%x\r\n%b\r\n" % (len(data), data)

    def _write(self, data: bytes) -> None:
        self._spoke_at = time.monotonic()
        self._wire.write(data)

    def _finish(self, data: bytes) -> None:
        self.is_answered = True
        self._wire.write(data)
        self._wire.finish(is_last=self._is_last)


def _do_nothing() -> None:
    """The default of `on_gone`."""


def _event(message: bytes, name: str = "message", event_id: str = "") -> bytes:
    number = f"id: {event_id}\n" if event_id else ""
    return b"event: %b\n%bdata: %b\n\n" % (name.encode(), number.encode(), message)


@lru_cache
def status_line(status: int) -> bytes:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()


@lru_cache(maxsize=1)
def _date(now: int) -> bytes:
    """A time in HTTP's format, independent of the locale."""
    at = time.gmtime(now)
    day = f"{_DAYS[at.tm_wday]}, {at.tm_mday:02} {_MONTHS[at.tm_mon - 1]} {at.tm_year}"
    return f"{day} {at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT".encode()
