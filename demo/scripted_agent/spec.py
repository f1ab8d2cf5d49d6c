"""What a specification asks for: its tasks, and the blocks of code in them.

    ## Tasks

    1. Add the function `total` to the cart
       ```python cart.py
       def total(items): ...
       ```
    2. Make tests/test_cart.py::test_total pass (depends on 1)
       Priority: high

Bullets, numbers and checkboxes begin a task; one with a ticked box is done. What is below an item is its description.
"""

import re
from collections.abc import Iterator, Sequence
from textwrap import dedent

from msgspec import Struct
from msgspec.structs import replace

TITLE_LIMIT = 200
"""Characters of a task's title."""

SHELLS = ("sh", "bash", "shell", "console")

_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"(\s*)(?:[-*+]|\d+[.)])\s+(?:\[([ xX])\]\s+)?(.+)")
_SERVERS_OWN = re.compile(r"\[P\d\] \[")
"""How a task begins in the list that the prompt itself has under this heading."""

_BEHIND = (
    *("instructions", "recent iterations", "notes", "answers to questions"),
    *("what is known", "current tasks", "rules", "workflow", "requirements without a task"),
)
"""Headings that follow the specification in a prompt."""

_PART = re.compile(r"Part (?!1 )\d+ of \d+ of the specification.*:\n")
"""How a part of a long specification begins: perhaps within its list of tasks."""

_REQUIREMENT = re.compile(r"- ([^\s:]+): (.*)")
_AFTER = re.compile(r"\((?:depends on|after)[: ]\s*([^)]+)\)|^\s*depends on:?\s+(.+)$", re.IGNORECASE | re.MULTILINE)
_PRIORITY = re.compile(r"\(priority:?\s+(\w+)\)|^\s*priority:\s*(\w+)\s*$", re.IGNORECASE | re.MULTILINE)


class Item(Struct, frozen=True, kw_only=True):
    """A task as a specification has it."""

    title: str
    source: str = ""
    """Its first line as the specification has it."""

    description: str = ""
    priority: str = ""
    depends_on: tuple[int, ...] = ()
    """Places in the list, from 0, of what comes first."""

    is_done: bool = False
    covers: tuple[str, ...] = ()
    """The ids of the requirements that it meets."""


class Block(Struct, frozen=True, kw_only=True):
    """A fenced block of code."""

    language: str
    path: str
    """The file it belongs to; empty if it names none."""

    code: str

    @property
    def is_command(self) -> bool:
        return self.language in SHELLS and not self.path


def tasks_in(prompt: str) -> list[Item]:
    """The tasks of the specification in a prompt; the whole specification as one, if it has no list of them."""
    spec = spec_in(prompt)
    lists = (_items(lines) for heading, lines in _sections(spec) if heading.casefold().startswith("tasks"))
    found = next((items for items in lists if items and not _SERVERS_OWN.match(items[0][0])), [])
    if not found and (rest := _PART.match(spec)):
        found = _items(re.split(r"^#", spec[rest.end() :], maxsplit=1, flags=re.MULTILINE)[0].splitlines())
    if not found:
        found = [(title, body, done) for title, body, done in _items(spec.splitlines()) if done is not None]
    if not found and (first := next((line.strip("# ") for line in spec.splitlines() if line.strip("# ")), "")):
        found = [(first, spec, None)]
    return _assign(_linked([one for one in found if _title(one[0])]), requirements_in(prompt))


def requirements_in(prompt: str) -> list[tuple[str, str]]:
    """The requirements that a prompt wants to see covered: their ids and first lines."""
    named = (lines for heading, lines in _sections(prompt) if heading.casefold() == "requirements without a task")
    found = (_REQUIREMENT.match(line) for lines in named for line in lines)
    return [(one[1], one[2]) for one in found if one]


