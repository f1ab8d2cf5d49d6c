"""Arguments that a tool's schema marks to be repeated in HTTP headers of the stateless era.

A proxy between client and server can then route a call without reading its body.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from binnacle.wire.mcp import HEADER_MARK

MARKABLE_TYPES = ("string", "integer", "boolean")
"""Types that may be marked: those that everyone writes in the same way."""

UNNAMED_SCHEMA_KEYS = frozenset(
    [
        "items",
        "contains",
        "unevaluatedItems",
        "additionalProperties",
        "propertyNames",
        "unevaluatedProperties",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
        "allOf",
        "anyOf",
        "oneOf",
        "prefixItems",
    ]
)
"""Keys of a schema with nested schemas that belong to no particular argument."""

NAMED_SCHEMA_KEYS = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Keys with such schemas by name."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class HeaderParam(NamedTuple):
    """A marked argument."""

    path: tuple[str, ...]
    header: str


def find_wrong_param(schema: Any) -> str:
    """Why the marks of a schema are wrong; empty if they are right."""
    taken: set[str] = set()
    for path, part in _find_marked(schema, ()):
        if not path:
            return f"{HEADER_MARK} marks what is not one argument"
        mark, where = part[HEADER_MARK], ".".join(path)
        if not isinstance(mark, str) or not _TOKEN.fullmatch(mark):
            return f"{HEADER_MARK} of {where} is no name of a header"
        if part.get("type") not in MARKABLE_TYPES:
            return f"{HEADER_MARK} of {where}: only strings, integers and booleans can be marked"
        if mark.lower() in taken:
            return f"{HEADER_MARK} of {where} is taken by another argument"
        taken.add(mark.lower())
    return ""


def find_header_params(schema: Any) -> tuple[HeaderParam, ...]:
    """The marked arguments of a schema whose marks are right."""
    return tuple(HeaderParam(path, part[HEADER_MARK]) for path, part in _find_marked(schema, ()) if path)


def make_headers(marks: tuple[HeaderParam, ...], arguments: Raw) -> tuple[tuple[str, str], ...]:
    """The headers of a call, not yet written as HTTP wants them."""
    given = msgspec.json.decode(arguments)
    found = ((mark.header, _write_value(_at(given, mark.path))) for mark in marks)
    return tuple((f"Mcp-Param-{header}", value) for header, value in found if value is not None)


def _find_marked(schema: Any, path: tuple[str, ...] | None) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Every marked part of a schema and the path to its argument; None if it is not one argument."""
    if isinstance(schema, list):
        for part in schema:
            yield from _find_marked(part, None)
    if not isinstance(schema, dict):
        return
    if HEADER_MARK in schema:
        yield path, schema
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            for name, part in value.items():
                yield from _find_marked(part, None if path is None else (*path, name))
        elif key in UNNAMED_SCHEMA_KEYS:
            yield from _find_marked(value, None)
        elif key in NAMED_SCHEMA_KEYS and isinstance(value, dict):
            yield from _find_marked(list(value.values()), None)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _write_value(value: Any) -> str | None:
    """A value as text for a header; None if it has none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
