"""Edits JSON with comments and trailing commas without reformatting it.

No maintained package on PyPI changes one entry of a JSONC text and leaves every other byte alone, so this module does:
`jsonc_parser` finds the spans of values, then a few characters are removed or inserted. Duplicate keys are refused only
on the path to our entry and in it; elsewhere they do not matter.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from binnacle.config.clients.config_text import NAME, REMOTE_KEYS, ConfigText, EntryPlace
from binnacle.config.clients.jsonc_parser import COMMENT, JsoncMember, JsoncNode, parse


def put(source: ConfigText, place: EntryPlace) -> str:
    """The text with our entry. What a person added to the entry, such as `env`, is kept."""
    while (text := _step(source, place)) != source.text:
        source = source._replace(text=text)
    return text


def take(source: ConfigText, place: EntryPlace) -> str:
    """The text without our entry, and without the object around it if that becomes empty."""
    root = parse(source)
    container = root and _member(source, root, place.container, "the file")
    ours = container and _member(source, container.node, NAME, repr(place.container))
    if not root or not container or not ours:
        return source.text
    _check_object(source, ours.node, repr(NAME))
    node = container.node
    rest = source.text[node.start + 1 : ours.start] + source.text[ours.node.end : node.end - 1]
    is_empty = len(node.members) == 1 and not rest.replace(",", "").strip()
    return _cut(source.text, root, container) if is_empty else _cut(source.text, node, ours)


def put_at(source: ConfigText, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys. Missing objects on the path are created; everything else stays."""
    root = parse(source)
    if root is None:
        for key in reversed(path):
            value = {key: value}
        gap = "" if not source.text or source.text.endswith("\n") else source.newline
        return f"{source.text}{gap}{_render(value, source.newline, '  ')}{source.newline}"
    node = root
    for depth, key in enumerate(path):
        member = _member(source, node, key, repr(path[depth - 1]) if depth else "the file")
        if member is None:
            for below in reversed(path[depth + 1 :]):
                value = {below: value}
            return _insert(source, root, node, key, value)
        node = member.node
    if node.value == value:
        return source.text
    layout = _layout(source, root, node)
    new = json.dumps(value) if layout.is_flat else _render(value, source.newline + layout.closing, layout.unit)
    return _splice(source.text, node.start, node.end, new)


def take_at(source: ConfigText, path: Sequence[str]) -> str:
    """The text without the value at a path of keys."""
    node = parse(source)
    for depth, key in enumerate(path):
        member = node and _member(source, node, key, repr(path[depth - 1]) if depth else "the file")
        if not node or not member:
            return source.text
        if depth == len(path) - 1:
            return _cut(source.text, node, member)
        node = member.node
    return source.text


def _step(source: ConfigText, place: EntryPlace) -> str:
    """The text with the next change towards our entry; unchanged if the entry is complete."""
    root = parse(source)
    if root is None:
        document = _render({place.container: {NAME: place.wanted()}}, source.newline, "  ")
        gap = "" if not source.text or source.text.endswith("\n") else source.newline
        return f"{source.text}{gap}{document}{source.newline}"
    container = _member(source, root, place.container, "the file")
    if container is None:
        return _insert(source, root, root, place.container, {NAME: place.wanted()})
    ours = _member(source, container.node, NAME, repr(place.container))
    if ours is None:
        return _insert(source, root, container.node, NAME, place.wanted())
    return _update_entry(source, root, ours.node, place.wanted(ours.node.value))


def _update_entry(source: ConfigText, root: JsoncNode, node: JsoncNode, entry: dict[str, Any]) -> str:
    """The text with the first difference fixed between our entry and the object that is there for it."""
    for key in sorted(REMOTE_KEYS - entry.keys()):
        if member := _member(source, node, key, repr(NAME)):
            return _cut(source.text, node, member)
    for key, value in entry.items():
        member = _member(source, node, key, repr(NAME))
        if member is None:
            return _insert(source, root, node, key, value)
        if member.node.value != value:
            return _splice(source.text, member.node.start, member.node.end, json.dumps(value))
    return source.text


def _member(source: ConfigText, node: JsoncNode, key: str, name: str) -> JsoncMember | None:
    """The member called `key`, if the node is an object with at most one of them."""
    _check_object(source, node, name)
    found = [member for member in node.members if member.key == key]
    if len(found) > 1:
        raise source.fault(f"{key!r} occurs twice", at=found[1].start, hint="remove one of the two by hand")
    return found[0] if found else None


