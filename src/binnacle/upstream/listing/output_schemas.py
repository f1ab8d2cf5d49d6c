"""Checks that clients can compile the output schemas of other servers' tools. No I/O.

The TypeScript SDK compiles each of them with ajv when it reads the list of tools, and one that cannot be compiled makes
it refuse the complete list. So we look for what ajv would refuse. In doubt, as for most regular expressions, a schema
counts as wrong: a tool works without one.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from binnacle.upstream.listing.schema_repair import UnfitValue
from binnacle.upstream.listing.screening import MAX_SCHEMA_DEPTH, NAMED_SCHEMA_KEYS, VALUE_KEYS

SCHEMA_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

_NUMBER = (int, float)
_VALUES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("additionalItems", "additionalProperties", "contains", "else", "if", "not"), (dict, bool)),
    **dict.fromkeys(("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"), (dict, bool)),
    **dict.fromkeys(("allOf", "anyOf", "enum", "oneOf", "prefixItems", "required"), list),
    **dict.fromkeys(("dependencies", "dependentRequired", "dependentSchemas", "patternProperties"), dict),
    **dict.fromkeys(("$defs", "definitions", "properties"), dict),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("maxContains", "maxItems", "maxLength", "maxProperties"), _NUMBER),
    **dict.fromkeys(("minContains", "minItems", "minLength", "minProperties"), _NUMBER),
    **dict.fromkeys(("$comment", "$schema", "format", "pattern"), str),
    **dict.fromkeys(("nullable", "uniqueItems"), bool),
    "items": (dict, list, bool),
}
"""The types that keywords of a schema take. A number is never true or false."""

_NAMING = ("$anchor", "$dynamicAnchor", "$id", "id")
"""Keywords that name a part: names may occur twice, and change what references mean."""

_OF_AJV = ("$async", "formatExclusiveMaximum", "formatExclusiveMinimum", "formatMaximum", "formatMinimum")
"""Keywords that only ajv has."""

_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
"""Keywords that take, or may take, a list of schemas."""

_NAMED = NAMED_SCHEMA_KEYS | {"dependencies", "dependentRequired"}

MAX_PATTERN_CHARACTERS = 500
MAX_INDEX_DIGITS = 6

_ESCAPED = r"\\[dDwWsSnrtfv^$\\.*+?()\[\]{}|/]"
_PATTERN = re.compile(
    rf"(?:{_ESCAPED}|\\[bB]"
    rf"|\[\^?(?:[^\\\[\]]|{_ESCAPED}|\\-)+\]"
    r"|\((?:\?:|(?!\?))|\)|\|"
    r"|(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??(?![*+?{])"
    r"|[^\\\[\](){}*+?|])*+"
)
"""Regular expressions that mean the same in all dialects; Python checks that they are complete."""


def check_usable(schema: dict[str, Any]) -> None:
    """Checks that a client can compile a schema.

    Raises:
        UnfitValue: it cannot, or that is not certain.
    """
    followed: set[str] = set()
    for one in _schemas_in(schema, 0):
        _check_words(one)
        for key in ("$ref", "$dynamicRef"):
            if key in one:
                _follow(schema, one[key], followed)


def _check_words(schema: dict[str, Any]) -> None:
    for key, value in schema.items():
        if key in _NAMING or key in _OF_AJV:
            raise UnfitValue(f"has {key!r} in it, which clients cannot all read")
        if not _is_value_of(key, value):
            raise UnfitValue(f"has a wrong {key!r}: {str(value)[:40]!r}")
    _check_types(schema.get("type", []))
    if schema.get("enum") == []:
        raise UnfitValue("has an empty 'enum'")
    if "nullable" in schema and "type" not in schema:
        raise UnfitValue("has 'nullable' without 'type'")
    for pattern in (*schema.get("patternProperties", ()), schema.get("pattern", "")):
        if not is_pattern_for_all(pattern):
            raise UnfitValue(f"has a pattern that clients cannot all read: {pattern[:40]!r}")


def _is_value_of(key: str, value: Any) -> bool:
    wanted = _VALUES.get(key, object)
    if isinstance(value, bool) and wanted == _NUMBER:
        return False
    if key in _LISTS and isinstance(value, list) and not all(isinstance(one, dict | bool) for one in value):
        return False
    return isinstance(value, wanted)


def _check_types(types: Any) -> None:
    for kind in types if isinstance(types, list) else [types]:
        if not isinstance(kind, str) or kind not in SCHEMA_TYPES:
            raise UnfitValue(f"names an unknown type: {str(kind)[:40]!r}")


def is_pattern_for_all(pattern: str) -> bool:
    """Whether a regular expression is valid in every dialect, including those of JavaScript and Python."""
    if len(pattern) > MAX_PATTERN_CHARACTERS or not _PATTERN.fullmatch(pattern):
        return False
    if any(sign in pattern for sign in ("--", "&&", "~~", "||")):
        return False  # operators between sets of characters, in some dialects
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _schemas_in(node: Any, depth: int) -> Iterator[dict[str, Any]]:
    """A schema and all schemas in it."""
    if depth > MAX_SCHEMA_DEPTH:
        raise UnfitValue(f"is nested deeper than {MAX_SCHEMA_DEPTH}")
    if isinstance(node, list):
        for one in node:
            yield from _schemas_in(one, depth + 1)
    elif isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key in _NAMED and isinstance(value, dict):
                for one in value.values():
                    yield from _schemas_in(one, depth + 1)
            elif key not in VALUE_KEYS:
                yield from _schemas_in(value, depth + 1)


def _follow(schema: dict[str, Any], reference: Any, followed: set[str]) -> None:
    """Checks that a reference leads to a part of the schema, and not to an endless chain of references.

    `followed` are the references checked so far; this one is added.
    """
    seen: set[str] = set()
    target: Any = {"$ref": reference}
    while isinstance(target, dict) and "$ref" in target:
        reference = target["$ref"]
        if not isinstance(reference, str) or not isinstance(found := _find(schema, reference), dict | bool):
            raise UnfitValue(f"refers to what is not in it: {str(reference)[:100]!r}")
        if reference in seen:
            raise UnfitValue(f"refers to itself without end: {reference[:100]!r}")
        if reference in followed:
            break
        seen.add(reference)
        target = found
    followed |= seen


def _find(schema: dict[str, Any], reference: str) -> Any:
    """The part of a schema that a reference leads to; None if there is none."""
    if reference == "#":
        return schema
    if not reference.startswith("#/"):
        return None
    node: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        word = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(node, list):
            is_index = word.isascii() and word.isdecimal() and len(word) <= MAX_INDEX_DIGITS
            node = node[int(word)] if is_index and int(word) < len(node) else None
        else:
            node = node.get(word) if isinstance(node, dict) else None
    return node
