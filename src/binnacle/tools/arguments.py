"""Arguments as agents send them: renamed, checked and explained."""

from collections.abc import Mapping
from typing import Any

import msgspec

from binnacle.errors import InvalidInput, did_you_mean
from binnacle.tools.json_schema import Schema, input_schema
from binnacle.tools.tool_spec import ToolAlias, ToolSpec
from binnacle.wire.jsonrpc import UNREADABLE


def parse(spec: ToolSpec, alias: ToolAlias | None, raw: bytes) -> Any:
    """The arguments as a value of the tool's parameters; those of an upstream tool unchanged.

    Raises:
        InvalidInput: it names the parameter, what was expected, and the nearest valid word.
    """
    if spec.foreign is not None:
        return msgspec.Raw(raw)
    if alias is None:
        # Nearly every call is decoded here: straight from bytes to a checked value. A synonym of a parameter
        # makes it fail, because unknown fields are forbidden.
        try:
            return msgspec.json.decode(raw, type=spec.parameters, strict=False)
        except UNREADABLE:
            pass
    given = _decode_object(spec, raw)
    words = dict(spec.synonyms) | ({shown: own for own, shown in alias.renames.items()} if alias else {})
    own = _rename_keys(given, words)
    if alias is not None and alias.item and alias.item not in own:
        own = _wrap_item(spec, alias, own)
    try:
        return msgspec.convert(own, spec.parameters, strict=False)
    except msgspec.ValidationError as error:
        raise _explain(spec, alias, given, str(error)) from error


def _decode_object(spec: ToolSpec, raw: bytes) -> dict[str, Any]:
    try:
        given = msgspec.json.decode(raw)
    except UNREADABLE as error:
        raise InvalidInput(f"the arguments are not JSON: {error}", hint="send an object") from error
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise InvalidInput(
            f"{spec.name} takes an object, not {type(given).__name__}", hint=_describe_parameters(input_schema(spec))
        )
    return given


def _rename_keys(node: Any, words: Mapping[str, str]) -> Any:
    if isinstance(node, list):
        return [_rename_keys(one, words) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        words[key] if key in words and words[key] not in node else key: _rename_keys(value, words)
        for key, value in node.items()
        if words.get(key) != ""
    }


def _wrap_item(spec: ToolSpec, alias: ToolAlias, own: dict[str, Any]) -> dict[str, Any]:
    """Puts the fields of the single element into a list."""
    outer = {name for name in spec.parameters.__struct_fields__ if name != alias.item}
    item = {key: value for key, value in own.items() if key not in outer}
    return {alias.item: [item], **{key: value for key, value in own.items() if key in outer}}


def _explain(spec: ToolSpec, alias: ToolAlias | None, given: dict[str, Any], problem: str) -> InvalidInput:
    """The problem that msgspec found, in words an agent can act on."""
    schema = input_schema(spec, alias)
    name = alias.name if alias else spec.name
    known = list(schema["properties"])
    renames = alias.renames if alias else {}
    meant = {key: spec.synonyms.get(key, key) for key in given}
    unknown = [key for key, own in meant.items() if own and not {key, own, renames.get(own)} & set(known)]
    if "unknown field" in problem and unknown:
        hint = did_you_mean(unknown[0], known) or _describe_parameters(schema)
        return InvalidInput(f"{name} has no parameter {unknown[0]!r}", hint=hint, details={"parameter": unknown[0]})
    missing = [key for key in schema.get("required", ()) if key not in given]
    if "missing required" in problem and missing:
        told = schema["properties"][missing[0]].get("description", "")
        message = f"{name} needs {missing[0]!r}{': ' + told if told else ''}"
        return InvalidInput(message, hint=_describe_parameters(schema), details={"parameter": missing[0]})
    path = problem.rpartition("`$.")[2].rstrip("`") if "`$." in problem else ""
    top = path.partition(".")[0].partition("[")[0]
    choices = schema["properties"].get(top, {}).get("enum")
    value = given.get(top)
    hint = did_you_mean(str(value), [str(one) for one in choices]) if choices else _describe_parameters(schema)
    text = problem.replace("`", "").replace("$.", "").replace("$", name)
    return InvalidInput(f"{name}: {text[0].lower()}{text[1:]}", hint=hint, details={"parameter": path or top})


def _describe_parameters(schema: Schema) -> str:
    """The parameters in one line, the required ones first."""
    required = schema.get("required", ())
    words = [f"{key}!" for key in required] + [key for key in schema["properties"] if key not in required]
    return f"parameters: {', '.join(words)} (! is required)" if words else "it takes no parameters"
