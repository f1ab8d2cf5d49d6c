"""Finds messages in a stream of bytes: one per line, after a Content-Length, or as server-sent events.

Theory. A stream arrives in chunks that end anywhere: in the middle of a line, of a header, of a character. Each decoder
keeps only bytes that are not a complete message yet. It does no I/O, owns no connection and has no clock: the reader of
the stream feeds it the chunks in order and takes the messages. Three promises hold for each decoder, and
`tests/wire/test_framing.py` checks them with arbitrary streams:

- *Chunks do not matter.* However a stream is cut, the same messages come out in the same order.
- *Memory is bounded.* A decoder never keeps more than its limit and the current chunk, whatever the other side sends.
  The caller sets the limits, because an editor needs others than a server.
- *Work is linear.* A byte is searched once, so a message in many small chunks costs as much as one in a single chunk.

They differ in how they handle a message that is too long, because the formats differ:

- `LineDecoder` reports an `OversizedLine` in place of the line, skips to its end and continues. The stream stays in
  step, so a caller may answer that one message was refused.
- `ContentLengthDecoder` raises a `FramingError` when it reaches the message; earlier messages are still returned. After
  an invalid length it is unknown where the next message begins, so the caller closes the connection.
- `EventStreamDecoder` raises one too, and drops all events of the same chunk. Its client connects again and resumes
  after the last event that it saw.

A decoder belongs to one stream and one task. Only `EventStreamDecoder` outlives a stream: it remembers from which event
to resume (`last_id`), and `restart` begins the next stream.
"""

from collections.abc import Iterator
from typing import NamedTuple

MAX_BEGINNING_BYTES = 64 << 10
"""Bytes of an oversized line that are kept, to identify the message."""

MAX_EVENT_ID_BYTES = 1024
"""Bytes of an event's id. A longer one is ignored."""

MAX_EVENT_KIND_BYTES = 64
MAX_RETRY_SECONDS = 3600.0
"""The longest wait that a server can request; a longer one is reduced to this."""

_BLANK_LINE = b"\r\n\r\n"


class FramingError(Exception):
    """The stream can no longer be decoded."""


class FrameTooLong(FramingError):
    """A message is longer than the limit."""


class OversizedLine(NamedTuple):
    """Stands for a line that was longer than the limit."""

    beginning: bytes


