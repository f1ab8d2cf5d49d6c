"""Google's generateContent for a scripted model: requests are read as OpenAI's chat, answers written as Google's."""

import json

from server.peers.model import Json


def from_gemini(request: Json) -> Json:
    """A request as OpenAI's chat would be."""
    messages: list[Json] = []
    for content in request.get("contents") or ():
        for part in content.get("parts") or ():
            if "functionResponse" in part:
                messages.append({"role": "tool", "content": json.dumps(part["functionResponse"].get("response"))})
            elif "functionCall" in part:
                call = part["functionCall"]
                function = {"name": call["name"], "arguments": json.dumps(call.get("args") or {})}
                messages.append({"role": "assistant", "content": "", "tool_calls": [{"function": function}]})
            elif "text" in part:
                role = "assistant" if content.get("role") == "model" else "user"
                messages.append({"role": role, "content": part["text"]})
    groups = [group.get("functionDeclarations") or () for group in request.get("tools") or ()]
    tools = [{"function": {"name": one["name"]}} for group in groups for one in group]
    return {"messages": messages, "tools": tools}


def to_gemini(message: Json) -> Json:
    """A message of the assistant as an answer, which is also the only piece of a stream."""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    parts = [{"functionCall": {"name": one["name"], "args": json.loads(one["arguments"])}} for one in calls]
    content = {"role": "model", "parts": parts or [{"text": message["content"]}]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"index": 0, "content": content, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
