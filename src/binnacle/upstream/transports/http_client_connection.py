"""One connection over HTTP/1.1, with one request under way at most.

A request is one write, and an answer that comes in one piece wakes its caller once.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httptools
from yarl import URL

from binnacle.upstream.transports.http_errors import AnswerTruncated, ConnectionClosed, NoAnswer, NotHttp
from binnacle.upstream.transports.http_response import HttpResponse

MAX_HEAD_BYTES, MAX_HEADERS = 64 << 10, 200
"""Bytes of the head of an answer, and headers in it."""


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
        """Done when the head of the answer has arrived."""

        self._head_size = 0
        """Bytes received outside of a body."""

        self._headers_size = 0
        self._is_paused = False

    async def ask(self, method: str, url: URL, message: bytes) -> HttpResponse:
        """Sends a request. Returns when the head of its answer has come; the body is still to be read.

        Raises:
            NoAnswer: there is none.
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
        """Stops reading from the server while the caller does not read the body."""
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


def encode_request(method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """A request as bytes.

    Raises:
        ValueError: a header contains a line break.
    """
    lines = [f"{method} {url.raw_path_qs} HTTP/1.1", f"Host: {url.host_port_subcomponent}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines)
    if head.count("\n") >= len(lines) or head.count("\r") >= len(lines) or "\0" in head:
        raise ValueError("a line break in a header")
    return f"{head}\r\n\r\n".encode() + (body or b"")
