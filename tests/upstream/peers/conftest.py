"""What every test here needs: servers of other people, ours in front of them, and the official SDK's client."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from server.clients import WAIT, Server
from server.peers import installed
from server.peers.conftest import BN, Target, sdk

__all__ = ["sdk"]

HERE = Path(__file__).parent
NEW = "2026-07-28"
WITHIN = 100.0
"""Seconds after which what was waited for will not come: servers on Node start slowly beside others."""

Servers = dict[str, dict[str, Any]]
Fronts = Callable[[Servers], Target]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Any test here may be the first to ask for a peer, and then waits for its installation."""
    for item in items:
        if item.get_closest_marker("peers") and HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(1200))


def npm_server(name: str, *words: str) -> dict[str, Any]:
    """The configuration of one of the reference servers."""
    place = installed.node_modules(HERE / "package.json") / "@modelcontextprotocol" / f"server-{name}"
    return {"command": installed.node(), "args": [str(place / "dist" / "index.js"), *words]}


def sdk_server(*words: str) -> dict[str, Any]:
    """The configuration of a server made with the official SDK, on stdio."""
    env = {"PYTHONPATH": str(installed.python_packages())}
    return {"command": sys.executable, "args": ["-W", "ignore", str(HERE / "sdk_server.py"), *words], "env": env}


@contextlib.contextmanager
def listening(config: dict[str, Any], *, port: int | None = None) -> Iterator[str]:
    """A server of its own process. It prints its URL, or is told a port and is waited for; then that is the URL."""
    env = {**os.environ, **config.get("env", {}), **({"PORT": str(port)} if port else {})}
    with Server(command=[config["command"], *config["args"]], env=env) as server:
        if port is None:
            assert server.process.stdout is not None
            url = server.process.stdout.readline().decode().strip()
            assert url, server.said
            yield url
        else:
            wait_for_port(port)
            yield f"http://127.0.0.1:{port}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def wait_for_port(port: int) -> None:
    end = time.monotonic() + WITHIN
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert time.monotonic() < end, "nobody listens"
        os.sched_yield()


@pytest.fixture
def repo(tmp_path: Path) -> Target:
    """A repository of its own, as a place where `bn` is started."""
    place = tmp_path / "repo"
    subprocess.run(["git", "init", "--quiet", str(place)], check=True, timeout=60)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("BN_", "XDG_"))}
    env |= {"BN_DATA_DIR": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "BN_USER": "ann"}
    return Target("", [BN, "mcp", "serve"], str(place), env)


def configure(repo: Target, servers: Servers) -> None:
    """Writes the servers into the project's file, and trusts them as a person would."""
    file = Path(repo.cwd) / ".binnacle" / "mcp.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"servers": servers}))
    command = [BN, "trust", "--yes"]
    subprocess.run(command, cwd=repo.cwd, env=repo.env, check=True, timeout=60, capture_output=True)


@pytest.fixture(params=["stdio", "http"])
def front(request, repo: Target) -> Iterator[Fronts]:
    """Makes `bn mcp serve` with servers behind it, over each transport."""
    with contextlib.ExitStack() as stack:

        def serve(servers: Servers) -> Target:
            configure(repo, servers)
            if request.param == "stdio":
                return repo
            server = Server(command=[*repo.command, "--http", "0", "--no-auth"], cwd=repo.cwd, env=repo.env)
            stack.callback(_stop, stack.enter_context(server))
            assert server.process.stdout is not None
            return repo._replace(url=json.loads(server.process.stdout.readline())["url"])

        yield serve


@pytest.fixture
def birds(postgres_url: str) -> Iterator[str]:
    """A table in the database, and the database's URL as `server-postgres` wants it."""
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("create table if not exists birds (name text primary key, legs int)")
        db.execute("insert into birds values ('robin', 2), ('wren', 2) on conflict do nothing")
        info = db.info
        is_socket = info.host.startswith("/")
        where = f"localhost/{info.dbname}?host={info.host}" if is_socket else f"{info.host}:{info.port}/{info.dbname}"
        yield f"postgresql://{info.user}:{info.password or 'none'}@{where}"
        db.execute("drop table if exists birds")


def _stop(server: Server) -> None:
    server.terminate()
    assert server.process.wait(timeout=WAIT) == 0, server.said


class Connected:
    """A client of the official SDK, connected to us."""

    def __init__(self, client: Any, changed: asyncio.Event) -> None:
        self.client = client
        self._changed = changed

    async def offered(self, *names: str) -> dict[str, Any]:
        """The tools, once those named are among them."""
        while True:
            tools = {tool.name: tool for tool in (await self.client.list_tools(cache_mode="refresh")).tools}
            if set(names) <= tools.keys():
                return tools
            with contextlib.suppress(TimeoutError):  # a client of the new era may not be told
                async with asyncio.timeout(0.2):
                    await self._changed.wait()
            self._changed.clear()

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result
        return result

    async def say(self, tool: str, /, **arguments: Any) -> str:
        """The text in the result of a call."""
        return (await self.call(tool, **arguments)).content[0].text


@asynccontextmanager
async def connected(sdk: Any, target: Target, mode: str, **options: Any) -> AsyncIterator[Connected]:
    changed = asyncio.Event()

    async def heard(message: Any) -> None:
        if "ToolListChanged" in type(message).__name__:
            changed.set()

    command, *words = target.command
    server = target.url or sdk.StdioServerParameters(command=command, args=words, cwd=target.cwd, env=target.env)
    given = {"mode": mode, "read_timeout_seconds": WITHIN, "message_handler": heard, **options}
    async with sdk.Client(server, **given) as client:
        yield Connected(client, changed)


def run(work: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(WITHIN):
            await work

    asyncio.run(bounded())


@pytest.fixture(params=["legacy", NEW])
def mode(request) -> str:
    """The era of the client in front."""
    return request.param
