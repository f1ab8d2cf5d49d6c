"""Specifications: what a run is asked for, as sections and requirements, in parts that a planner can read.

A specification is Markdown, or plain text. It is read once into blocks, which together are the text to the byte:

    heading      begins a section
    item         an entry of a list, with its further lines and its code; an entry below it is a block of its own
    ticked       an entry with a ticked box, `[x]`: it is done already
    row          a row of a table
    paragraph    with the code that follows it
    code         that follows no item and no paragraph
    other        what nobody can be asked to do: comments, rules, the head of a table, front matter

A *requirement* is a block that asks for something: each item and each row; a paragraph in a section without items, or
one that says what must be; a heading with nothing below it. It has an id: the one in the text (`REQ-12:`, `[A3]`), or
else R1, R2, … in the order of the text. So ids change only if the text does. A heading with an id is one requirement
with everything in its section that has no id of its own.

`split_into_parts` divides a long text at sections, or within a section at blocks, never inside one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from binnacle.work.specification_blocks import ITEM, SpecBlock, read_blocks

MAX_PART_TOKENS = 6000
"""Tokens of a part, unless a single block is larger."""

MAX_BLOCK_TOKENS = 30_000
"""Tokens of the largest block that an agent is given."""

MAX_PARTS = 40
"""Parts of the longest specification that is planned."""

MAX_SUMMARY_CHARACTERS = 80

_OBLIGATION = re.compile(
    r"\b(?:must|shall|should|has to|have to|needs? to|is required|are required|never|always|may not|cannot)\b",
    re.IGNORECASE,
)
_ID = r"[A-Z][A-Za-z]{0,11}(?:[-_][A-Za-z]{1,12})*[-_.]?\d+(?:[.-]\d+)*[a-z]?"
_QUOTE = r"(?:\*\*|__|`)"
_NAMED = re.compile(
    rf"{_QUOTE}?(?:\[({_ID})\]|\(({_ID})\)|({_ID})(?={_QUOTE}?[ \t]*[:.)–—]|{_QUOTE})){_QUOTE}?[:.)–— \t]*"
)
_CELL_ID = re.compile(rf"[ \t]*(?:\|[ \t]*)?(?:\*\*|`)?({_ID})(?:\*\*|`)?[ \t]*\|")


class SpecSection(NamedTuple):
    """A heading and the blocks below it, up to the next heading. The text before the first heading has no title."""

    title: str
    level: int
    blocks: tuple[SpecBlock, ...]

    @property
    def start(self) -> int:
        return self.blocks[0].start

    @property
    def end(self) -> int:
        return self.blocks[-1].end


class Requirement(NamedTuple):
    """Something that a specification asks for."""

    id: str
    text: str
    start: int

    @property
    def summary(self) -> str:
        """Its first line, shortened."""
        line = self.text.split("\n", 1)[0].strip()
        return line if len(line) <= MAX_SUMMARY_CHARACTERS else f"{line[: MAX_SUMMARY_CHARACTERS - 1].rstrip()}…"


class Specification(NamedTuple):
    """A text, its sections and its requirements."""

    text: str
    sections: tuple[SpecSection, ...]
    requirements: tuple[Requirement, ...]


class SpecPart(NamedTuple):
    """A part of a specification for one planner."""

    number: int
    total: int
    text: str
    requirements: tuple[Requirement, ...]


class Coverage(NamedTuple):
    """Which tasks cover which requirements."""

    covered: dict[str, list[str]]
    """The ids of the tasks, by requirement."""

    missing: list[Requirement]
    unknown: dict[str, list[str]]
    """What tasks claim to cover and the specification does not have, by task."""


def count_tokens(text: str) -> int:
    """The approximate number of tokens of a text: one for every four bytes."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def parse_specification(text: str) -> Specification:
    """The sections and requirements of a text."""
    sections = _group(read_blocks(text))
    return Specification(text, sections, _find_requirements(text, sections))


