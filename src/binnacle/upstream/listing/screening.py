"""Screens what a server offers before anyone reads it: nothing hidden, nothing endless.

Prose is cleaned. A name or a value that calls repeat cannot be changed, so a tool, prompt or resource with hidden text
there is refused.
"""

import re
from collections.abc import Collection, Iterable
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw

from binnacle.upstream.server_bounds import MAX_NAME_CHARACTERS, MAX_URI_CHARACTERS
from binnacle.wire.hidden_text import describe_hidden, make_visible, remove_hidden
from binnacle.wire.jsonrpc import UNREADABLE

MAX_PROSE_CHARACTERS = {"description": 4000, "title": 200, "$comment": 4000}
"""Keys under which text is only read, and how many characters of it are passed on."""

MAX_RESOURCE_NAME_CHARACTERS = 500
"""Characters of a resource's name that are passed on; requests use its address."""

VALUE_KEYS = frozenset({"default", "const", "enum", "examples", "pattern"})
"""Keys of a schema under which everything is a value that calls repeat."""

NAMED_SCHEMA_KEYS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keys of a schema under which the keys are names, not words of the schema."""

MAX_SCHEMA_DEPTH = 64
"""How deep a tool's JSON may be nested."""

_IN_VALUES = re.compile(
    # Control characters can be legitimate values, such as separators; joiners belong to several scripts and to emoji.
    r"[\u202a-\u202e\u2066-\u206f\u200b\u2060-\u2065\ufeff\U000e0000-\U000e0fff]"
)

Place = Literal["schema", "names", "value"]
"""What the keys and strings of a piece of JSON are."""


class ScreeningFinding(NamedTuple):
    """Something that was removed from a tool, or why the tool was refused."""

    tool: str
    where: str
    """Its path, such as `inputSchema.properties.path.description`; empty for the complete tool."""

    what: str


class ScreenedTools(NamedTuple):
    """The tools of a server that may be shown, and what was found."""

    tools: list[dict[str, Any]]
    """Those without findings are the same objects that came in."""

    cleaned: list[ScreeningFinding]
    refused: list[ScreeningFinding]


class ScreenedItems(NamedTuple):
    """The prompts or resources of a server that may be shown, each by its name or address, and what was found."""

    named: list[tuple[str, Raw]]
    """Clean ones are unchanged, to the byte."""

    notes: list[str]