class LineDecoder:
    """Finds lines, without their newlines. An unfinished line is never returned."""

    def __init__(self, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._unfinished = bytearray()
        self._is_skipping = False
        """Whether the rest of an oversized line is still to come."""

    def feed(self, chunk: bytes) -> list[bytes | OversizedLine]:
        """The lines that a chunk completes. An oversized one is reported once, as soon as it is too long."""
        *endings, rest = chunk.split(b"\n")
        found: list[bytes | OversizedLine] = []
        for ending in endings:
            if self._is_skipping:
                self._is_skipping = False
            else:
                found.append(self._take_line(ending))
        if not self._is_skipping:
            self._unfinished += rest
            if len(self._unfinished) > self._max_line_bytes:
                found.append(self._take_line(b""))
                self._is_skipping = True
        return found

    def _take_line(self, ending: bytes) -> bytes | OversizedLine:
        """The line with this ending. One that is too long is never copied."""
        if not self._unfinished and len(ending) <= self._max_line_bytes:
            return ending
        self._unfinished += ending
        is_oversized = len(self._unfinished) > self._max_line_bytes
        kept = min(self._max_line_bytes, MAX_BEGINNING_BYTES) if is_oversized else len(self._unfinished)
        with memoryview(self._unfinished) as view:
            line = bytes(view[:kept])
        self._unfinished.clear()
        return OversizedLine(line) if is_oversized else line


class ContentLengthDecoder:
    """Finds bodies that each follow a header with `Content-Length`, as in the Debug Adapter Protocol."""

    def __init__(self, *, max_body_bytes: int, max_head_bytes: int = 4096) -> None:
        self._max_body_bytes = max_body_bytes
        self._max_head_bytes = max_head_bytes
        self._buffer = bytearray()
        self._searched = 0
        """Bytes of the buffer that are known not to contain the end of a header."""

        self._body_bytes = -1
        """The length of the next body; negative while its header is incomplete."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The bodies that a chunk completes, found lazily. Bodies that are not taken come with the next chunk.

        Raises:
            FrameTooLong: a header or body is too long.
            FramingError: a header has no valid length.
        """
        self._buffer += chunk
        return self._bodies()

    def _bodies(self) -> Iterator[bytes]:
        while self._take_head() and len(self._buffer) >= self._body_bytes:
            body = bytes(self._buffer[: self._body_bytes])
            del self._buffer[: self._body_bytes]
            self._body_bytes = -1
            yield body

    def _take_head(self) -> bool:
        """Whether the length of the next body is known."""
        if self._body_bytes >= 0:
            return True
        end = self._buffer.find(_BLANK_LINE, self._searched, self._max_head_bytes + len(_BLANK_LINE))
        if end < 0:
            if len(self._buffer) >= self._max_head_bytes + len(_BLANK_LINE):
                raise FrameTooLong(f"no header ends within {self._max_head_bytes} bytes")
            self._searched = max(0, len(self._buffer) - len(_BLANK_LINE) + 1)
            return False
        self._body_bytes = self._length_in(bytes(self._buffer[:end]))
        del self._buffer[: end + len(_BLANK_LINE)]
        self._searched = 0
        return True

    def _length_in(self, head: bytes) -> int:
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit() and len(value) < 20:
                if (length := int(value)) > self._max_body_bytes:
                    raise FrameTooLong(f"a message of {length} bytes")
                return length
        raise FramingError("a header without a length")


def encode_content_length(body: bytes) -> bytes:
    """A body with its header, for `ContentLengthDecoder`."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class ServerSentEvent(NamedTuple):
    """One event of a stream."""

    data: bytes
    kind: str = "message"


class EventStreamDecoder:
    """Finds server-sent events. An unfinished event is never returned."""

    def __init__(self, max_event_bytes: int) -> None:
        self.last_id = ""
        """Id of the last complete event, after which a broken stream may be resumed."""

        self.retry: float | None = None
        """Seconds to wait before resuming, if the server said so."""

        self._max_event_bytes = max_event_bytes
        self.restart()

    def restart(self) -> None:
        """Begins a new stream: drops the unfinished event of the earlier one."""
        self._line = bytearray()
        self._is_after_return = False
        self._is_first_line = True
        self._clear_event()

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that a chunk completes.

        Raises:
            FrameTooLong: nothing more can be read from this stream.
        """
        if self._is_after_return and chunk[:1] == b"\n":
            chunk, self._is_after_return = chunk[1:], False
        if chunk:
            self._is_after_return = chunk[-1:] == b"\r"
        found: list[ServerSentEvent] = []
        for line in chunk.splitlines(keepends=True):
            self._line += line
            if len(self._line) + len(self._data) > self._max_event_bytes:
                raise FrameTooLong(f"an event of more than {self._max_event_bytes} bytes")
            if line[-1:] in (b"\n", b"\r"):
                complete = bytes(self._line.rstrip(b"\r\n"))
                self._line.clear()
                if (event := self._take_line(complete)) is not None:
                    found.append(event)
        return found

    def _clear_event(self) -> None:
        self._data = bytearray()
        self._kind = "message"
        self._id: str | None = None

    def _take_line(self, line: bytes) -> ServerSentEvent | None:
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._finish_event()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data += value
                self._data += b"\n"
            case b"event":
                self._kind = value[:MAX_EVENT_KIND_BYTES].decode(errors="replace")
            case b"id" if b"\0" not in value and len(value) <= MAX_EVENT_ID_BYTES:
                self._id = value.decode(errors="replace")
            case b"retry" if value.isdigit() and len(value) < 20:
                self.retry = min(int(value) / 1000, MAX_RETRY_SECONDS)
        return None

    def _finish_event(self) -> ServerSentEvent | None:
        if self._id is not None:
            self.last_id = self._id
        data, kind = bytes(self._data[:-1]), self._kind
        self._clear_event()
        return ServerSentEvent(data, kind) if data else None
