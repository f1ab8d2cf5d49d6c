"""An answer over HTTP, whose body is read as it comes."""

import asyncio
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol

from multidict import CIMultiDict
from yarl import URL

from binnacle.upstream.transports.http_errors import AnswerTruncated, NoAnswer

MAX_BUFFERED_BYTES = 1 << 20
"""Bytes of a body that are buffered before the caller reads them."""

UNPACKED_PIECE_BYTES = 256 << 10
"""Bytes that are decompressed at once: compressed data may grow a thousandfold."""

PACKED_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})


class BodySource(Protocol):
    """The connection that a body comes over."""

    def pause(self, *, is_full: bool) -> None:
        """Stops reading from the server while the caller does not read the body."""

    def close(self) -> None:
        """Ends the connection."""


class HttpResponse:
    """An answer: its head, and its body in pieces."""

    def __init__(self, connection: BodySource, method: str, url: URL) -> None:
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
        """Whether only the end of the connection ends the body."""
        return "Content-Length" not in self.headers and "Transfer-Encoding" not in self.headers

    @property
    def content(self) -> "HttpResponse":
        """Itself, which also reads the body."""
        return self

    def at_eof(self) -> bool:
        """Whether all of the body was read."""
        return self._is_whole and not self._parts

    async def iter_any(self) -> AsyncIterator[bytes]:
        """The body in the pieces it comes in, unpacked.

        Raises:
            NoAnswer: it breaks off.
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
        """Adds a part of the body."""
        self._parts.append(data)
        self._size += len(data)
        if self._size >= MAX_BUFFERED_BYTES:
            self._connection.pause(is_full=True)
        self._tell()

    def finish(self, error: NoAnswer | None = None) -> None:
        """Notes that the body is complete, or ended with an error."""
        self._is_whole, self._error = error is None, error
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def close(self) -> None:
        """Drops the rest of the body. If more was to come, the connection is closed."""
        if not self._is_whole:
            self._connection.close()


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
