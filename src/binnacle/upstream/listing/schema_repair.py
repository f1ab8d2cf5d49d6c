"""Schemas of other servers' tools, repaired so that clients can read them. No I/O.

Clients want the schema of a tool to be one of an object. Whether they can compile it is another question
(`output_schemas`).
"""

from typing import Any

from binnacle.upstream.listing.screening import MAX_SCHEMA_DEPTH, NAMED_SCHEMA_KEYS, VALUE_KEYS


class UnfitValue(Exception):
    """A value is not what the protocol says. The message goes after "it", as `is no text`."""


def repair_schema(schema: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A schema of objects as clients expect it, and what was done to it; the very schema if nothing was.

    Raises:
        Unfit: it is not for objects.
    """
    if not isinstance(schema, dict):
        raise UnfitValue("is no object")
    cleaned = _drop_nulls(schema, 0)
    changes = [] if cleaned == schema else ["members that are null left out"]
    kind = cleaned.get("type")
    if kind != "object":
        if kind is not None and not (isinstance(kind, list) and "object" in kind):
            raise UnfitValue(f"is a schema of {str(kind)[:40]!r}, not of an object")
        cleaned = {**cleaned, "type": "object"}
        changes.append("type set to object")
    for key, repair in (("properties", _repair_properties), ("required", _repair_required)):
        if key in cleaned and (repaired := repair(cleaned[key])) != cleaned[key]:
            cleaned = {**cleaned, key: repaired}
            changes.append(f"{key} repaired")
    return (cleaned, tuple(changes)) if changes else (schema, ())


def _drop_nulls(node: Any, depth: int) -> Any:
    """A schema without members that are null, where null is no value of its own."""
    if depth > MAX_SCHEMA_DEPTH:
        return node  # it is refused for that
    if isinstance(node, list):
        return [_drop_nulls(one, depth + 1) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _drop_in_member(key, value, depth + 1)
        for key, value in node.items()
        if value is not None or key in VALUE_KEYS
    }


def _drop_in_member(key: str, value: Any, depth: int) -> Any:
    if key in VALUE_KEYS:
        return value
    if key in NAMED_SCHEMA_KEYS and isinstance(value, dict):
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
