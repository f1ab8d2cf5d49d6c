"""A terminal without a window: what a program writes, as rows of characters. It wraps its lines again when resized."""

import re
import unicodedata

TOKENS = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b.|\r|\n|[^\x1b\r\n]+", re.DOTALL)


def columns_of(character: str) -> int:
    return 0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1


class EmulatedTerminal:
    """Understands what our views write: text, ends of lines, styles, cursor up and erasing. Fails at all else."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._lines: list[str] = [""]
        """Everything that was written, scrolled away or not; each as long as it is, wrapped only when shown."""

        self._at = 0
        """The line of the cursor, whose column is its end."""

        self._unfinished = ""
        """The beginning of an escape sequence whose rest has not come yet."""

        self._top = 0
        """The first row that can be seen. What was scrolled away does not come back when something is erased."""

    def feed(self, text: str) -> None:
        text = self._unfinished + text
        start = text.rfind("\x1b")
        is_cut = start >= 0 and re.fullmatch(r"\x1b(\[[0-9;?]*)?", text[start:]) is not None
        self._unfinished = text[start:] if is_cut else ""
        self._feed(text.removesuffix(self._unfinished))

    def _feed(self, text: str) -> None:
        for found in TOKENS.finditer(text):
            token = found[0]
            if token == "\n":
                self._at += 1
                if self._at == len(self._lines):
                    self._lines.append("")
            elif found[2] == "F":
                self._up(int(found[1] or 1))
            elif found[2] == "J":
                assert found[1] == "", token
                del self._lines[self._at + 1 :]
                self._lines[self._at] = ""
            elif token.startswith("\x1b"):
                assert found[2] == "m", f"unexpected: {token!r}"
            elif token != "\r":
                self._lines[self._at] += token
            self._top = max(self._top, self._row() - self.rows + 1)

    def resize(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._top = max(0, self._row() - rows + 1)

    def shown(self) -> list[str]:
        """The rows of everything written, from the first that ever was to the last; the last ones are on the screen."""
        return [row for line in self._lines for row in self._wrap(line)]

    def screen(self) -> list[str]:
        """The rows that can be seen."""
        return self.shown()[self._top : self._top + self.rows]

    def _row(self) -> int:
        """The row of the cursor."""
        above = sum(len(self._wrap(line)) for line in self._lines[: self._at])
        return above + len(self._wrap(self._lines[self._at])) - 1

    def _up(self, rows: int) -> None:
        """Moves up to the first column; not beyond the first row of the screen."""
        above = sum(len(self._wrap(line)) for line in self._lines[: self._at])
        target = max(self._top, above - rows)
        place = 0
        for number, line in enumerate(self._lines):
            if place == target:
                self._at = number
                return
            place += len(self._wrap(line))
            if place > target:  # in the middle of a wrapped line: what is above the cursor stays
                kept = self._wrap(line)[: target - (place - len(self._wrap(line)))]
                self._lines[number : number + 1] = [*kept, ""]
                self._at = number + len(kept)
                return

    def _wrap(self, line: str) -> list[str]:
        rows, used = [""], 0
        for character in line:
            size = columns_of(character)
            if used + size > self.columns:
                rows.append("")
                used = 0
            rows[-1] += character
            used += size
        return rows
