"""Checks what servers list, once: clients can read every entry that leaves here. No I/O.

Some clients refuse a complete list, with our own tools, because of one entry that violates the protocol. So null
members and wrong optional members are left out, and schemas are repaired (`schema_repair`). An entry whose required
members are missing or wrong is not offered. A note says what was done. Unknown members, and entries without faults,
pass unchanged to the byte.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from binnacle.upstream.listing.output_schemas import check_usable
from binnacle.upstream.listing.schema_repair import UnfitValue, repair_schema
from binnacle.upstream.listing.screening import decode_entry
from binnacle.upstream.server_bounds import MAX_NAME_CHARACTERS, NOT_OFFERED, ListedEntries, ListKind
from binnacle.wire.hidden_text import make_visible

NAMES_IN_A_NOTE = 3
"""Entries that a note names; more with the same fault are counted."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)")


class _Fitted(NamedTuple):
    """A value as the protocol requires it, and what was changed."""

    value: Any
    changes: tuple[str, ...] = ()


_Reader = Callable[[Any], _Fitted]
"""Reads a value of the protocol. Raises `UnfitValue` for any other."""


class _Shape(NamedTuple):
    """The members of an object that the protocol knows."""

    required: Mapping[str, _Reader]
    optional: Mapping[str, _Reader]


def _text(value: Any) -> _Fitted:
    if not isinstance(value, str):
        raise UnfitValue("is no text")
    return _Fitted(value)


def _name(value: Any) -> _Fitted:
    if not value:
        raise UnfitValue("is empty")
    return _text(value)


def _flag(value: Any) -> _Fitted:
    if not isinstance(value, bool):
        raise UnfitValue("is neither true nor false")
    return _Fitted(value)


def _number(value: Any) -> _Fitted:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnfitValue("is no number")
    return _Fitted(value)


def _priority(value: Any) -> _Fitted:
    if not 0 <= _number(value).value <= 1:
        raise UnfitValue("is not between 0 and 1")
    return _Fitted(value)


def _moment(value: Any) -> _Fitted:
    if not _MOMENT.fullmatch(_text(value).value):
        raise UnfitValue("is no moment with a time zone")
    return _Fitted(value)


def _texts(value: Any) -> _Fitted:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UnfitValue("is no list of texts")
    return _Fitted(value)


def _choice(*words: str) -> _Reader:
    def read(value: Any) -> _Fitted:
        if value not in words:
            raise UnfitValue(f"is none of {', '.join(words)}")
        return _Fitted(value)

    return read


def _audience(value: Any) -> _Fitted:
    if not set(_texts(value).value) <= {"user", "assistant"}:
        raise UnfitValue("is none of user, assistant")
    return _Fitted(value)


def _free_object(value: Any) -> _Fitted:
    if not isinstance(value, dict):
        raise UnfitValue("is no object")
    return _Fitted(value)


def _input_schema(value: Any) -> _Fitted:
    return _Fitted(*repair_schema(value))


def _output_schema(value: Any) -> _Fitted:
    schema, changes = repair_schema(value)
    if "$id" in schema:  # clients would take it for the schema of another tool with the same one
        schema, changes = {key: schema[key] for key in schema if key != "$id"}, (*changes, "$id left out")
    check_usable(schema)
    return _Fitted(schema, changes)


def _object(shape: _Shape) -> _Reader:
    return lambda value: _fit(value, shape)


def _objects(shape: _Shape) -> _Reader:
    """A list, without the items that do not fit."""

    def read(value: Any) -> _Fitted:
        if not isinstance(value, list):
            raise UnfitValue("is no list")
        found: list[Any] = []
        changes: list[str] = []
        for number, one in enumerate(value):
            try:
                fitted = _fit(one, shape)
            except UnfitValue as error:
                changes.append(f"{number} left out, it {error}")
                continue
            found.append(fitted.value)
            changes += (f"{number}.{change}" for change in fitted.changes)
        return _Fitted(found, tuple(changes))

    return read


