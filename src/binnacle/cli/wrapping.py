"""Breaks text into lines that fit a terminal: between words, and by columns rather than characters."""

import re
from collections.abc import Iterator, Sequence

from binnacle.cli.screen import printable, width_of

_WORDS = re.compile(r" *[^ ]+")


def wrap_words(text: str, width: int, *, indent: int = 0) -> list[str]:
    """One line of text as lines of at most `width` columns; a longer word is broken.

    Lines after the first begin with `indent` spaces. There is always at least one line.
    """
    before = " " * min(indent, width // 2)
    lines: list[str] = []
    line, used = "", 0
    for word in _WORDS.findall(printable(text)):
        size = width_of(word)
        if used + size <= width:
            line, used = line + word, used + size
            continue
        rest = line + word
        if line.strip():
            lines.append(line)
            rest = before + word.lstrip(" ")
        *full, line = _break(rest, width, before)
        lines += full
        used = width_of(line)
    return [*lines, line] if line.strip() or not lines else lines


def wrap_units(units: Sequence[str], width: int, *, between: str = " · ") -> list[str]:
    """Short texts in as few lines as possible, none of them broken unless it is wider than a line."""
    lines: list[str] = []
    for unit in units:
        if lines and width_of(lines[-1] + between + unit) <= width:
            lines[-1] += between + unit
        else:
            lines += wrap_words(unit, width)
    return lines


def count_rows(text: str, columns: int) -> int:
    """The rows that a line takes on a terminal, which breaks it between any two characters."""
    return len(_break(text, columns, "")) if width_of(text) > columns else 1


def _break(text: str, width: int, before: str) -> list[str]:
    return list(_pieces(text, width, before))


def _pieces(text: str, width: int, before: str) -> Iterator[str]:
    start, used, indent = 0, 0, ""
    for place, character in enumerate(text):
        size = width_of(character)
        if used + size > width and place > start:
            yield indent + text[start:place]
            start, used, indent = place, len(before), before
        used += size
    yield indent + text[start:]
