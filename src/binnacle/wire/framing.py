"""Finds messages in a stream of bytes: a message a line, after a Content-Length, or as server-sent events.

Theory. A stream arrives in chunks that end anywhere: in the middle of a line, of a header, of a character. Each decoder
keeps what has not become a message yet, and nothing else. It does no I/O, owns no connection and has no clock: whoever
reads the stream feeds it the chunks in order and takes the messages. Three promises hold for each of them, and
`tests/wire/test_framing.py` checks them with arbitrary streams:

- *Chunks do not matter.* However a stream is cut, the same messages come out in the same order.
- *Memory is bounded.* A decoder never keeps more than its limit and the chunk that it was just given, whatever the
  other side sends. The limits are the caller's: what is much for an editor is little for a server.
- *Work is linear.* A byte is searched once, so a message that arrives in many small chunks costs as much as one
  that arrives whole.

They differ in what a message that is too long means, because the formats do:

- `LineDecoder` reports an `OversizedLine` in place of the line, skips to its end and goes on. The stream stays in
  step, so a caller may answer that one message was refused.
- `ContentLengthDecoder` raises a `FramingError` when it comes to the message; those before it are still given. After a
  length that cannot be trusted nobody knows where the next message begins, so the caller closes the connection.
- `EventStreamDecoder` raises one too, for all that the same chunk holds. Its client connects again and resumes after
  the last event that it saw.

A decoder belongs to one stream and one task. `EventStreamDecoder` alone outlives a stream: it remembers from which
event to resume (`last_id`), and `restart` begins the next one.
"""

from collections.abc import Iterator
from typing import NamedTuple

MAX_BEGINNING_BYTES = 64 << 10
"""Bytes of an oversized line that are kept, to say which message it was."""

MAX_EVENT_ID_BYTES = 1024
"""Bytes of an event's id. A longer one is not sent back."""

MAX_EVENT_KIND_BYTES = 64
MAX_RETRY_SECONDS = 3600.0
"""Seconds that a server can ask a client to wait; what it asks for beyond is read as this."""

_BLANK_LINE = b"\r\n\r\n"


class FramingError(Exception):
    """No further message can be found in a stream."""


class FrameTooLong(FramingError):
    """A message is longer than the reader is ready to keep."""


class OversizedLine(NamedTuple):
    """Stands for a line that was longer than the limit."""

    beginning: bytes


class LineDecoder:
    """Finds lines, without the newline that ends each. A line that never ends is never seen."""

    def __init__(self, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._unfinished = bytearray()
        self._is_skipping = False
        """Whether the rest of an oversized line is still to come."""

    def feed(self, chunk: bytes) -> list[bytes | OversizedLine]:
        """The lines that a chunk ends. An oversized one is reported once, as soon as it is too long."""
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
        """The line that ends so. One that is too long is never copied."""
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
        """Bytes of the buffer that are known not to end a header."""

        self._body_bytes = -1
        """The length of the body that comes next; below zero while its header is incomplete."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The bodies that a chunk completes, found while they are taken. What is not taken comes with the next chunk.

        Raises:
            FrameTooLong: a header or body is too long.
            FramingError: a header has no length that can be used.
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
    """A body as `ContentLengthDecoder` finds it."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class ServerSentEvent(NamedTuple):
    """Something that a server said."""

    data: bytes
    kind: str = "message"


class EventStreamDecoder:
    """Finds server-sent events. An event that is never finished is never seen."""

    def __init__(self, max_event_bytes: int) -> None:
        self.last_id = ""
        """Of the last event that was finished: where a broken stream may be resumed."""

        self.retry: float | None = None
        """Seconds to wait before that, where the server said so."""

        self._max_event_bytes = max_event_bytes
        self.restart()

    def restart(self) -> None:
        """Begins a new stream: forgets what was left unfinished in the one before."""
        self._line = bytearray()
        self._is_after_return = False
        self._is_first_line = True
        self._clear_event()

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that a chunk finishes.

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