def find_problems(text: str) -> list[str]:
    """Why an agent cannot be given all of a text; nothing if it can."""
    found = []
    if "\0" in text or "\ufffd" in text:
        line = text.count("\n", 0, min(text.find(mark) for mark in "\0\ufffd" if mark in text)) + 1
        found.append(f"it is not text in UTF-8: line {line} has bytes that are no characters")
    spec = parse_specification(text)
    found += [
        f"the block at line {text.count(chr(10), 0, block.start) + 1} has about {size} tokens, and an agent gets at "
        f"most {MAX_BLOCK_TOKENS} at once"
        for section in spec.sections
        for block in section.blocks
        if (size := count_tokens(text[block.start : block.end])) > MAX_BLOCK_TOKENS
    ]
    if (parts := len(split_into_parts(spec))) > MAX_PARTS:
        found.append(f"it has about {count_tokens(text)} tokens: {parts} parts, of which {MAX_PARTS} are planned")
    return found


def split_into_parts(spec: Specification, tokens: int = MAX_PART_TOKENS) -> list[SpecPart]:
    """The text in parts of at most so many tokens, unless one block has more. Together they are the text."""
    ends: list[int] = []
    start = 0
    for section in spec.sections:
        if count_tokens(spec.text[start : section.end]) <= tokens:
            continue
        if section.start > start:
            ends.append(section.start)
            start = section.start
        if count_tokens(spec.text[start : section.end]) > tokens:
            for end in _divide(spec.text, section, tokens):
                ends.append(end)
                start = end
    ends.append(len(spec.text))
    starts = [0, *ends[:-1]]
    return [
        SpecPart(
            number,
            len(ends),
            spec.text[first:last],
            tuple(one for one in spec.requirements if first <= one.start < last),
        )
        for number, (first, last) in enumerate(zip(starts, ends, strict=True), 1)
    ]


def outline(spec: Specification, *, max_lines: int = 80) -> str:
    """The headings of a text, indented by their levels; only the upper ones if there are many."""
    headings = [one for one in spec.sections if one.title]
    deepest = 6
    while deepest > 1 and sum(one.level <= deepest for one in headings) > max_lines:
        deepest -= 1
    shown = [one for one in headings if one.level <= deepest]
    lines = [f"{'  ' * (one.level - 1)}- {one.title}" for one in shown[:max_lines]]
    left = len(headings) - len(lines)
    return "\n".join([*lines, f"… and {left} more"] if left else lines)


def find_coverage(spec: Specification, covers: Mapping[str, Iterable[str]]) -> Coverage:
    """Which requirements the tasks cover that say so, by their ids: `R3`, `R3-R7`, or several in one text."""
    known = {one.id.casefold(): place for place, one in enumerate(spec.requirements)}
    covered: dict[str, list[str]] = {one.id: [] for one in spec.requirements}
    unknown: dict[str, list[str]] = {}
    for task_id, entries in covers.items():
        for word in (word for entry in entries for word in re.split(r"[,;\s]+", entry) if word):
            places = _resolve(word.strip("[]()").casefold(), known)
            if not places:
                unknown.setdefault(task_id, []).append(word)
            for place in places:
                tasks = covered[spec.requirements[place].id]
                if task_id not in tasks:
                    tasks.append(task_id)
    return Coverage(covered, [one for one in spec.requirements if not covered[one.id]], unknown)


def find_covered(spec: Specification, covers: Iterable[str]) -> list[Requirement]:
    """The requirements that a task says it covers, in the order of the text."""
    coverage = find_coverage(spec, {"": covers})
    return [one for one in spec.requirements if coverage.covered[one.id]]


def _resolve(word: str, known: Mapping[str, int]) -> Sequence[int]:
    """The places of the requirements that a word names: one, or a range."""
    if word in known:
        return (known[word],)
    for match in re.finditer(r"-|–|—|\.\.+", word):
        first, last = word[: match.start()], word[match.end() :]
        if first not in known:
            continue
        if last not in known:
            last = re.sub(r"\d+$", "", first) + last
        if last in known and known[first] <= known[last]:
            return range(known[first], known[last] + 1)
    return ()


