"""A stand-in for any agent client: it finds its MCP servers the way that client does, and speaks to ours.

Put on PATH under the name of the client. What it is to do comes as JSON in `LAUNCHED`, what it met goes to the file
named there.
"""

import json
import os
import shlex
import signal
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

from server.clients import Stdio, call, request, wait_for


def main(name: str, argv: list[str]) -> int:
    """Plays its part and returns the exit code it was told."""
    role = json.loads(os.environ["LAUNCHED"])
    signals: list[int] = []
    for number in role.get("catches", ()):
        signal.signal(number, lambda caught, _: signals.append(caught))
    servers = servers_of(name, argv)
    met: dict[str, Any] = {
        "pid": os.getpid(),
        "argv": argv,
        "env": dict(os.environ),
        "cwd": os.getcwd(),
        "servers": servers,
        "files": files_of(servers),
        "is_tty": [os.isatty(stream) for stream in range(3)],
    }
    if role.get("calls") is not None:
        met |= speak(servers, role)
    _write(role["record"], met)
    if wanted := role.get("waits_for"):
        wait_for(lambda: Path(wanted).exists(), f"{wanted} does not come")
    if role.get("reads"):
        sys.stdin.readline()
    while role.get("catches") and not signals:
        signal.pause()
    _write(role["record"], met | {"signals": signals})
    return role.get("code", 0)


def speak(servers: dict[str, Any], role: dict[str, Any]) -> dict[str, Any]:
    """Lists the tools of our server and makes the calls of its part."""
    ours = next(server for name, server in servers.items() if name.startswith("bns"))
    command = [ours["command"], *ours["args"]]
    env = {**os.environ, **ours.get("env", {})}
    with Stdio(command=command, env=env) as server:
        server.initialize()
        tools = [tool["name"] for tool in server.ask(request(0, "tools/list"))["result"]["tools"]]
        results = [server.ask(call(number, tool, **words)) for number, (tool, words) in enumerate(role["calls"], 1)]
        server.close_input()
        assert server.wait() == 0, server.said
    return {"tools": tools, "results": [one["result"] for one in results]}


def servers_of(name: str, argv: list[str]) -> dict[str, Any]:
    """The servers a client was given, whichever way that is."""
    if name in ("claude", "copilot"):
        option = "--mcp-config=" if name == "claude" else "--additional-mcp-config=@"
        (path,) = (word.removeprefix(option) for word in argv if word.startswith(option))
        return json.loads(Path(path).read_text())["mcpServers"]
    if name == "opencode":
        found = json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])["mcp"]
        return {key: {"command": one["command"][0], "args": one["command"][1:]} for key, one in found.items()}
    if name == "codex":
        values = [value for option, value in pairwise(argv) if option == "-c"]
        return tomllib.loads("\n".join(values))["mcp_servers"]
    if name == "gemini":
        settings = json.loads(Path(os.environ["GEMINI_CLI_HOME"], ".gemini", "settings.json").read_text())["mcpServers"]
        return {key: {**one, "env": {}} for key, one in settings.items()}
    words = [shlex.split(value) for option, value in pairwise(argv) if option == "--with-extension"]
    return {"bns": {"command": words[0][0], "args": words[0][1:]}}


def files_of(servers: dict[str, Any]) -> dict[str, str]:
    """The files of the session, as the client finds them when it starts."""
    ours = next(server for name, server in servers.items() if name.startswith("bns"))
    folder = next(Path(os.environ["BN_DATA_DIR"]).glob(f"*/sessions/{ours['args'][-1]}"))
    return {file.name: file.read_text() for file in folder.iterdir()}


def _write(path: str, met: dict[str, Any]) -> None:
    Path(f"{path}.new").write_text(json.dumps(met))
    Path(f"{path}.new").rename(path)
