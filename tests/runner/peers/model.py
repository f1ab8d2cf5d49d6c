"""A scripted model whose script is in the prompt, so that one model plays for several sessions and turns at once.

    SCRIPT: [{"tool": "echo", "arguments": {"text": "hi"}}, {"say": "it said {last}"}]

A step calls a tool, says something, or speaks without an end.
"""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from runner.peers.gemini_api import from_gemini, to_gemini
from runner.peers.responses import from_responses, to_events
from server.peers.model import Json, Model, _Chat, _from_anthropic, _text, serving

PIECES = 2000
"""Of speech that nobody stops."""


def script(*steps: Json) -> str:
    """A prompt that has the model take these steps."""
    return f"SCRIPT: {json.dumps(steps)}"


def use(tool: str, **arguments: Any) -> Json:
    return {"tool": tool, "arguments": arguments}


def say(text: str) -> Json:
    return {"say": text}


ENDLESS: Json = {"endless": True}


class Led(Model):
    """The model. What it was told is in `prompts`, for each request."""

    def __init__(self) -> None:
        super().__init__([])
        self.histories: list[list[str]] = []
        """The prompts of every request that had tools."""

        self.outage = 0
        """How many requests more are answered with 503."""

        self._open = threading.Event()
        self._lock = threading.Lock()

    def refuse(self) -> bool:
        """Whether a request is refused because of an outage."""
        with self._lock:
            self.outage -= self.outage > 0
            return self.outage > 0

    def step(self, request: Json) -> Json:
        """What to do now, by the last script in the conversation and what was done since."""
        messages = request["messages"]
        told = [index for index, message in enumerate(messages) if _script_in(message)]
        if not told:
            return say("no script")
        steps = _script_in(messages[told[-1]])
        assert steps is not None
        taken = sum(message["role"] == "assistant" for message in messages[told[-1] :])
        return steps[taken] if taken < len(steps) else say("the script is over")

    def reply(self, request: Json) -> Json:
        tools = [tool["function"]["name"] for tool in request.get("tools") or ()]
        if not tools:  # an agent asks for a title, a summary; anything will do
            return {"role": "assistant", "content": "a title"}
        self.offered = sorted({*self.offered, *tools})
        messages = request["messages"]
        self.histories.append([_text(message["content"]) for message in messages if message["role"] == "user"])
        step = self.step(request)
        results = [_text(message["content"]) for message in messages if message["role"] == "tool"]
        if "say" in step:
            return {"role": "assistant", "content": step["say"].replace("{last}", results[-1] if results else "")}
        names = [name for name in tools if is_called(name, step["tool"])]
        if not names:
            return {"role": "assistant", "content": f"there is no tool {step['tool']} among {tools}"}
        function = {"name": names[0], "arguments": json.dumps(step["arguments"])}
        call = {"id": f"call_{len(self.histories)}", "type": "function", "function": function}
        return {"role": "assistant", "tool_calls": [call]}


def is_called(name: str, tool: str) -> bool:
    """Whether an agent's name for a tool is ours with a prefix; some write dashes as underscores."""
    plain, wanted = (text.lower().replace("-", "_") for text in (name, tool))
    return plain == wanted or plain.endswith(f"_{wanted}")


def _script_in(message: Json) -> list[Json] | None:
    text = _text(message["content"]) if message["role"] == "user" else ""
    at = text.rfind("SCRIPT: ")
    return json.JSONDecoder().raw_decode(text[at + len("SCRIPT: ") :])[0] if at >= 0 else None


class _LedChat(_Chat):
    model: Led

    def do_HEAD(self) -> None:  # noqa: N802 - the name is http.server's
        self._send("text/plain", "")

    def do_POST(self) -> None:  # noqa: N802
        body = self.rfile.read(int(self.headers["content-length"]))
        self.rfile = io.BytesIO(body)
        request = json.loads(body)
        if self.model.refuse():
            self.send_error(503)
            return
        if "enerateContent" in self.path or "countTokens" in self.path:
            self._answer_gemini(request)
            return
        if self.path.endswith("/responses"):
            message = self.model.reply({**from_responses(request), "given": request})
            self._send("text/event-stream", "".join(to_events(request, message)))
            return
        is_anthropic = "/messages" in self.path
        plain = _from_anthropic(request) if is_anthropic else request
        if plain.get("tools") and "endless" in self.model.step(plain):
            self._speak(is_anthropic=is_anthropic)
        else:
            super().do_POST()

    def _answer_gemini(self, request: Json) -> None:
        if "countTokens" in self.path:
            self._send("application/json", json.dumps({"totalTokens": 1}))
            return
        answer = json.dumps(to_gemini(self.model.reply({**from_gemini(request), "given": request})))
        is_stream = "streamGenerateContent" in self.path
        self._send(
            "text/event-stream" if is_stream else "application/json", f"data: {answer}\n\n" if is_stream else answer
        )

    def _speak(self, *, is_anthropic: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            for event in _anthropic_speech() if is_anthropic else _speech():
                self.wfile.write(event.encode())
                self.wfile.flush()
                self.model._open.wait(0.02)
        except OSError:
            return  # the agent has hung up


def _speech() -> Iterator[str]:
    for number in range(PIECES):
        choice = {"index": 0, "delta": {"role": "assistant", "content": f"word{number} "}}
        chunk = {
            "id": "chat",
            "created": 0,
            "model": "scripted",
            "object": "chat.completion.chunk",
            "choices": [choice],
        }
        yield f"data: {json.dumps(chunk)}\n\n"


def _anthropic_speech() -> Iterator[str]:
    begun = {"id": "msg_endless", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield _event({"type": "message_start", "message": {**begun, "stop_reason": None, "usage": usage}})
    yield _event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for number in range(PIECES):
        delta = {"type": "text_delta", "text": f"word{number} "}
        yield _event({"type": "content_block_delta", "index": 0, "delta": delta})


def _event(event: Json) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def playing(model: Led) -> AbstractContextManager[Led]:
    """Puts a model on a port of its own. Leaving it closes the port."""
    return serving(model, _LedChat)
