"""What people see: tables, colours and text that cannot break their terminal.

Titles, names, messages and paths come from other people and programs, and may hold what a terminal obeys. No view
has to think of it: whatever is printed passes `printable`, and only styles made by `Screen.styled` become escape
sequences. They are marked with a random word until they are written, so nothing that is shown can pretend to be one.

Written here because the usual library takes longer to import than any command takes to
run (docs/decisions/0002). Everything stays understandable without colour.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}

STATUS_MARKS = {
    "draft": ("◌", "dim"),
    "pending": ("○", ""),
    "in_progress": ("◐", "blue"),
    "in_review": ("◎", "cyan"),
    "partial": ("◑", "yellow"),
    "blocked": ("✗", "red"),
    "needs_input": ("?", "magenta"),
    "done": ("●", "green"),
    "cancelled": ("–", "dim"),
}
"""A sign and a colour for every status; the word is always printed beside it."""


class Screen:
    """A stream for people to read."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream: TextIO = stream or sys.stdout
        self.is_terminal = self._stream.isatty()
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        self._coloured = bool(os.environ.get("FORCE_COLOR")) or (self.is_terminal and not plain)
        self._mark = f"\x1b{os.urandom(8).hex()}"
        """Begins a style in text that is not written yet."""

        self.width = _columns(self._stream) if self.is_terminal else 120

    def line(self, text: str = "") -> None:
        """Prints one line; line feeds in it become spaces."""
        self.write(f"{self._shown(text)}\n")

    def ask(self, question: str) -> None:
        """Prints a question, after which a person types."""
        self.write(f"{self._shown(question)} ")
        self._stream.flush()

    def write(self, text: str) -> None:
        """Writes text that is safe already, in what the stream can show of it."""
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))

    def _shown(self, text: str) -> str:
        first, *styled = text.split(self._mark)
        parts = (part.partition("m") for part in styled)
        return printable(first) + "".join(f"\x1b[{code}m{printable(rest)}" for code, _, rest in parts)

    def styled(self, text: str, style: str) -> str:
        """`text` in a style, if the stream shows styles."""
        return f"{self._mark}{_STYLES[style]}m{text}{self._mark}0m" if self._coloured and style else text

    def heading(self, text: str) -> None:
        """Prints a line that begins a part."""
        self.line(self.styled(text, "bold"))

    def block(self, text: str, *, indent: int = 2) -> None:
        """Prints text of several lines, indented."""
        for line in printable(text, keep_lines=True).expandtabs().splitlines():
            self.line(f"{' ' * indent}{line}".rstrip())

    def table(self, rows: Iterable[Sequence[str]], *, flexible: int, headings: Sequence[str] = ()) -> None:
        """Prints rows in columns. Column `flexible` gives way when the line is too long."""
        cells = [[printable(cell) for cell in row] for row in rows]
        if headings:
            cells.insert(0, [*headings])
        if not cells:
            return
        widths = [max(width_of(row[column]) for row in cells) for column in range(len(cells[0]))]
        spare = self.width - sum(widths) - 2 * (len(widths) - 1)
        if spare < 0:
            widths[flexible] = max(12, widths[flexible] + spare)
        for number, row in enumerate(cells):
            parts = [pad(cell, width) for cell, width in zip(row, widths, strict=True)]
            text = "  ".join(parts).rstrip()
            self.line(self.styled(text, "bold") if headings and number == 0 else self._tinted(text))

    def _tinted(self, text: str) -> str:
        """Colours the status word of a table row, wherever it stands."""
        for mark, style in STATUS_MARKS.values():
            if style and f"{mark} " in text:
                start = text.index(f"{mark} ")
                end = text.find("  ", start)
                end = len(text) if end < 0 else end
                return f"{text[:start]}{self.styled(text[start:end], style)}{text[end:]}"
        return text


def mark_status(status: str) -> str:
    """A status with its sign. Tables colour it."""
    return f"{STATUS_MARKS[status][0]} {status}"


def printable(text: str, *, keep_lines: bool = False) -> str:
    """`text` without anything a terminal would obey: control characters and those that turn the direction of text."""
    if text.isprintable():
        return text
    kept = "\n\t" if keep_lines else ""
    return "".join(c if c.isprintable() or c in kept else " " for c in text)


def width_of(text: str) -> int:
    """Columns that `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(c) in ("Mn", "Me") else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def pad(text: str, width: int) -> str:
    """`text` in exactly `width` columns, cut with `…` when it is longer."""
    # Characters that combine take no column; a text with very many of them is cut as if it were too wide.
    head = text[: 8 * width]
    if head != text or width_of(text) > width:
        kept, used = 0, 0
        while kept < len(head) and used + (size := width_of(head[kept])) <= width - 1:
            kept, used = kept + 1, used + size
        text = f"{head[:kept]}…"
    return text + " " * (width - width_of(text))


def _columns(stream: TextIO) -> int:
    try:
        return max(40, os.get_terminal_size(stream.fileno()).columns or 80)  # 0 where nobody told the terminal
    except OSError:
        return 80
