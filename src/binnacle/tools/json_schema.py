"""JSON schemas of tools, derived from the types of their parameters and kept short: tokens are the agent's money."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from binnacle.tools.tool_spec import Alias, ToolSpec

Schema = dict[str, Any]


def input_schema(spec: ToolSpec, alias: Alias | None = None) -> Schema:
    """What a tool takes, as it is called by one of its names."""
    schema = schema_of(spec.parameters)
    if alias is None:
        return schema
    if alias.item:
        rest = {name: value for name, value in schema["properties"].items() if name != alias.item}
        item = schema["properties"][alias.item]["items"]
        required = [*item.get("required", ()), *(name for name in schema.get("required", ()) if name in rest)]
        schema = {**item, "properties": {**item["properties"], **rest}}
        schema |= {"required": required} if required else {}
    renamed: Schema = _renamed(schema, alias.renames)
    return renamed


def output_schema(spec: ToolSpec) -> Schema | None:
    """What the structured result of a tool looks like, where the tool says so: the envelope around its data."""
    if spec.output is None:
        return None
    envelope = {"ok": {"type": "boolean"}, "data": schema_of(spec.output), "error": {"type": "object"}}
    return {"type": "object", "properties": envelope, "required": ["ok"]}


def schema_of(struct: type[Struct]) -> Schema:
    """The schema of a struct, with everything in its place and nothing said twice."""
    (reference,), components = msgspec.json.schema_components([struct], ref_template="{name}")
    schema: Schema = _short(reference, components)
    return schema


def _short(node: Any, components: Mapping[str, Any]) -> Any:
    """Puts definitions where they are used and drops what only repeats: titles, nulls, empty defaults.

    That nothing else may be given goes without saying too: a call that gives more is told so, with the nearest word.
    """
    if isinstance(node, list):
        return [_short(one, components) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return {**_short(components[node["$ref"]], components), **_short(rest, components)}
    choices = [one for one in node.get("anyOf", ()) if one != {"type": "null"}]
    if choices and len(choices) < len(node["anyOf"]):
        node = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        return _short({**choices[0], **node} if len(choices) == 1 else {"anyOf": choices, **node}, components)
    short = {key: _short(value, components) for key, value in node.items() if key != "title" or isinstance(value, dict)}
    if short.get("additionalProperties") is False:
        del short["additionalProperties"]
    if short.get("default") in ("", [], {}, False, None):
        short.pop("default", None)
    return short


def _renamed(node: Any, renames: Mapping[str, str]) -> Any:
    """The schema in an alias' own words."""
    if not renames or not isinstance(node, (dict, list)):
        return node
    if isinstance(node, list):
        return [_renamed(one, renames) for one in node]
    changed = {key: _renamed(value, renames) for key, value in node.items()}
    if "properties" in changed:
        changed["properties"] = {renames.get(key, key): value for key, value in changed["properties"].items()}
        if "required" in changed:
            changed["required"] = [renames.get(key, key) for key in changed["required"]]
    return changed
