"""OpenAI's Responses for a scripted model, which Codex speaks: requests are read as chat, answers written as events."""

import json
from collections.abc import Iterator
from uuid import uuid4

from server.peers.model import Json


def from_responses(request: Json) -> Json:
    """A request as OpenAI's chat would be. A tool of a group is called `group__tool`."""
    given = request["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    messages = [message for message in map(_message, items) if message]
    return {"messages": messages, "tools": [{"function": {"name": name}} for name in names_of(request)]}


def names_of(request: Json) -> dict[str, Json]:
    """The tools of a request by the names the script uses, and how a call names each."""
    names: dict[str, Json] = {}
    for tool in request.get("tools") or ():
        if tool["type"] == "namespace":
            group = tool["name"]
            names |= {f"{group}__{one['name']}": {"namespace": group, "name": one["name"]} for one in tool["tools"]}
        elif "name" in tool:
            names[tool["name"]] = {"name": tool["name"], "is_custom": tool["type"] == "custom"}
    return names


def _message(item: Json) -> Json | None:
    kind = item.get("type", "message")
    if kind == "message" and item["role"] in ("user", "assistant"):
        return {"role": item["role"], "content": item["content"]}
    if kind.endswith("_call_output"):
        output = item["output"]
        return {"role": "tool", "content": output if isinstance(output, list) else str(output)}
    if not kind.endswith("_call"):
        return None
    given = item.get("arguments") or json.dumps({"input": item.get("input", "")})
    name = "__".join(filter(None, (item.get("namespace"), item.get("name", ""))))
    return {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": given}}]}


def to_events(request: Json, message: Json) -> Iterator[str]:
    """A message of the assistant as the stream of events that answers a request."""
    item = _item(request, message)
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": _id("resp"), "object": "response", "status": "completed", "model": "scripted", "output": [item]}
    yield _event("response.created", response={**response, "status": "in_progress", "output": []})
    yield _event("response.output_item.added", output_index=0, item={**item, "status": "in_progress"})
    yield _event("response.output_item.done", output_index=0, item=item)
    yield _event("response.completed", response={**response, "usage": {**usage, **details}})


def _item(request: Json, message: Json) -> Json:
    if not message.get("tool_calls"):
        content = [{"type": "output_text", "text": message["content"], "annotations": []}]
        return {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": content}
    function = message["tool_calls"][0]["function"]
    named = dict(names_of(request)[function["name"]])
    call = {"id": _id("call"), "call_id": _id("call"), "status": "completed"}
    if named.pop("is_custom", False):
        return {**call, **named, "type": "custom_tool_call", "input": json.loads(function["arguments"])["input"]}
    return {**call, **named, "type": "function_call", "arguments": function["arguments"]}


def _event(kind: str, **fields: object) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def _id(kind: str) -> str:
    return f"{kind}_{uuid4().hex}"
