"""Results of other servers, made readable for every client. No I/O.

Some clients refuse a complete result because of a null member that the protocol does not allow, or because the
structure is missing that its tool's schema promises. They accept errors without it, and show their text.
"""

from typing import Any

import msgspec
from msgspec import Raw

from binnacle.upstream.answers.oversized_results import list_of, raw_of, text_block
from binnacle.upstream.toolsets.toolset import Result
from binnacle.wire.jsonrpc import UNREADABLE

PARTS_KEYS = {"tools/call": "content", "prompts/get": "messages", "resources/read": "contents"}
"""Under which key the parts of a result are."""

TRUE, NULL = Raw(b"true"), b"null"
NO_STRUCTURE = (
    "[the call returned, but without the structured content that the tool's schema promises. It counts as an error "
    "only because of that; what it returned follows.]"
)
NO_NUMBERS = "[its structured content, with null where the server wrote NaN or Infinity]"


def repair_result(method: str, result: Result, *, is_repaired: bool = False) -> Result:
    """A result without members that are null, and with the list that its method asks for.

    One with numbers that JSON does not have (`is_repaired`) may not fit its schema any more, so its structure is shown
    as text.
    """
    found = {key: value for key, value in result.items() if bytes(value).strip() != NULL}
    key = PARTS_KEYS.get(method)
    if key is None or "inputRequests" in found:
        return found
    found[key] = _without_nulls(found[key]) if key in found else Raw(b"[]")
    if is_repaired and "structuredContent" in found:
        found = _structure_as_text(found)
    return found


def mark_unstructured(result: Result) -> Result:
    """A result as an error, if it lacks the structured content that its tool promises."""
    if "structuredContent" in result or "inputRequests" in result or result.get("isError") == TRUE:
        return result
    content = [text_block(NO_STRUCTURE), *list_of(result.get("content", ()))]
    return {**result, "content": Raw(msgspec.json.encode(content)), "isError": TRUE}


def _structure_as_text(result: Result) -> Result:
    structure = bytes(raw_of(result["structuredContent"])).decode(errors="replace")
    content = [*list_of(result["content"]), text_block(f"{NO_NUMBERS}\n{structure}")]
    rest = {key: value for key, value in result.items() if key != "structuredContent"}
    return {**rest, "content": Raw(msgspec.json.encode(content))}


def _without_nulls(parts: Raw) -> Raw:
    """The parts of a result, without members that are null. What has none is not even decoded."""
    if NULL not in bytes(parts):
        return parts
    try:
        given = msgspec.json.decode(parts)
    except UNREADABLE:
        return parts
    found = _drop_nulls(given)
    return parts if found == given else Raw(msgspec.json.encode(found))


def _drop_nulls(node: Any) -> Any:
    if isinstance(node, list):
        return [_drop_nulls(one) for one in node if one is not None]
    if not isinstance(node, dict):
        return node
    return {key: value if key == "_meta" else _drop_nulls(value) for key, value in node.items() if value is not None}
