"""Schemas of other servers' tools, repaired so that clients can read them. No I/O.

Clients want the schema of a tool to be one of an object, and some compile that of its result: one that cannot be
compiled makes them refuse the complete list of tools.
"""

from collections.abc import Iterator
from typing import Any

from binnacle.upstream.hygiene import DATA, DEPTH, NAMED

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


class Unfit(Exception):
    """A value is not what the protocol says. The message goes after "it", as `is no text`."""


def repair_schema(schema: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A schema of objects as clients expect it, and what was done to it; the very schema if nothing was.

    Raises:
        Unfit: it is not for objects.
    """
    if not isinstance(schema, dict):
        raise Unfit("is no object")
    cleaned = _drop_nulls(schema, 0)
    changes = [] if cleaned == schema else ["members that are null left out"]
    kind = cleaned.get("type")
    if kind != "object":
        if kind is not None and not (isinstance(kind, list) and "object" in kind):
            raise Unfit(f"is a schema of {str(kind)[:40]!r}, not of an object")
        cleaned = {**cleaned, "type": "object"}
        changes.append("type set to object")
    for key, repair in (("properties", _repair_properties), ("required", _repair_required)):
        if key in cleaned and (repaired := repair(cleaned[key])) != cleaned[key]:
            cleaned = {**cleaned, key: repaired}
            changes.append(f"{key} repaired")
    return (cleaned, tuple(changes)) if changes else (schema, ())


def check_usable(schema: dict[str, Any]) -> None:
    """Checks that a client can compile a schema: its types are known, and what it refers to is in it.

    Raises:
        Unfit: it cannot be compiled.
    """
    for one in _schemas_in(schema, 0):
        kinds = one.get("type", [])
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if not isinstance(kind, str) or kind not in TYPES:
                raise Unfit(f"names an unknown type: {str(kind)[:40]!r}")
        for key in ("$ref", "$dynamicRef"):
            if key in one and not _resolves(schema, one[key]):
                raise Unfit(f"refers to what is not in it: {str(one[key])[:100]!r}")


def _drop_nulls(node: Any, depth: int) -> Any:
    """A schema without members that are null, where null is no value of its own."""
    if depth > DEPTH:
        return node  # it is refused for that
    if isinstance(node, list):
        return [_drop_nulls(one, depth + 1) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _drop_in_member(key, value, depth + 1) for key, value in node.items() if value is not None or key in DATA
    }


def _drop_in_member(key: str, value: Any, depth: int) -> Any:
    if key in DATA:
        return value
    if key in NAMED and isinstance(value, dict):
        return {name: {} if one is None else _drop_nulls(one, depth + 1) for name, one in value.items()}
    return _drop_nulls(value, depth)


def _repair_properties(properties: Any) -> dict[str, Any]:
    """Properties that are objects: clients do not read the short forms of "anything" and "nothing"."""
    if not isinstance(properties, dict):
        return {}
    forms: dict[bool, dict[str, Any]] = {True: {}, False: {"not": {}}}
    return {
        name: one if isinstance(one, dict) else forms[one] if isinstance(one, bool) else {}
        for name, one in properties.items()
    }


def _repair_required(required: Any) -> list[str]:
    return [one for one in required if isinstance(one, str)] if isinstance(required, list) else []


def _schemas_in(node: Any, depth: int) -> Iterator[dict[str, Any]]:
    """A schema and all that are in it."""
    if depth > DEPTH:
        raise Unfit(f"is nested deeper than {DEPTH}")
    if isinstance(node, list):
        for one in node:
            yield from _schemas_in(one, depth + 1)
    elif isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key in NAMED and isinstance(value, dict):
                for one in value.values():
                    yield from _schemas_in(one, depth + 1)
            elif key not in DATA:
                yield from _schemas_in(value, depth + 1)


def _resolves(schema: dict[str, Any], reference: Any) -> bool:
    """Whether a reference leads to a part of the schema."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return False
    if reference == "#":
        return True
    node: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        word = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and word.isdecimal() and int(word) < len(node):
            node = node[int(word)]
        elif isinstance(node, dict) and word in node:
            node = node[word]
        else:
            return False
    return isinstance(node, dict | bool)