class _Refused(Exception):
    """It cannot be offered."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(what)
        self.where = where
        self.what = what


def screen_tools(tools: Iterable[Any]) -> ScreenedTools:
    """Screens a complete list. Of two tools with the same name, the first counts."""
    found = ScreenedTools([], [], [])
    names: set[str] = set()
    for number, tool in enumerate(tools, 1):
        name = tool.get("name") if isinstance(tool, dict) else None
        told = make_visible(name[:MAX_NAME_CHARACTERS]) if isinstance(name, str) and name else f"tool {number}"
        try:
            cleaned, findings = _screen(tool, told, names)
        except _Refused as refused:
            found.refused.append(ScreeningFinding(told, refused.where, refused.what))
            continue
        names.add(cleaned["name"])
        found.tools.append(cleaned)
        found.cleaned.extend(findings)
    return found


def screen_items(entries: Iterable[Raw], key: Literal["name", "uri", "uriTemplate"]) -> ScreenedItems:
    """Screens a list of prompts, resources or templates. Entries without the `key` that requests need are skipped."""
    found = ScreenedItems([], [])
    for entry in entries:
        piece = decode_entry(entry)
        if not isinstance(piece, dict) or not isinstance(name := piece.get(key), str):
            continue
        try:
            cleaned, findings = _screen_piece(piece, key)
        except _Refused as refused:
            found.notes.append(f"{make_visible(name[:MAX_NAME_CHARACTERS])}: not offered, {refused.what}")
            continue
        found.named.append((name, entry if cleaned is piece else _with_changes(entry, piece, cleaned)))
        found.notes.extend(f"{name}: {one.what}" for one in findings)
    return found


def clean_schema(schema: Any) -> dict[str, Any] | None:
    """A schema without hidden text in its prose; None if it is no schema, or a name or a value has hidden text."""
    try:
        return _walk(schema, (), "schema", [], "") if isinstance(schema, dict) else None
    except _Refused:
        return None


def decode_entry(entry: Raw) -> Any:
    """An entry of a list as a value; None if it cannot be read, for example if it is nested too deep."""
    try:
        return msgspec.json.decode(entry)
    except UNREADABLE:
        return None


def _screen(tool: Any, told: str, taken: Collection[str]) -> tuple[dict[str, Any], list[ScreeningFinding]]:
    if not isinstance(tool, dict):
        raise _Refused("", "it is not an object")
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise _Refused("name", "it has no name")
    if len(name) > MAX_NAME_CHARACTERS:
        raise _Refused("name", f"its name has more than {MAX_NAME_CHARACTERS} characters")
    if kinds := describe_hidden(name):
        raise _Refused("name", f"its name contains {kinds}")
    if name in taken:
        raise _Refused("name", "another tool of the server has the same name")
    if not isinstance(tool.get("inputSchema"), dict):
        raise _Refused("inputSchema", "it does not say what it takes")
    findings: list[ScreeningFinding] = []
    return _walk(tool, (), "schema", findings, told), findings


def _screen_piece(piece: dict[str, Any], key: str) -> tuple[dict[str, Any], list[ScreeningFinding]]:
    arguments = piece.get("arguments") if key == "name" else None
    for argument in arguments if isinstance(arguments, list) else ():
        given = argument.get("name") if isinstance(argument, dict) else None
        if isinstance(given, str) and (kinds := describe_hidden(given)):
            raise _Refused("arguments", f"the name of an argument contains {kinds}")
    called, longest = ("name", MAX_NAME_CHARACTERS) if key == "name" else ("address", MAX_URI_CHARACTERS)
    if len(piece[key]) > longest:
        raise _Refused(key, f"its {called} has more than {longest} characters")
    if kinds := describe_hidden(piece[key]):
        raise _Refused(key, f"its {called} contains {kinds}")
    findings: list[ScreeningFinding] = []
    if key != "name" and isinstance(name := piece.get("name"), str):
        text, told = _clean_text(name, MAX_RESOURCE_NAME_CHARACTERS)
        findings += (ScreeningFinding(piece[key], "name", what) for what in told)
        piece = {**piece, "name": text} if told else piece
    return _walk(piece, (), "schema", findings, piece[key]), findings


def _with_changes(entry: Raw, before: dict[str, Any], after: dict[str, Any]) -> Raw:
    """An entry with what was cleaned, otherwise unchanged."""
    changed = {key: value for key, value in after.items() if value is not before[key]}
    return Raw(msgspec.json.encode({**msgspec.json.decode(entry, type=dict[str, Raw]), **changed}))


def _walk(node: Any, path: tuple[str, ...], place: Place, findings: list[ScreeningFinding], tool: str) -> Any:
    """The cleaned node; the node itself, if it was clean."""
    if len(path) > MAX_SCHEMA_DEPTH:
        raise _Refused("", f"its JSON is nested deeper than {MAX_SCHEMA_DEPTH}")
    if isinstance(node, str):
        _check_value(node, path)
        return node
    if isinstance(node, list):
        changed = [_walk(one, (*path, str(number)), place, findings, tool) for number, one in enumerate(node)]
        return node if all(new is old for new, old in zip(changed, node, strict=True)) else changed
    if not isinstance(node, dict):
        return node
    found = {key: _entry(key, value, (*path, key), place, findings, tool) for key, value in node.items()}
    return node if all(found[key] is node[key] for key in node) else found


def _entry(
    key: str, value: Any, path: tuple[str, ...], place: Place, findings: list[ScreeningFinding], tool: str
) -> Any:
    if kinds := describe_hidden(key):
        raise _Refused(_join_path(path), f"the name of a parameter or field contains {kinds}")
    if place == "schema" and key in MAX_PROSE_CHARACTERS and isinstance(value, str):
        text, told = _clean_text(value, MAX_PROSE_CHARACTERS[key])
        findings += (ScreeningFinding(tool, _join_path(path), what) for what in told)
        return text
    return _walk(value, path, _below(key, place), findings, tool)


def _below(key: str, place: Place) -> Place:
    if place == "value" or (place == "schema" and key in VALUE_KEYS):
        return "value"
    return "names" if place == "schema" and key in NAMED_SCHEMA_KEYS else "schema"


def _check_value(text: str, path: tuple[str, ...]) -> None:
    if not text.isascii() and _IN_VALUES.search(text):
        raise _Refused(_join_path(path), f"a value that calls have to repeat contains {describe_hidden(text)}")


def _clean_text(text: str, longest: int) -> tuple[str, list[str]]:
    """The text as it may be read, and what was done to it."""
    told: list[str] = []
    if kinds := describe_hidden(text):
        told.append(f"{kinds} removed")
        text = remove_hidden(text)
    if len(text) > longest:
        told.append(f"cut from {len(text)} to {longest} characters")
        text = f"{text[:longest]} … [cut: {len(text) - longest} more characters]"
    return text, told


def _join_path(path: tuple[str, ...]) -> str:
    return make_visible(".".join(path))
