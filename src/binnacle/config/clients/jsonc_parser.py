"""Parses JSON with comments and trailing commas into values with their spans in the text.

It is stricter than some clients, but no stricter than VS Code: strings, numbers and words are JSON's, comments are `//`
and `/* */`, and a comma before a closing bracket is allowed.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from binnacle.config.clients.config_text import ConfigText

COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.])"
    r"|(?:true|false|null)(?![0-9A-Za-z_])"
)
_MAX_DEPTH = 200
"""Levels of nesting. No configuration has that many; beyond a thousand, Python itself would fail."""


class JsoncNode(NamedTuple):
    """A value and its span in the text."""

    start: int
    end: int
    value: Any
    members: "tuple[JsoncMember, ...]" = ()
    """The members of an object, in order."""


class JsoncMember(NamedTuple):
    """A key of an object with its value."""

    key: str
    start: int
    node: JsoncNode
    comma: int
    """The position of the comma after it; -1 if there is none."""


def parse(source: ConfigText) -> JsoncNode | None:
    """The value of a text; None if there are only spaces and comments.

    Raises:
        ConfigError: the text is not JSONC; the error names line and column.
    """
    start = _skip(source, 0)
    if start == len(source.text):
        return None
    node = _parse_value(source, start, 0)
    rest = _skip(source, node.end)
    if rest != len(source.text):
        raise source.fault("expected the end of the file", at=rest)
    return node


def _skip(source: ConfigText, index: int) -> int:
    """The position after spaces and comments."""
    match = _TRIVIA.match(source.text, index)
    assert match
    if source.text.startswith("/*", match.end()):
        raise source.fault("this comment does not end", at=match.end())
    return match.end()


def _parse_value(source: ConfigText, index: int, depth: int) -> JsoncNode:
    opening = source.text[index : index + 1]
    if depth > _MAX_DEPTH:
        raise source.fault("nested too deeply", at=index)
    if opening == "{":
        return _parse_object(source, index, depth)
    if opening == "[":
        *items, bracket = _parse_items(source, index, depth)
        return JsoncNode(index, bracket.end, [item.value for item in items])
    scalar = _SCALAR.match(source.text, index)
    if not scalar:
        raise source.fault(f"expected a value, not {_describe_character(source, index)}", at=index)
    try:
        return JsoncNode(index, scalar.end(), json.loads(scalar[0]))
    except ValueError as error:  # a whole number of thousands of digits
        raise source.fault(str(error), at=index) from error


def _parse_items(source: ConfigText, index: int, depth: int) -> Iterator[JsoncNode]:
    """The elements of an array, then the bracket that ends it."""
    index = _skip(source, index + 1)
    while source.text[index : index + 1] != "]":
        node = _parse_value(source, index, depth + 1)
        yield node
        index, _ = _skip_comma(source, node.end, "]")
    yield JsoncNode(index, index + 1, None)


def _parse_object(source: ConfigText, start: int, depth: int) -> JsoncNode:
    members: list[JsoncMember] = []
    index = _skip(source, start + 1)
    while source.text[index : index + 1] != "}":
        key = _SCALAR.match(source.text, index)
        if not key or key[0][0] != '"':
            raise source.fault(f"expected a key in quotes, not {_describe_character(source, index)}", at=index)
        colon = _skip(source, key.end())
        if source.text[colon : colon + 1] != ":":
            raise source.fault(f"expected ':', not {_describe_character(source, colon)}", at=colon)
        node = _parse_value(source, _skip(source, colon + 1), depth + 1)
        begin = index
        index, comma = _skip_comma(source, node.end, "}")
        members.append(JsoncMember(json.loads(key[0]), begin, node, comma))
    return JsoncNode(start, index + 1, {member.key: member.node.value for member in members}, tuple(members))


def _skip_comma(source: ConfigText, index: int, end: str) -> tuple[int, int]:
    """The position of the next element or the bracket, and of the comma before it; -1 if there is none."""
    index = _skip(source, index)
    found = source.text[index : index + 1]
    if found == ",":
        return _skip(source, index + 1), index
    if found != end:
        raise source.fault(f"expected ',' or {end!r}, not {_describe_character(source, index)}", at=index)
    return index, -1


def _describe_character(source: ConfigText, index: int) -> str:
    return repr(source.text[index]) if index < len(source.text) else "the end of the file"
