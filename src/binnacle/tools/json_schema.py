"""JSON schemas of tools, derived from the types of their parameters and kept short, because agents pay for tokens."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from binnacle.tools.tool_spec import ToolAlias, ToolSpec

Schema = dict[str, Any]


def input_schema(spec: ToolSpec, alias: ToolAlias | None = None) -> Schema:
    """The schema of a tool's arguments, when it is called by its own name or by `alias`."""
    schema = schema_of(spec.parameters)
    if alias is None:
        return schema
    if alias.item:
        rest = {name: value for name, value in schema["properties"].items() if name != alias.item}
        item = schema["properties"][alias.item]["items"]
        required = [*item.get("required", ()), *(name for name in schema.get("required", ()) if name in rest)]
        schema = {**item, "properties": {**item["properties"], **rest}}
        schema |= {"required": required} if required else {}
    renamed: Schema = _rename_properties(schema, alias.renames)
    return renamed


def output_schema(spec: ToolSpec) -> Schema | None:
    """The schema of a tool's structured result, if the tool declares one: the envelope around its data."""
    if spec.output is None:
        return None
    envelope = {"ok": {"type": "boolean"}, "data": schema_of(spec.output), "error": {"type": "object"}}
    return {"type": "object", "properties": envelope, "required": ["ok"]}


def schema_of(struct: type[Struct]) -> Schema:
    """The schema of a struct, without references and repetition."""
    (reference,), components = msgspec.json.schema_components([struct], ref_template="{name}")
    schema: Schema = _shorten(reference, components)
    return schema


def _shorten(node: Any, components: Mapping[str, Any]) -> Any:
    """Inlines definitions and drops what is redundant: titles, nulls, empty defaults.

    `additionalProperties: false` is dropped too: the error for an unknown parameter names the nearest known one.
    """
    if isinstance(node, list):
        return [_shorten(one, components) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return {**_shorten(components[node["$ref"]], components), **_shorten(rest, components)}
    choices = [one for one in node.get("anyOf", ()) if one != {"type": "null"}]
    if choices and len(choices) < len(node["anyOf"]):
        node = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        return _shorten({**choices[0], **node} if len(choices) == 1 else {"anyOf": choices, **node}, components)
    short = {
        key: _shorten(value, components) for key, value in node.items() if key != "title" or isinstance(value, dict)
    }
    if short.get("additionalProperties") is False:
        del short["additionalProperties"]
    if short.get("default") in ("", [], {}, False, None):
        short.pop("default", None)
    return short


def _rename_properties(node: Any, renames: Mapping[str, str]) -> Any:
    """The schema with the parameter names of an alias."""
    if not renames or not isinstance(node, (dict, list)):
        return node
    if isinstance(node, list):
        return [_rename_properties(one, renames) for one in node]
    changed = {key: _rename_properties(value, renames) for key, value in node.items()}
    if "properties" in changed:
        changed["properties"] = {renames.get(key, key): value for key, value in changed["properties"].items()}
        if "required" in changed:
            changed["required"] = [renames.get(key, key) for key in changed["required"]]
    return changed