def _fit(value: Any, shape: _Shape) -> _Fitted:
    """An object as the protocol requires it.

    Raises:
        UnfitValue: it is no object, or a required member is missing or wrong.
    """
    given = _free_object(value).value
    if missing := next((key for key in shape.required if given.get(key) is None), None):
        raise UnfitValue(f"has no {missing}")
    found: dict[str, Any] = {}
    changes: list[str] = []
    for key, member in given.items():
        reader = shape.required.get(key) or shape.optional.get(key)
        if reader is None:
            found[key] = member
        elif member is None:
            changes.append(f"{key} left out, it is null")
        else:
            try:
                fitted = reader(member)
            except UnfitValue as error:
                if key in shape.required:
                    raise UnfitValue(f"has a wrong {key}: it {error}") from error
                changes.append(f"{key} left out, it {error}")
                continue
            found[key] = fitted.value
            changes += (f"{key}.{change}" for change in fitted.changes)
    return _Fitted(found, tuple(changes))


_ICON = _Shape(
    {"src": _text}, {"mimeType": _text, "sizes": _texts, "theme": _choice("light", "dark"), "_meta": _free_object}
)
_DESCRIBED: dict[str, _Reader] = {"title": _text, "description": _text, "icons": _objects(_ICON), "_meta": _free_object}
_ARGUMENT = _Shape({"name": _name}, {"title": _text, "description": _text, "required": _flag})
_TOOL_HINTS = _Shape(
    {},
    {"title": _text} | dict.fromkeys(("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), _flag),
)
_EXECUTION = _Shape({}, {"taskSupport": _choice("forbidden", "optional", "required")})
_CONTENT: dict[str, _Reader] = {
    **_DESCRIBED,
    "mimeType": _text,
    "annotations": _object(_Shape({}, {"audience": _audience, "priority": _priority, "lastModified": _moment})),
}
_SHAPES: dict[ListKind, _Shape] = {
    "tools": _Shape(
        {"name": _name, "inputSchema": _input_schema},
        {
            **_DESCRIBED,
            "outputSchema": _output_schema,
            "annotations": _object(_TOOL_HINTS),
            "execution": _object(_EXECUTION),
        },
    ),
    "prompts": _Shape({"name": _name}, {**_DESCRIBED, "arguments": _objects(_ARGUMENT)}),
    "resources": _Shape({"uri": _name, "name": _text}, {**_CONTENT, "size": _number}),
    "templates": _Shape({"uriTemplate": _name, "name": _text}, _CONTENT),
}
"""What the protocol requires of entries, in all versions together."""


def parse_entries(kind: ListKind, entries: Iterable[Raw]) -> ListedEntries:
    """The entries of a list that clients can read, and notes on what was left out, repaired or not offered."""
    found: list[Raw] = []
    held: dict[str, list[str]] = {}
    changed: dict[str, list[str]] = {}
    for number, entry in enumerate(entries, 1):
        given = decode_entry(entry)
        called = _name_entry(given, f"{kind.removesuffix('s')} {number}")
        try:
            fitted = _fit_entry(kind, given)
        except UnfitValue as error:
            held.setdefault(f"{NOT_OFFERED}, it {error}", []).append(called)
            continue
        found.append(Raw(msgspec.json.encode(fitted.value)) if fitted.changes else entry)
        for change in fitted.changes:
            changed.setdefault(change, []).append(called)
    noted = (*held.items(), *changed.items())
    return ListedEntries(tuple(found), tuple(f"{_first(names)}: {what}" for what, names in noted))


def _fit_entry(kind: ListKind, given: Any) -> _Fitted:
    if kind != "tools" or not isinstance(given, dict) or given.get("inputSchema") is not None:
        return _fit(given, _SHAPES[kind])
    # A tool without a schema may be called with any arguments.
    fitted = _fit({**given, "inputSchema": {"type": "object"}}, _SHAPES[kind])
    return fitted._replace(changes=(*fitted.changes, "inputSchema added, there is none"))


def _name_entry(given: Any, otherwise: str) -> str:
    """What a note calls an entry."""
    members = (given.get(key) for key in ("name", "uri", "uriTemplate")) if isinstance(given, dict) else ()
    name = next((one for one in members if isinstance(one, str) and one), otherwise)
    return make_visible(name[:MAX_NAME_CHARACTERS])


def _first(names: list[str]) -> str:
    more = len(names) - NAMES_IN_A_NOTE
    return ", ".join(names[:NAMES_IN_A_NOTE]) + (f" and {more} more" if more > 0 else "")
