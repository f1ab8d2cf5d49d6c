"""Server-sent events, taken from a stream of hostile bytes. No I/O."""

from typing import NamedTuple

MAX_ID_BYTES = 1024
"""Bytes of an event's id. A longer one is not sent back."""

MAX_KIND_BYTES = 64
MAX_RETRY_SECONDS = 3600.0
"""Seconds that a server can ask a client to wait; what it asks for beyond is read as this."""


class EventTooLong(Exception):
    """An event, or one line of it, is longer than anyone is ready to keep."""


class SseEvent(NamedTuple):
    """Something that a server said."""

    data: bytes
    kind: str = "message"


class SseParser:
    """Puts events together from the chunks of a stream. An event that is never finished is never seen."""

    def __init__(self, limit: int) -> None:
        """`limit` is the longest event, in bytes."""
        self.last_id = ""
        """Of the last event that was finished: where a broken stream may be taken up."""

        self.retry: float | None = None
        """Seconds to wait before that, where the server said so."""

        self._limit = limit
        self.restart()

    def restart(self) -> None:
        """Begins a new stream: forgets what was left unfinished in the one before."""
        self._line = bytearray()
        self._after_return = False
        self._first = True
        self._clear()

    def _clear(self) -> None:
        self._data = bytearray()
        self._kind = "message"
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that a chunk finishes.

        Raises:
            TooLong: nothing more can be read from this stream.
        """
        if self._after_return and chunk[:1] == b"\n":
            chunk, self._after_return = chunk[1:], False
        if chunk:
            self._after_return = chunk[-1:] == b"\r"
        found: list[SseEvent] = []
        for line in chunk.splitlines(keepends=True):
            self._line += line
            if len(self._line) + len(self._data) > self._limit:
                raise EventTooLong
            if line[-1:] in (b"\n", b"\r"):
                whole = bytes(self._line.rstrip(b"\r\n"))
                self._line.clear()
                if (event := self._take(whole)) is not None:
                    found.append(event)
        return found

    def _take(self, line: bytes) -> SseEvent | None:
        if self._first:
            self._first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._finish()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data += value
                self._data += b"\n"
            case b"event":
                self._kind = value[:MAX_KIND_BYTES].decode(errors="replace")
            case b"id" if b"\0" not in value and len(value) <= MAX_ID_BYTES:
                self._id = value.decode(errors="replace")
            case b"retry" if value.isdigit() and len(value) < 20:
                self.retry = min(int(value) / 1000, MAX_RETRY_SECONDS)
        return None

    def _finish(self) -> SseEvent | None:
        if self._id is not None:
            self.last_id = self._id
        data, kind = bytes(self._data[:-1]), self._kind
        self._clear()
        return SseEvent(data, kind) if data else None
