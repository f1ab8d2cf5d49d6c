"""A bar on the terminal for what takes a while. Elsewhere it prints nothing."""

import sys
import time
from shutil import get_terminal_size
from typing import Self

BAR_COLUMNS = 30
REDRAW_SECONDS = 0.1
"""Seconds between two drawings."""


class ProgressBar:
    """Progress of one piece of work on stderr; leaving it takes the bar away."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._shown = sys.stderr.isatty()
        self._drawn = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def advance(self, done: int, note: str = "") -> None:
        """Shows how far the work is, and what else is to be said."""
        now = time.monotonic()
        if not self._shown or now - self._drawn < REDRAW_SECONDS:
            return
        self._drawn = now
        if self._total:
            filled = min(BAR_COLUMNS, BAR_COLUMNS * done // self._total)
            text = f"{self._label} {'█' * filled}{'░' * (BAR_COLUMNS - filled)} {done}/{self._total}"
        else:
            text = f"{self._label} {done}" if done else self._label
        shown = f"{text} {note}".rstrip()[: get_terminal_size().columns - 1]  # a longer line could not be taken away
        sys.stderr.write(f"\r{shown}\x1b[K")
        sys.stderr.flush()
