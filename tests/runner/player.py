"""An ACP agent that plays what a test wrote: a Python script that is run for every prompt.

    python player.py SCRIPT FOLDER

The script has `agent`, an `Actor`. What it keeps for later turns and processes is in FOLDER. With a file `loads` there,
the agent can load its sessions.
"""

import json
import os
import queue
import re
import sys
import threading
import time
import traceback
import urllib.request
from itertools import count
from pathlib import Path
from typing import Any

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "player", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

OPTIONS = ("allow_once", "allow_always", "reject_once", "reject_always")
"""What the agent offers a person who is asked for permission."""


class Fault(Exception):
    """What the agent answers a prompt with instead of a result."""


class Actor:
    """The agent in one turn."""

    def __init__(self, script: Path, folder: Path) -> None:
        self._script = compile(script.read_text(), str(script), "exec")
        self.folder = folder
        self.server: dict[str, Any] = {}
        self.cwd = Path()
        self.prompt = ""
        self.task = ""
        """The id of the task that the newest prompt with one is about."""

        self.title = ""
        self.cancelled = threading.Event()
        """Set when the turn is cancelled."""

        self.answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        """What the client answered to requests of the agent."""

        self.usage: dict[str, int] | None = None
        """What the turn took, if the agent says it."""

        self._ids = count(1)
        folder.mkdir(parents=True, exist_ok=True)

    def turn(self, prompt: str) -> None:
        self.prompt, self.usage = prompt, None
        if found := re.search(r"\*\*(bn-[0-9a-f]+): (.*?)\*\*", prompt):
            self.task, self.title = found.groups()
        exec(self._script, {"agent": self, "Path": Path, "os": os})

    def times(self, word: str) -> int:
        """How often something has happened, this time included, in all processes."""
        for number in count(1):
            try:
                (self.folder / f"{word}-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            return number
        raise AssertionError

    def keep(self, word: str, text: str) -> None:
        """Writes something down for the test: `word-1`, `word-2`, …"""
        number = self.times(f"{word}-count")
        (self.folder / f"{word}-{number}").write_text(text)

    def fail(self, message: str) -> None:
        """Answers the prompt with an error."""
        raise Fault(message)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Calls a tool of our server; what it answered."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments})

    def text(self, tool: str, **arguments: Any) -> str:
        return "\n".join(part.get("text", "") for part in self.call(tool, **arguments)["content"])

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self._ask("tools/list", {})["tools"]]

    def done(self, summary: str = "all of it") -> None:
        """Finishes the task, and sums up."""
        self.call("task-update", id=self.task, status="done")
        self.call("iteration-summary", summary=summary)

    def write(self, name: str, text: str) -> None:
        (self.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (self.cwd / name).write_text(text)

    def say(self, text: str) -> None:
        self._tell({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def cost(self, amount: float, currency: str = "USD") -> None:
        """Says what the session cost so far."""
        cost = {"amount": amount, "currency": currency}
        self._tell({"sessionUpdate": "usage_update", "used": 10, "size": 1000, "cost": cost})

    def tokens(self, number: int) -> None:
        """Says at the end of the turn how many tokens it took."""
        self.usage = {"totalTokens": number, "inputTokens": number, "outputTokens": 0}

    def tool(
        self, title: str, *, given: Any = None, status: str = "completed", diff: Any = None, kind: str = "execute",
        **more: Any,
    ) -> None:  # fmt: skip
        """Says that it made a tool call of its own. `more` are other fields of its end."""
        call = f"call-{next(self._ids)}"
        begun = {"sessionUpdate": "tool_call", "toolCallId": call, "title": title, "kind": kind}
        self._tell({**begun, "rawInput": given, "status": "in_progress"})
        ended = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, **more}
        self._tell({**ended, **({"content": [{"type": "diff", **diff}]} if diff else {})})

    def may(
        self, given: Any, *, title: str = "Shell", kind: str = "execute", options: Any = OPTIONS, **more: Any
    ) -> bool:
        """Asks the client whether it may make a tool call with this input. `more` are other fields of the call."""
        call = {"toolCallId": f"call-{next(self._ids)}", "title": title, "kind": kind, "rawInput": given, **more}
        offered = [{"optionId": one, "name": one, "kind": one} for one in options]
        params = {"sessionId": "play", "toolCall": call, "options": offered}
        message = {"jsonrpc": "2.0", "id": call["toolCallId"], "method": "session/request_permission", "params": params}
        print(json.dumps(message), flush=True)
        answer = self.answers.get(timeout=60)
        assert answer["id"] == call["toolCallId"]
        return answer["result"]["outcome"].get("optionId", "").startswith("allow")

    def wait(self, word: str) -> None:
        """Waits until the test has made a file of this name."""
        until = time.monotonic() + 90
        while not (self.folder / word).exists():
            assert time.monotonic() < until, f"nobody made {word}"
            time.sleep(0.02)

    def _tell(self, update: dict[str, Any]) -> None:
        params = {"sessionId": "play", "update": update}
        print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}), flush=True)

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        headers = {one["name"]: one["value"] for one in self.server["headers"]} | {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            "Mcp-Name": params.get("name", ""),
        }
        request = urllib.request.Request(self.server["url"], json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["result"]


def main(script: str, folder: str) -> None:
    actor = Actor(Path(script), Path(folder))
    messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=read, args=(actor, messages), daemon=True).start()
    while (message := messages.get()) is not None:
        answer: dict[str, Any] = {"result": {}}
        match message["method"]:
            case "initialize":
                can = {"mcpCapabilities": {"http": True}, "loadSession": (actor.folder / "loads").exists()}
                answer["result"] = {"protocolVersion": 1, "agentCapabilities": can}
            case "session/new" | "session/load":
                actor.server = message["params"]["mcpServers"][0]
                actor.cwd = Path(message["params"]["cwd"])
                answer["result"] = {"sessionId": "play"}
            case "session/prompt":
                answer = play(actor, message["params"]["prompt"][0]["text"])
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)


def read(actor: Actor, messages: "queue.SimpleQueue[dict[str, Any] | None]") -> None:
    """Reads to the end of the input, also during a turn."""
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message:
            actor.answers.put(message)
            continue
        if message["method"] == "session/cancel":
            actor.cancelled.set()
            continue
        if message["method"] == "session/prompt":
            actor.cancelled.clear()
        messages.put(message)
    messages.put(None)


def play(actor: Actor, prompt: str) -> dict[str, Any]:
    actor.keep("prompt", prompt)
    try:
        actor.turn(prompt)
    except Fault as fault:
        return {"error": {"code": -32603, "message": str(fault)}}
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(4)
    return {"result": {"stopReason": "end_turn", **({"usage": actor.usage} if actor.usage else {})}}


if __name__ == "__main__":
    main(*sys.argv[1:])
