"""What a program wrote to its standard error: its last lines, and a file to look at later."""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from binnacle.config.rolling_file import RollingFile
from binnacle.wire.hidden_text import make_readable

KEPT_LINES = 1000
MAX_LINE_CHARACTERS = 2000
MAX_UNFINISHED_BYTES = 64 << 10
"""Bytes kept of a line that has no end yet."""

MAX_TAIL_CHARACTERS = 4000

START_MARK = "--- started as process "


class OutputLog:
    """The last lines that a program wrote, however much it was."""

    def __init__(self, file: RollingFile | None = None, *, clean: Callable[[str], str] = str) -> None:
        """`file` gets every line with its time; `clean` removes secrets from a line."""
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._file = file
        self._clean = clean
        self._unfinished = b""
        self.size = 0
        """Bytes that were written in all."""

    def write(self, data: bytes) -> None:
        """Takes what the program wrote."""
        self.size += len(data)
        *lines, unfinished = (self._unfinished + data).split(b"\n")
        self._unfinished = unfinished[-MAX_UNFINISHED_BYTES:]
        if lines:
            self._keep([self._readable(line) for line in lines[-KEPT_LINES:]])

    def mark_start(self, pid: int) -> None:
        """Notes that a new process writes what follows."""
        self._keep([f"{START_MARK}{pid}"])

    def _keep(self, lines: list[str]) -> None:
        self.lines.extend(lines)
        if self._file is not None:
            moment = datetime.now(UTC).isoformat(timespec="seconds")
            self._file.append("".join(f"{moment} {line}\n" for line in lines).encode(errors="replace"))

    def _readable(self, line: bytes) -> str:
        text = line[:MAX_LINE_CHARACTERS].decode(errors="replace").rstrip().replace("\r", " ")
        return self._clean(make_readable(text, MAX_LINE_CHARACTERS))

    def tail(self) -> str:
        """The last lines of the process that was started last."""
        found = [*self.lines, self._readable(self._unfinished)]
        starts = [number for number, line in enumerate(found) if line.startswith(START_MARK)]
        since_start = found[starts[-1] + 1 if starts else 0 :]
        return "\n".join(line for line in since_start if line.strip())[-MAX_TAIL_CHARACTERS:]
