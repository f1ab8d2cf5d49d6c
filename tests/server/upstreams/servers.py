"""Upstream servers of a repository under test, and what a test asks about them."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from cli.conftest import Bn
from scenarios.agents import Agent
from server.clients import wait_for

ROGUE = str(Path(__file__).parents[2] / "upstream" / "rogue.py")
HOSTILE = str(Path(__file__).parents[2] / "upstream" / "hostile.py")
LAUNCHER = str(Path(__file__).parents[2] / "upstream" / "launcher.py")
CARELESS = str(Path(__file__).parents[2] / "upstream" / "careless.py")
Entry = dict[str, Any]


def rogue(*words: str, **more: Any) -> Entry:
    """A server that misbehaves as it is told."""
    return {"command": sys.executable, "args": ["-S", ROGUE, *words], "connect_timeout": 20, **more}


def hostile(*words: str, **more: Any) -> Entry:
    """A server that offers and says too much."""
    return {"command": sys.executable, "args": ["-S", HOSTILE, *words], "connect_timeout": 20, **more}


def careless(says: Path, *words: str, **more: Any) -> Entry:
    """A server that lists and answers what a file says, as it stands there."""
    return {"command": sys.executable, "args": ["-S", CARELESS, str(says), *words], "connect_timeout": 20, **more}


def launched(manner: str, until: Path | int, **more: Any) -> Entry:
    """A server whose launcher works until a file is there, or for so many seconds."""
    words = ["-S", LAUNCHER, manner, str(until), sys.executable, "-S", ROGUE]
    return {"command": sys.executable, "args": words, "connect_timeout": 2, **more}


def flag(name: str, *words: str) -> tuple[str, str]:
    """The same, on the command line."""
    return ("--mcp-server", f"{name}={sys.executable} -S {ROGUE} {' '.join(words)}")


class Servers:
    """What is configured for a repository. A server in the user's file starts at once."""

    def __init__(self, bn: Bn) -> None:
        self._bn = bn
        self.project = bn.repo / ".binnacle" / "mcp.json"
        self.user = Path(bn.env["XDG_CONFIG_HOME"], "binnacle", "mcp.json")

    def __call__(self, **servers: Entry) -> None:
        """Writes the user's file."""
        self._write(self.user, servers)

    def in_project(self, **servers: Entry) -> None:
        self._write(self.project, servers)

    def trust(self) -> None:
        self._bn.by_person("trust", "--yes")

    def _write(self, path: Path, servers: dict[str, Entry]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"servers": servers}))
        new.replace(path)

    @property
    def folder(self) -> Path:
        """What the project keeps of them."""
        return Path(self._bn("store", "path")["path"], "upstream")

    def audit(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "calls.jsonl").read_text().splitlines()]


def foreign(agent: Agent) -> dict[str, Any]:
    """The tools of other servers that an agent has."""
    return {name: tool for name, tool in agent.tools().items() if name.startswith("mcp_")}


def wait_for_tool(agent: Agent, name: str) -> None:
    wait_for(lambda: name in agent.tools(), f"there is no {name}")


def wait_for_no_tool(agent: Agent, name: str) -> None:
    wait_for(lambda: name not in agent.tools(), f"there is still {name}")


def said(agent: Agent, tool: str, text: str = "") -> str:
    """What a tool of another server says."""
    result = agent.result(tool, text=text)
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


def pid(agent: Agent, server: str) -> int:
    return int(said(agent, f"mcp_{server}_pid"))


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def wait_until_gone(*processes: int) -> None:
    wait_for(lambda: not any(map(_is_there, processes)), f"still running: {processes}")


def _is_there(process: int) -> bool:
    try:
        return is_alive(process)
    except FileNotFoundError:
        return False
