"""Two instances of each of several real clients work on one endpoint at once, with one token, and never meet."""

import json
import os
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cli.conftest import Bn, bn  # noqa: F401 - the fixture
from identity.conftest import HttpEnd, serve  # noqa: F401 - the fixture
from runner.peers import conftest as agents
from runner.peers.model import Json, Led, playing, say, use
from server.peers import installed
from server.peers.model import _text

pytestmark = pytest.mark.peers

PATIENCE_SECONDS = 180
"""For anything that one of these programs does on a machine that has other things to do."""


class Workers(Led):
    """Plays for all instances: each claims a task, comments on it and finishes it.

    None goes on before all hold a task. So they really are at work at the same time, whatever the machine does.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.told: list[str] = []
        """What the tools returned, in the newest request of each instance."""

        self.held: set[str] = set()
        self._count = count
        self._changed = threading.Condition()

    def step(self, request: Json) -> Json:
        results = [_text(message["content"]) for message in request["messages"] if message["role"] == "tool"]
        if not results:
            return use("task_claim")
        with self._changed:
            self.told.append(results[-1])
        found = re.search(r"\bbn-[0-9a-f]+\b", results[0])
        if found is None:
            return say(f"no task: {results[0]}")
        task = found[0]
        if len(results) == 1:
            self._wait_for_all(task)
        steps = [
            use("comment_add", task_id=task, body="Looked into it"),
            use("task_status", id=task, status="done", reason="It works"),
            say(f"finished {task}"),
        ]
        return steps[min(len(results), len(steps)) - 1]

    def _wait_for_all(self, task: str) -> None:
        with self._changed:
            self.held.add(task)
            self._changed.notify_all()
            self._changed.wait_for(lambda: len(self.held) >= self._count, PATIENCE_SECONDS)


class Instance(NamedTuple):
    """How an instance of a client is started."""

    command: list[str]
    env: dict[str, str]


def claude(end: HttpEnd, model: Led, home: Path) -> Instance:
    program = installed.node_modules() / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    servers = home / "mcp.json"
    servers.write_text(
        json.dumps({"mcpServers": {"binnacle": {"type": "http", "url": end.url, "headers": _bearer(end)}}})
    )
    words = ["--mcp-config", str(servers), "--strict-mcp-config", "--allowedTools", "mcp__binnacle__*"]
    return Instance([str(program), "-p", "go", *words], agents.claude(model.url))


def copilot(end: HttpEnd, model: Led, home: Path) -> Instance:
    servers = home / "mcp.json"
    entry = {"type": "http", "url": end.url, "headers": _bearer(end), "tools": ["*"]}
    servers.write_text(json.dumps({"mcpServers": {"binnacle": entry}}))
    words = ["--additional-mcp-config", f"@{servers}", "--allow-tool", "binnacle"]
    return Instance(["copilot", "-s", "-p", "go", *words], agents.copilot(model.url))


def goose(end: HttpEnd, model: Led, home: Path) -> Instance:
    entry = {"type": "streamable_http", "name": "binnacle", "description": "", "uri": end.url, "enabled": True}
    entry |= {"headers": _bearer(end), "envs": {}, "env_keys": [], "timeout": 60}
    config = home / "config" / "goose" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"extensions": {"binnacle": entry}}))  # JSON is YAML
    return Instance(
        ["goose", "run", "--no-session", "-q", "-t", "go"], agents.goose(model.url) | {"GOOSE_MODE": "auto"}
    )


def opencode(end: HttpEnd, model: Led, home: Path) -> Instance:
    env = agents.opencode(model.url)
    config = json.loads(env["OPENCODE_CONFIG_CONTENT"])
    entry = {"type": "remote", "url": end.url, "headers": _bearer(end), "enabled": True, "oauth": False}
    config |= {"mcp": {"binnacle": entry}, "permission": {"*": "allow"}}
    return Instance(
        ["opencode", "run", "--format", "json", "go"], env | {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}
    )


CLIENTS: dict[str, Callable[[HttpEnd, Led, Path], Instance]] = {
    "claude": claude,
    "copilot": copilot,
    "goose": goose,
    "opencode": opencode,
}


def _bearer(end: HttpEnd) -> dict[str, str]:
    return {"Authorization": f"Bearer {end.token}"}


def start(instance: Instance, bn: Bn, home: Path) -> "subprocess.Popen[str]":  # noqa: F811
    """Starts an instance in the repository, with a home of its own."""
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    path = os.pathsep.join([instance.env.get("PATH", ""), os.environ["PATH"]])
    env = {"LANG": "C.UTF-8", **instance.env, **folders, "PATH": path, "HOME": str(home)}
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(instance.command, cwd=bn.repo, env=env, text=True, **streams)


def work(bn: Bn, end: HttpEnd, names: list[str], homes: Path) -> Workers:  # noqa: F811
    """Has an instance of each named client do a task, all at once."""
    model = Workers(len(names))
    with playing(model), ExitStack() as stack:
        running = []
        for number, name in enumerate(names):
            home = homes / f"{number}-{name}"
            home.mkdir(parents=True)
            process = stack.enter_context(start(CLIENTS[name](end, model, home), bn, home))
            stack.callback(process.kill)
            running.append((name, process))
        for name, process in running:
            out, errors = process.communicate(timeout=2 * PATIENCE_SECONDS)
            assert process.returncode == 0, (name, out[-2000:], errors[-2000:])
            assert "finished bn-" in out, (name, out[-2000:], errors[-2000:], model.told)
    return model


def check(bn: Bn, model: Workers, tasks: set[str]) -> None:  # noqa: F811
    """Whether every task was done by one agent, and every agent did one task."""
    assert model.held == tasks
    assert not [told for told in model.told if "already work" in told or "is held by" in told], model.told
    holders = {}
    for task in tasks:
        assert bn("task", "show", task)["task"]["status"] == "done"
        events = [event for event in bn("log", "--of", task)["events"] if event["actor"] != "ann"]
        actions = Counter(event["action"] for event in events)
        assert (actions["started"], actions["done"]) == (1, 1), events
        (holders[task],) = {event["actor"] for event in events}
    events = bn("log", "--limit", "500")["events"]
    names = {event["entity_id"]: event["changes"]["name"] for event in events if event["action"] == "registered"}
    assert sorted(names) == sorted(holders.values()), "each instance is one agent, and nobody else is"
    assert len(set(names.values())) == len(names), names


@pytest.fixture
def fetched() -> None:
    """Before anything waits for anything: what is fetched takes minutes the first time."""
    installed.node_modules()
    installed.node_modules(agents.HERE / "package.json")


@pytest.mark.usefixtures("fetched")
@pytest.mark.parametrize("names", [*([name] * 2 for name in CLIENTS), [*CLIENTS] * 2], ids=[*CLIENTS, "all"])
def test_two_instances_of_a_client_work_at_once(bn, serve, tmp_path, names):  # noqa: F811
    tasks = {bn.add(f"Task {number}") for number in range(len(names))}
    end = serve()
    check(bn, work(bn, end, names, tmp_path / "homes"), tasks)