def _divide(text: str, section: SpecSection, tokens: int) -> list[int]:
    """Where a section that is too large is divided. A heading stays with what follows it."""
    ends: list[int] = []
    start = section.start
    blocks = section.blocks
    for place, block in enumerate(blocks):
        begin = blocks[place - 1].start if place and blocks[place - 1].kind == "heading" else block.start
        if count_tokens(text[start : block.end]) > tokens and begin > start:
            ends.append(begin)
            start = begin
    return ends


def _group(blocks: Sequence[SpecBlock]) -> tuple[SpecSection, ...]:
    found: list[list[SpecBlock]] = []
    for block in blocks:
        if block.kind == "heading" or not found:
            found.append([])
        found[-1].append(block)
    return tuple(
        SpecSection(some[0].title, some[0].level, tuple(some))
        if some[0].kind == "heading"
        else SpecSection("", 1, tuple(some))
        for some in found
    )


def _find_requirements(text: str, sections: Sequence[SpecSection]) -> tuple[Requirement, ...]:
    asking = [
        (section, block)
        for place, section in enumerate(sections)
        for block in _asking_blocks(section, sections[place + 1] if place + 1 < len(sections) else None)
    ]
    names = [_explicit_id(block) for _, block in asking]
    taken = {name.casefold() for name in names if name}
    seen: set[str] = set()
    found = []
    number = 0
    for (section, block), name in zip(asking, names, strict=True):
        if name.casefold() in seen:  # said again, such as in a table of all requirements
            continue
        if not name:
            number += 1
            while f"r{number}" in taken:
                number += 1
        seen |= {name.casefold()} if name else set()
        found.append(Requirement(name or f"R{number}", _words_of(text, section, block), block.start))
    return tuple(found)


def _asking_blocks(section: SpecSection, after: SpecSection | None) -> list[SpecBlock]:
    """The blocks of a section that ask for something; `after` is the next section."""
    has_subsections = after is not None and after.level > section.level
    body = [block for block in section.blocks if block.kind not in ("heading", "ticked", "other")]
    heading = section.blocks[0] if section.blocks[0].kind == "heading" else None
    if heading is not None and _NAMED.match(heading.title):
        return [heading, *(block for block in body if _is_named(block))]
    has_entries = any(block.kind in ("item", "ticked", "row") for block in section.blocks)
    if heading is not None and not body and not has_entries and not has_subsections:
        return [heading] if heading.title else []
    is_prose = not has_entries and not (has_subsections and section.level <= 1)
    return [
        block
        for place, block in enumerate(body)
        if _asks(block, body[place + 1] if place + 1 < len(body) else None, is_prose=is_prose)
    ]


def _asks(block: SpecBlock, after: SpecBlock | None, *, is_prose: bool) -> bool:
    if _is_named(block) or block.kind == "row":
        return True
    introduces = after.kind if after is not None and block.title.rstrip().endswith(":") else ""
    if block.kind == "item":
        return not (introduces == "item" and after is not None and after.level > block.level)
    if block.kind == "paragraph":
        return introduces not in ("item", "row") and (is_prose or bool(_OBLIGATION.search(block.title)))
    return is_prose


def _is_named(block: SpecBlock) -> bool:
    return bool((_CELL_ID if block.kind == "row" else _NAMED).match(block.title))


def _explicit_id(block: SpecBlock) -> str:
    """The id that the text itself gives a block, or nothing."""
    if block.kind == "row":
        cell = _CELL_ID.match(block.title)
        return cell[1] if cell else ""
    match = _NAMED.match(block.title)
    return next((one for one in match.groups() if one), "") if match else ""


def _words_of(text: str, section: SpecSection, block: SpecBlock) -> str:
    """What a requirement says: a block without its mark; of a heading with an id, also what is below it."""
    if block.kind == "heading":
        below = [text[one.start : one.end] for one in section.blocks[1:] if not _is_named(one)]
        return "".join([f"{block.title}\n\n" if below else block.title, *below]).strip()
    raw = text[block.start : block.end].strip("\n")
    if block.kind == "item" and (match := ITEM.match(raw)):
        raw = raw[match.start(2) :]
    return raw.strip()