def _check_object(source: ConfigText, node: JsoncNode, name: str) -> None:
    if not isinstance(node.value, dict):
        raise source.fault(f"{name} is not an object", at=node.start, hint="make it an object: {}")


class _Layout(NamedTuple):
    """How the members of one object are laid out."""

    newline: str
    unit: str
    """One step of indentation."""

    indent: str
    """Indentation of its members."""

    closing: str
    """Indentation of its closing brace."""

    is_flat: bool
    """Whether its members are on one line."""

    is_tight: bool
    """Whether it is flat and has no spaces."""

    @property
    def gap(self) -> str:
        """The space before a member that follows another."""
        return ("" if self.is_tight else " ") if self.is_flat else self.newline + self.indent

    def render(self, key: str, value: Any) -> str:
        """A member as text."""
        if self.is_tight:
            return json.dumps({key: value}, separators=(",", ":"))[1:-1]
        if self.is_flat:
            return json.dumps({key: value})[1:-1]
        return f"{json.dumps(key)}: {_render(value, self.newline + self.indent, self.unit)}"


def _layout(source: ConfigText, root: JsoncNode, node: JsoncNode) -> _Layout:
    text = source.text
    whole = text[root.start : root.end]
    first = root.members[0].start if root.members else root.start
    unit = _indent(text, first) if "\n" in text[root.start : first] else ""
    if node.members:
        is_flat = "\n" not in text[node.start : node.members[0].start]
    else:
        is_flat = node is not root and "\n" not in whole
    closing = _indent(text, node.start)
    unit = unit or "  "
    indent = _indent(text, node.members[0].start) if node.members and not is_flat else closing + unit
    return _Layout(source.newline, unit, indent, closing, is_flat, is_flat and not re.search(r"[:,]\s", whole))


def _indent(text: str, index: int) -> str:
    """The indentation of the line around `index`."""
    line = text[text.rfind("\n", 0, index) + 1 : index]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _insert(source: ConfigText, root: JsoncNode, node: JsoncNode, key: str, value: Any) -> str:
    """The text with a new last member in an object. Comments stay where they are, before it."""
    text = source.text
    layout = _layout(source, root, node)
    member = layout.render(key, value)
    if not node.members:
        return _insert_first(text, node, member, layout)
    last = node.members[-1]
    is_trailing = last.comma >= 0
    at, is_line = _after_comments(text, last.comma + 1 if is_trailing else last.node.end, node.end - 1)
    gap = layout.newline + layout.indent if is_line else layout.gap
    if is_trailing:
        return _splice(text, at, at, f"{gap}{member},")
    return _splice(_splice(text, at, at, gap + member), last.node.end, last.node.end, ",")


def _insert_first(text: str, node: JsoncNode, member: str, layout: _Layout) -> str:
    if layout.is_flat:
        return _splice(text, node.end - 1, node.end - 1, member)
    at, _ = _after_comments(text, node.start + 1, node.end - 1)
    rest = text[at : node.end - 1]
    if at == node.start + 1 or "\n" not in rest:
        rest = layout.newline + layout.closing
    return _splice(text, at, node.end - 1, layout.newline + layout.indent + member + rest)


def _cut(text: str, node: JsoncNode, member: JsoncMember) -> str:
    """The text without one member of an object."""
    index = node.members.index(member)
    previous = node.members[index - 1] if index else None
    at, is_line = _after_comments(text, previous.comma + 1 if previous else node.start + 1, member.start)
    end = member.node.end if member.comma < 0 else member.comma + 1
    rest = text[end : node.end - 1]
    if len(node.members) == 1 and at == node.start + 1 and not rest.strip():
        return _splice(text, at, node.end - 1, "")
    if is_line and not re.match(r"[ \t]*[\r\n]", text[end:]):
        at = member.start  # the text after it would become part of the comment
    shorter = _splice(text, at, end, "")
    if previous and member.comma < 0:
        return _splice(shorter, previous.comma, previous.comma + 1, "")
    return shorter


def _after_comments(text: str, start: int, end: int) -> tuple[int, bool]:
    """The end of the last comment between two places, and whether it extends to the end of its line."""
    at, is_line = start, False
    for comment in COMMENT.finditer(text, start, end):
        at, is_line = comment.end(), comment[0].startswith("//")
    return at, is_line


def _splice(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _render(value: Any, newline: str, unit: str) -> str:
    """A value as text: objects on several lines, everything else on one; `newline` includes the indentation."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    inner = newline + unit
    lines = (f"{json.dumps(key)}: {_render(one, inner, unit)}" for key, one in value.items())
    return "{" + inner + f",{inner}".join(lines) + newline + "}"
