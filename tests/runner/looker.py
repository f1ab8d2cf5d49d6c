"""An ACP agent that does nothing but look: it writes down what it was given and which tools it finds there.

When it is told to end it looks once more: the server must still be there.
"""

import contextlib
import json
import sys
import time
import urllib.request

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "looker", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def ask(server: dict, method: str, params: dict, *, within: float = 20) -> dict:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    headers = {one["name"]: one["value"] for one in server["headers"]} | {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        "Mcp-Name": params.get("name", ""),
    }
    request = urllib.request.Request(server["url"], json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=within) as answer:
        return json.load(answer)["result"]


def tools(server: dict) -> list[str]:
    return [tool["name"] for tool in ask(server, "tools/list", {})["tools"]]


def main(path: str, awaited: str) -> None:
    """Until the tool `awaited` is there, or twenty seconds have passed."""
    server: dict = {}
    for line in sys.stdin:
        message = json.loads(line)
        result: dict = {}
        if message["method"] == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": True}}}
        elif message["method"] == "session/new":
            server = message["params"]["mcpServers"][0]
            result = {"sessionId": "look"}
        elif message["method"] == "session/prompt":
            until = time.monotonic() + 20
            while awaited not in (found := tools(server)) and time.monotonic() < until:
                time.sleep(0.1)
            if awaited.endswith("_hang"):
                with contextlib.suppress(TimeoutError):
                    ask(server, "tools/call", {"name": awaited, "arguments": {}}, within=6)
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"server": server, "tools": found}, file)
            result = {"stopReason": "end_turn"}
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    with open(f"{path}.last", "w", encoding="utf-8") as file:
        json.dump(tools(server), file)


main(*sys.argv[1:])
