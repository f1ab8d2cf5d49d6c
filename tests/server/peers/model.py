"""A language model that plays a script, for agents without a network: OpenAI's and Anthropic's chat on the loopback.

The script is a list of steps. A step calls a tool (found by the end of its name: agents put their own prefix in
front) or says something; `{last}` in what it says is the result of the last tool.
"""

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from uuid import uuid4

Json = dict[str, Any]


class Use(NamedTuple):
    """A step that calls a tool."""

    tool: str
    arguments: Json
    is_offered: bool = True
    """Models also call what they were never offered; then it is called by just this name."""


class Say(NamedTuple):
    """A step that says something."""

    text: str


class Model:
    """The model, and what agents sent it."""

    def __init__(self, script: list[Use | Say]) -> None:
        self.script = script
        self.offered: list[str] = []
        """Names of the tools that the agent has."""

        self.prompts: list[str] = []
        """What it was asked, the newest request's."""

        self.results: list[str] = []
        """What the tools returned, likewise."""

        self.url = ""

    def reply(self, request: Json) -> Json:
        """The next message of the assistant: the step after those it has already taken."""
        tools = [tool["function"]["name"] for tool in request.get("tools") or ()]
        messages = request["messages"]
        if not tools:  # an agent asks for a title, a summary; anything will do
            return {"role": "assistant", "content": "a title"}
        self.offered = tools
        taken = sum(message["role"] == "assistant" for message in messages)
        self.prompts = [_text(message["content"]) for message in messages if message["role"] == "user"]
        self.results = [_text(message["content"]) for message in messages if message["role"] == "tool"]
        step = self.step(taken)
        if isinstance(step, Say):
            last = self.results[-1] if self.results else "nothing"
            return {"role": "assistant", "content": step.text.replace("{last}", last)}
        names = [name for name in tools if name == step.tool or name.endswith(f"__{step.tool}")]
        if not step.is_offered:
            assert not names, f"{step.tool} is offered"
            names = [step.tool]
        if not names:
            return {"role": "assistant", "content": f"there is no tool {step.tool} among {tools}"}
        function = {"name": names[0], "arguments": json.dumps(step.arguments)}
        return {"role": "assistant", "tool_calls": [{"id": f"call_{taken}", "type": "function", "function": function}]}

    def step(self, taken: int) -> Use | Say:
        """What to do after so many steps."""
        return self.script[taken] if taken < len(self.script) else Say("the script is over")


class Thinking(Model):
    """A model whose next step depends on what the tools returned, which the steps so far are sent one by one."""

    def __init__(self, thoughts: Generator[Use | Say, str, None]) -> None:
        super().__init__([next(thoughts)])
        self._thoughts = thoughts

    def step(self, taken: int) -> Use | Say:
        while taken >= len(self.script):
            self.script.append(self._thoughts.send(self.results[len(self.script) - 1]))
        return self.script[taken]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _from_anthropic(request: Json) -> Json:
    """A request as OpenAI's would be."""
    messages: list[Json] = []
    for message in request["messages"]:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [part for part in parts if part["type"] == "tool_result"]
        messages += [{"role": "tool", "content": part.get("content")} for part in results]
        used = [part for part in parts if part["type"] == "tool_use"]
        functions = [{"name": part["name"], "arguments": json.dumps(part["input"])} for part in used]
        calls = {"tool_calls": [{"function": function} for function in functions]} if used else {}
        if text := [part for part in parts if part["type"] == "text"]:
            messages.append({"role": message["role"], "content": text, **calls})
        elif not results:
            messages.append({"role": message["role"], "content": "", **calls})
    tools = [{"function": {"name": tool["name"]}} for tool in request.get("tools") or ()]
    return {"messages": messages, "tools": tools, "system": request.get("system")}


def _anthropic_events(message: Json) -> list[Json]:
    """What a message of the assistant is as Anthropic's stream."""
    # Of two messages with one id, Claude Code makes one.
    begun = {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    if calls := message.get("tool_calls"):
        function = calls[0]["function"]
        block = {"type": "tool_use", "id": calls[0]["id"], "name": function["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": function["arguments"]}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": message["content"]}
    reason = "tool_use" if calls else "end_turn"
    return [
        {"type": "message_start", "message": {**begun, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def playing(*script: Use | Say) -> AbstractContextManager[Model]:
    """A model that plays a script."""
    return serving(Model(list(script)))


@contextmanager
def serving(model: Any, chat: type[BaseHTTPRequestHandler] | None = None) -> Iterator[Any]:
    """A model on a port of its own, where it is spoken with as `chat` does. Leaving it closes the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (chat or _Chat,), {"model": model}))
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
        if "/messages" in self.path:
            self._answer_anthropic(request)
            return
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

    def _answer_anthropic(self, request: Json) -> None:
        if "count_tokens" in self.path:
            self._send("application/json", json.dumps({"input_tokens": 1}))
            return
        events = _anthropic_events(self.model.reply(_from_anthropic(request)))
        if request.get("stream"):
            text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            self._send("text/event-stream", text)
            return
        content = [{"type": "text", "text": events[2]["delta"].get("text", "")}]
        whole = {**events[0]["message"], "content": content, "stop_reason": "end_turn"}
        self._send("application/json", json.dumps(whole))

    def _send(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
