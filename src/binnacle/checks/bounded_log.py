"""The output of a check: its beginning and its end, however much it wrote."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable

from binnacle.config.atomic_write import write_atomically
from binnacle.work.text import take_last_lines

HEAD_BYTES = 1 << 20
TAIL_BYTES = 3 << 20
EXCERPT_LINES = 60
EXCERPT_CHARACTERS = 8000

_WORD = re.compile(r"\w\w")
_TERMINAL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


class BoundedLog:
    """Keeps the first and the last part of what was written, in bounded memory."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        """`tell` is given the last line of each piece that was written."""
        self.size = 0
        """Bytes that were written in all."""

        self._command_begins = 0
        self._hidden: re.Pattern[bytes] | None = None
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
        if self._tell is not None and (line := self._find_told(data)):
            self._tell(line)

    def _find_told(self, data: bytes) -> str:
        """The last line of a piece; empty if it is about us, or only marks, as runners print for each test."""
        line = data[-2000:].decode(errors="replace").strip().rpartition("\n")[2]
        is_ours = self._hidden is not None and self._hidden.search(os.fsencode(line))
        return line if _WORD.search(line) and not is_ours else ""

    def begin_command(self) -> None:
        """Notes that what was written so far prepared the check, and says nothing about it."""
        self._command_begins = self.size

    def hide_lines(self, marks: Iterable[str]) -> None:
        """Leaves lines with one of these marks out of what is read by people and agents: they are about us."""
        self._hidden = re.compile(b"|".join(re.escape(os.fsencode(one)) for one in marks))

    @property
    def content(self) -> bytes:
        """What was kept, with a notice where something was cut."""
        return self._without_hidden(self._kept)

    @property
    def _kept(self) -> bytes:
        tail = b"".join(self._tail)[-TAIL_BYTES:]
        cut = self.size - len(self._head) - len(tail)
        notice = f"\n… {cut} bytes of output were left out here …\n".encode() if cut else b""
        return bytes(self._head) + notice + tail

    def _without_hidden(self, content: bytes) -> bytes:
        if self._hidden is None or not self._hidden.search(content):
            return content
        return b"".join(line for line in content.splitlines(keepends=True) if not self._hidden.search(line))

    @property
    def text(self) -> str:
        """All that was kept, also what is hidden."""
        return self._kept.decode(errors="replace")

    def excerpt(self) -> str:
        """The last lines, which say what went wrong: of the check itself, if it wrote any. Without colours."""
        content = self._kept
        own = self._without_hidden(content[-written:] if (written := self.size - self._command_begins) else content)
        text = _TERMINAL_SEQUENCE.sub("", own[-EXCERPT_CHARACTERS * 4 :].decode(errors="replace"))
        # Of a line that was written over, like that of a progress bar, the last state counts.
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
        return take_last_lines("\n".join(lines[-EXCERPT_LINES - 1 :]).strip("\n"), EXCERPT_CHARACTERS)

    def save(self, path: str) -> None:
        """Writes what was kept into a file.

        Raises:
            OSError: it cannot be written.
        """
        write_atomically(path, self.content)