def _assign(items: list[Item], requirements: Sequence[tuple[str, str]]) -> list[Item]:
    """The items with the requirements that they meet. One that is in none belongs to the item before it."""
    covers: dict[int, list[str]] = {}
    still_open = [(at, _fold(f"{item.source} {item.description}")) for at, item in enumerate(items) if not item.is_done]
    place = still_open[0][0] if still_open else 0
    for requirement, text in requirements:
        words = _fold(text.rstrip("…"))
        place = next((at for at, said in still_open if words in said), place)
        covers.setdefault(place, []).append(requirement)
    return [replace(item, covers=tuple(covers.get(at, ()))) for at, item in enumerate(items)]


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def spec_in(prompt: str) -> str:
    """The part of a prompt that is the specification; all of it, if no heading says where that is."""
    lines = prompt.splitlines()
    headings = [(number, found[2].casefold()) for number, found in _headings(lines)]
    start = next((number for number, text in headings if text in ("input", "spec", "specification")), None)
    if start is None:
        return prompt
    end = next((number for number, text in headings if number > start and text in _BEHIND), len(lines))
    return "\n".join(lines[start + 1 : end]).strip("\n")


def blocks_in(text: str) -> list[Block]:
    """The fenced blocks of a text. `python cart.py` after the fence names language and file."""
    found: list[Block] = []
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        number += 1
        if fence is None:
            continue
        body: list[str] = []
        while number < len(lines) and not lines[number].strip().startswith(fence[1]):
            body.append(lines[number])
            number += 1
        number += 1
        words = fence[2].split()
        path = next((word.removeprefix("path=") for word in reversed(words) if "." in word or "/" in word), "")
        language = words[0] if words and words[0] != path else ""
        found.append(Block(language=language, path=path, code=dedent("\n".join(body)).rstrip() + "\n"))
    return found


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """The headings among the lines; a line of code is none."""
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (found := _HEADING.match(line)):
            yield number, found


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    lines = text.splitlines()
    starts = [(number, found[2]) for number, found in _headings(lines)]
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    for (start, heading), end in zip(starts, ends, strict=False):
        yield heading, lines[start + 1 : end]


def _items(lines: Sequence[str]) -> list[tuple[str, str, bool | None]]:
    """Title, description and tick of each item of a list; items of lists within belong to the description."""
    found: list[tuple[str, list[str], bool | None]] = []
    indent: int | None = None
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
        item = None if mark or fence else _ITEM.match(line)
        if item and (indent is None or len(item[1]) <= indent):
            indent = len(item[1])
            found.append((item[3].strip(), [], None if item[2] is None else item[2] != " "))
        elif found:
            found[-1][1].append(line)
    return [(title, dedent("\n".join(body)).strip("\n"), done) for title, body, done in found]


def _title(text: str) -> str:
    return _PRIORITY.sub("", _AFTER.sub("", text)).strip(" \t*_")[:TITLE_LIMIT].strip()


def _linked(items: Sequence[tuple[str, str, bool | None]]) -> list[Item]:
    titles = [_title(text) for text, _, _ in items]
    found: list[Item] = []
    for number, (title, body, done) in enumerate(items):
        after = _AFTER.search(title) or _AFTER.search(body)
        wanted = re.split(r",|\band\b", after[1] or after[2]) if after else []
        places = (_place(word.strip(" .#*`\"'"), titles) for word in wanted)
        priority = _PRIORITY.search(title) or _PRIORITY.search(body)
        found.append(
            Item(
                title=titles[number],
                source=title,
                description=body,
                priority=(priority[1] or priority[2]).lower() if priority else "",
                depends_on=tuple(place for place in places if place is not None and place != number),
                is_done=bool(done),
            )
        )
    return found


def _place(word: str, titles: Sequence[str]) -> int | None:
    """The item that a number or the beginning of a title means."""
    word = re.sub(r"^(?:task|step|item)\s+#?(?=\d)", "", word, flags=re.IGNORECASE)
    if word.isdecimal():
        return int(word) - 1 if 0 < int(word) <= len(titles) else None
    return next(
        (place for place, title in enumerate(titles) if word and title.casefold().startswith(word.casefold())), None
    )
