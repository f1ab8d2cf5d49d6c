"""Schemas of other servers' tools, repaired so that clients can read them. No I/O.

Clients require a tool's schema to describe an object. `output_schemas` checks whether they can compile it.
"""

from typing import Any

from binnacle.upstream.listing.screening import MAX_SCHEMA_DEPTH, NAMED_SCHEMA_KEYS, VALUE_KEYS


class UnfitValue(Exception):
    """A value is not what the protocol requires. The message continues "it", for example `is no text`."""


def repair_schema(schema: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """An object schema as clients expect it, and what was changed; the same object if nothing was.

    Raises:
        UnfitValue: it is not for objects.
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
    """A schema without null members, except where null is a value."""
    if depth > MAX_SCHEMA_DEPTH:
        return node  # too deep: refused elsewhere
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
