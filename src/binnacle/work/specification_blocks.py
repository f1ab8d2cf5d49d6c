"""The blocks of a specification: pieces of Markdown or plain text that belong together, in the order of the text."""

import re
from typing import Literal, NamedTuple

BlockKind = Literal["heading", "item", "ticked", "row", "paragraph", "code", "other"]

ITEM = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)")
"""The first line of an entry of a list: its indentation, and what follows its mark."""

_TICKED = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+\[[xX]\][ \t]")

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t]*#*[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_DIVIDER = re.compile(r"[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?")


class SpecBlock(NamedTuple):
    """A piece of the text that is never divided."""

    kind: BlockKind
    start: int
    end: int
    """Where the next block begins."""

    title: str
    """What it says, without its mark; of a heading, its words."""

    level: int = 0
    """Of a heading, its level; of an item, its indentation."""


def read_blocks(text: str) -> list[SpecBlock]:
    """The blocks of a text, each up to the beginning of the next: together they are the text. There is at least one."""
    return _BlockReader(text).run()


class _BlockReader:
    """Reads the lines of a text into blocks."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._size = len(text)
        self.blocks: list[SpecBlock] = []

    def run(self) -> list[SpecBlock]:
        """The blocks, each up to the beginning of the next."""
        place = self._skip_front_matter()
        while place < len(self._lines):
            place = self._read_block(place)
        if not self.blocks:
            self._add("other", 0, "")
        ends = [*(block.start for block in self.blocks[1:]), self._size]
        first = [block._replace(start=0) if number == 0 else block for number, block in enumerate(self.blocks)]
        return [block._replace(end=end) for block, end in zip(first, ends, strict=True)]

    def _line(self, place: int) -> str:
        return self._lines[place].rstrip("\r") if place < len(self._lines) else ""

    def _add(self, kind: BlockKind, place: int, title: str, level: int = 0) -> None:
        self.blocks.append(SpecBlock(kind, self._starts[place], 0, title, level))

    def _skip_front_matter(self) -> int:
        if self._line(0) == "---" and "---" in (closed := [self._line(place) for place in range(1, len(self._lines))]):
            self._add("other", 0, "")
            return closed.index("---") + 2
        return 0

    def _read_block(self, place: int) -> int:
        """Reads the block that begins at a line, and returns the line after it."""
        line = self._line(place)
        if not line.strip():
            return place + 1
        return self._read_marked(place, line) or self._read_prose(place, line)

    def _read_marked(self, place: int, line: str) -> int:
        """The line after a block that its first characters mark; 0 if this is none."""
        if heading := _HEADING.fullmatch(line):
            self._add("heading", place, (heading[2] or "").strip(), len(heading[1]))
            return place + 1
        if _FENCE.match(line):
            return self._read_code(place)
        if _RULE.fullmatch(line):
            self._add("other", place, "")
            return place + 1
        if line.lstrip().startswith("<!--"):
            self._add("other", place, "")
            return self._find_line(place, "-->") + 1
        if item := ITEM.fullmatch(line):
            kind: BlockKind = "ticked" if _TICKED.match(line) else "item"
            self._add(kind, place, item[2], len(item[1].expandtabs(4)))
            return self._read_rest(place + 1)
        return 0

    def _read_prose(self, place: int, line: str) -> int:
        """The line after a table, a heading that is underlined, or a paragraph."""
        if self._begins_table(place):
            return self._read_table(place)
        if _UNDERLINE.fullmatch(self._line(place + 1)) and "|" not in line:
            self._add("heading", place, line.strip(), 1 if "=" in self._line(place + 1) else 2)
            return place + 2
        is_part_of_item = line[:1] in " \t" and self.blocks and self.blocks[-1].kind in ("item", "ticked")
        if not is_part_of_item:
            self._add("paragraph", place, line.strip())
        return self._read_rest(place + 1)

    def _read_rest(self, place: int) -> int:
        """The line after the further lines of an item or a paragraph."""
        first = place
        while self._line(place).strip() and not self._begins_block(place):
            place += 1
        title = " ".join([self.blocks[-1].title, *(self._line(one).strip() for one in range(first, place))])
        self.blocks[-1] = self.blocks[-1]._replace(title=title)
        return place

    def _begins_block(self, place: int) -> bool:
        line = self._line(place)
        marks = (_HEADING.fullmatch, _FENCE.match, _RULE.fullmatch, ITEM.fullmatch)
        return any(mark(line) for mark in marks) or self._begins_table(place)

    def _begins_table(self, place: int) -> bool:
        divider = self._line(place + 1)
        return "|" in self._line(place) and "-" in divider and "|" in divider and bool(_DIVIDER.fullmatch(divider))

    def _read_table(self, place: int) -> int:
        self._add("other", place, "")
        place += 2
        while "|" in self._line(place):
            self._add("row", place, self._line(place).strip())
            place += 1
        return place

    def _read_code(self, place: int) -> int:
        """Code belongs to the item that it is indented in, or to the paragraph before it."""
        line = self._line(place)
        fence = _FENCE.match(line)
        assert fence is not None
        before = self.blocks[-1].kind if self.blocks else "other"
        if not (before == "paragraph" or (before in ("item", "ticked") and line[:1] in " \t")):
            self._add("code", place, fence[2].strip() or "code")
        mark = re.compile(rf"[ \t]*{re.escape(fence[1][0])}{{{len(fence[1])},}}[ \t]*")
        place += 1
        while place < len(self._lines) and not mark.fullmatch(self._line(place)):
            place += 1
        return place + 1

    def _find_line(self, place: int, words: str) -> int:
        """The first line from `place` on that has these words, or the last line."""
        return next((one for one in range(place, len(self._lines)) if words in self._lines[one]), len(self._lines) - 1)
