"""The output of a check: its beginning and its end, however much it wrote."""

import re
from collections import deque
from collections.abc import Callable

from binnacle.config.atomic_write import write_atomically

HEAD_BYTES = 1 << 20
TAIL_BYTES = 3 << 20
EXCERPT_LINES = 60
EXCERPT_CHARACTERS = 8000

_TERMINAL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


class BoundedLog:
    """Keeps the first and the last part of what was written, in bounded memory."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        """`tell` is given the last line of each piece that was written."""
        self.size = 0
        """Bytes that were written in all."""

        self._command_begins = 0

        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._tell = tell

    def write(self, data: bytes) -> None:
        """Takes a piece of output."""
        self.size += len(data)
        room = HEAD_BYTES - len(self._head)
        self._head += data[:room]
        if rest := data[room:]:
            self._tail.append(rest[-TAIL_BYTES:])
            self._tail_bytes += len(self._tail[-1])
            while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
                self._tail_bytes -= len(self._tail.popleft())
        if self._tell is not None and (line := data[-2000:].decode(errors="replace").strip().rpartition("\n")[2]):
            self._tell(line)

    def begin_command(self) -> None:
        """Notes that what was written so far prepared the check, and says nothing about it."""
        self._command_begins = self.size

    @property
    def content(self) -> bytes:
        """What was kept, with a notice where something was cut."""
        tail = b"".join(self._tail)[-TAIL_BYTES:]
        cut = self.size - len(self._head) - len(tail)
        notice = f"\n… {cut} bytes of output were left out here …\n".encode() if cut else b""
        return bytes(self._head) + notice + tail

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    def excerpt(self) -> str:
        """The last lines, which say what went wrong: of the check itself, if it wrote any. Without colours."""
        content = self.content
        own = content[-written:] if (written := self.size - self._command_begins) else content
        text = _TERMINAL_SEQUENCE.sub("", own[-EXCERPT_CHARACTERS * 4 :].decode(errors="replace"))
        # Of a line that was written over, like that of a progress bar, the last state counts.
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
        return "\n".join(lines[-EXCERPT_LINES - 1 :]).strip("\n")[-EXCERPT_CHARACTERS:]

    def save(self, path: str) -> None:
        """Writes what was kept into a file.

        Raises:
            OSError: it cannot be written.
        """
        write_atomically(path, self.content)
