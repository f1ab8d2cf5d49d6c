"""A language model that plays a script: OpenAI's chat API on the loopback, for agents without a network.

The script is a list of steps. A step calls a tool (found by the end of its name: agents put their own prefix in
front) or says something; `{last}` in what it says is the result of the last tool.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Json = dict[str, Any]


class Use(NamedTuple):
    """A step that calls a tool."""

    tool: str
    arguments: Json


class Say(NamedTuple):
    """A step that says something."""

    text: str


class Model:
    """The model, and what agents sent it."""

    def __init__(self, script: list[Use | Say]) -> None:
        self.script = script
        self.offered: list[str] = []
        """Names of the tools that the agent has."""

        self.url = ""

    def reply(self, request: Json) -> Json:
        """The next message of the assistant: the step after those it has already taken."""
        tools = [tool["function"]["name"] for tool in request.get("tools") or ()]
        messages = request["messages"]
        if not tools:  # an agent asks for a title, a summary; anything will do
            return {"role": "assistant", "content": "a title"}
        self.offered = tools
        taken = sum(message["role"] == "assistant" for message in messages)
        step = self.script[taken] if taken < len(self.script) else Say("the script is over")
        results = [_text(message["content"]) for message in messages if message["role"] == "tool"]
        if isinstance(step, Say):
            return {"role": "assistant", "content": step.text.replace("{last}", results[-1] if results else "nothing")}
        names = [name for name in tools if name == step.tool or name.endswith(f"__{step.tool}")]
        if not names:
            return {"role": "assistant", "content": f"there is no tool {step.tool} among {tools}"}
        function = {"name": names[0], "arguments": json.dumps(step.arguments)}
        return {"role": "assistant", "tool_calls": [{"id": f"call_{taken}", "type": "function", "function": function}]}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


@contextmanager
def playing(*script: Use | Say) -> Iterator[Model]:
    """A model on a port of its own. Leaving it closes the port."""
    model = Model(list(script))
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Chat,), {"model": model}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=30)


class _Chat(BaseHTTPRequestHandler):
    model: Model

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"object": "list", "data": [{"id": "scripted"}]}))

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = self.model.reply(request)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        common = {"id": "chat", "created": 0, "model": "scripted"}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self._send("application/json", json.dumps({**common, "choices": [choice], "usage": usage}))
            return
        calls = [{"index": number, **call} for number, call in enumerate(message.get("tool_calls", ()))]
        delta = {**message, **({"tool_calls": calls} if calls else {})}
        chunks = [
            {**common, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]},
            {
                **common,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
            },
            {**common, "object": "chat.completion.chunk", "choices": [], "usage": usage},
        ]
        self._send(
            "text/event-stream", "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        )

    def _send(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
