"""The gateways we compare with, each started as its makers intend, and how one of them is spoken to.

FastMCP's proxy with a client that stays connected; mcp-proxy, which has stdio on one side and HTTP on the other;
mcp-hub, which is spoken to over HTTP with events, as the protocol had it first.
"""

import json
import os
import re
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple, Self
from urllib.request import urlopen

from bench.clients import PATIENCE, Call, Exchange, HttpClient, LineClient, ask, greet
from bench.environment import program as clean_program
from bench.mcp_peers import FASTMCP, FOLDER, MCP_PROXY, program, script
from bench.measure import Command, Failed
from bench.plan import Plan
from bench.servers import Served, _pipe, _process
from bench.trackers import npm_cache, npm_install

DIRECT, BN, MCP_HUB = "direct", "bn", "mcp-hub"
GATEWAYS = os.path.join(FOLDER, "gateways.json")
STARTED_WITHIN = 60.0

Config = Mapping[str, Mapping[str, Any]]
"""Servers by name, in the words of `mcpServers`."""


class Open(NamedTuple):
    """A gateway that runs, and the names it has for the tool of each server."""

    served: Served
    tools: list[str]


def installed(plan: Plan) -> list[str]:
    """Fetches the gateways; those that can be had here."""
    for name in (FASTMCP, MCP_PROXY):
        program(plan, name, "python")
    return [FASTMCP, MCP_PROXY, *([] if npm_install(plan, GATEWAYS, "mcp-hub") else [MCP_HUB])]


def bn(plan: Plan, servers: Config, front: str) -> Command:
    """Our gateway, in a repository of its own."""
    folder = os.path.join(plan.folder, f"gateway-{front}-{time.monotonic_ns()}")
    os.makedirs(os.path.join(folder, ".git"))
    flags = [f"--mcp-server={name}={_flag(one)}" for name, one in servers.items()]
    http = ("--http", "127.0.0.1:0", "--no-auth") if front == "HTTP" else ()
    return clean_program(plan, "bn", "-C", folder, "mcp", "serve", *http, *flags)


def _flag(server: Mapping[str, Any]) -> str:
    return server["url"] if "url" in server else " ".join((server["command"], *server["args"]))


@contextmanager
def opened(plan: Plan, name: str, front: str, servers: Config) -> Iterator[Open]:
    """A gateway with servers behind it, once it has all their tools."""
    with ExitStack() as stack:
        served = stack.enter_context(_served(plan, name, front, servers))
        wanted = 1 if name == MCP_PROXY else len(servers)
        yield Open(served, _tools(served, wanted))


def can(name: str, front: str, servers: Config) -> bool:
    """Whether a gateway has this way in and this way out."""
    is_http = "url" in next(iter(servers.values()))
    if name == MCP_PROXY:
        return (front == "HTTP") != is_http and (len(servers) == 1 or not is_http)
    return name != MCP_HUB or front == "HTTP"


@contextmanager
def _served(plan: Plan, name: str, front: str, servers: Config) -> Iterator[Served]:
    if name == MCP_HUB or (name == MCP_PROXY and front == "HTTP"):
        with _on_port(plan, name, servers) as served:
            yield served
        return
    if name == BN:
        command = bn(plan, servers, front)
    elif name == MCP_PROXY:
        command = program(plan, name, "mcp-proxy")
        url = next(iter(servers.values()))["url"]
        command = command._replace(argv=(*command.argv, "--log-level", "WARNING", "--transport", "streamablehttp", url))
    else:
        command = script(plan, name, "fastmcp_proxy.py")
        http = ("--http",) if front == "HTTP" else ()
        command = command._replace(argv=(*command.argv, _file(plan, servers), *http))
    with spoken_to(command, front) as served:
        yield served


@contextmanager
def spoken_to(command: Command, front: str) -> Iterator[Served]:
    """A server that is given time to connect to others before it answers."""
    stop: Callable[[Any], object] = lambda process: process.terminate()  # noqa: E731
    with ExitStack() as stack:
        process = stack.enter_context(_process(command, stop))
        if front == "HTTP":
            url = json.loads(_pipe(process.stdout).readline() or b"{}").get("url")
            if not url:
                raise Failed("it printed no address")
            client: Any = stack.enter_context(HttpClient(url))
        else:
            client = HeedlessClient(to_server=_pipe(process.stdin).fileno(), from_server=_pipe(process.stdout).fileno())
        greet(client)
        yield Served(client, process.pid)


@contextmanager
def _on_port(plan: Plan, name: str, servers: Config) -> Iterator[Served]:
    """A gateway that is told its port."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    file = _file(plan, servers)
    if name == MCP_HUB:
        index = os.path.join(npm_cache(GATEWAYS), "node_modules", ".bin", "mcp-hub")
        argv: tuple[str, ...] = ("node", index, "--port", str(port), "--config", file)
        path = "/mcp"
    else:
        argv = (*program(plan, name, "mcp-proxy").argv, "--port", str(port), "--log-level", "WARNING")
        argv = (*argv, "--named-server-config", file)
        path = f"/servers/{next(iter(servers))}/mcp"
    with ExitStack() as stack:
        command = program(plan, MCP_PROXY, "mcp-proxy")._replace(argv=argv)
        # Nobody reads what they print; mcp-hub prints a line for everything.
        quiet = ("sh", "-c", 'exec "$@" >/dev/null', "quiet", *command.argv)
        process = stack.enter_context(_process(command._replace(argv=quiet), lambda process: process.terminate()))
        _wait_for(port)
        if name == MCP_HUB:
            _wait_until_ready(port)
        url = f"http://127.0.0.1:{port}{path}"
        client: Any = stack.enter_context(SseClient(url) if name == MCP_HUB else HttpClient(url))
        greet(client)
        yield Served(client, process.pid)


def _wait_until_ready(port: int) -> None:
    """Waits for mcp-hub, which listens before it can serve, and breaks when it is spoken to in between."""
    end = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < end:
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/api/health", timeout=PATIENCE) as health:
            if json.load(health).get("state") == "ready":
                return
        time.sleep(0.01)
    raise Failed("it does not become ready")


def _wait_for(port: int) -> None:
    end = time.monotonic() + STARTED_WITHIN
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > end:
            raise Failed("it does not listen")
        time.sleep(0.01)


def _tools(served: Served, wanted: int) -> list[str]:
    """The names of the echo of every server, once they are there."""
    end = time.monotonic() + STARTED_WITHIN
    while True:
        names = [tool["name"] for tool in ask(served.client, "tools/list")["tools"] if tool["name"].endswith("echo")]
        if len(names) >= wanted:
            return names
        if time.monotonic() > end:
            raise Failed(f"it has {len(names)} of {wanted} tools")
        time.sleep(0.005)


def _file(plan: Plan, servers: Config) -> str:
    path = os.path.join(plan.folder, f"servers-{time.monotonic_ns()}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"mcpServers": servers}, file)
    return path


class HeedlessClient(LineClient):
    """A client on pipes that passes over what a server tells without being asked."""

    _rest = b""

    def _read(self) -> bytes:
        while True:
            chunk, self._rest = self._rest + super()._read(), b""
            if b'"method"' not in chunk:
                return chunk
            *lines, self._rest = chunk.split(b"\n")
            if answers := [line + b"\n" for line in lines if b'"method"' not in line]:
                return b"".join(answers)


class SseClient:
    """A client of a server that answers on one stream of events, whatever is posted. Leaving it closes everything."""

    def __init__(self, url: str) -> None:
        self._host, _, path = url.removeprefix("http://").partition("/")
        self._stream = self._connect()
        head = f"GET /{path} HTTP/1.1\r\nhost: {self._host}\r\naccept: text/event-stream\r\n\r\n"
        self._stream.sendall(head.encode())
        self._unread = b""
        self._posts = self._connect()
        while not (found := re.search(rb"data: (/\S+)\r?\n", self._unread)):
            self._unread += self._read()
        self._endpoint = found[1].decode()
        self._unread = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._posts.close()

    def _connect(self) -> socket.socket:
        host, _, port = self._host.partition(":")
        made = socket.create_connection((host, int(port)), timeout=PATIENCE)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def _read(self) -> bytes:
        if not (data := self._stream.recv(1 << 18)):
            raise Failed("the server has closed its stream")
        return data

    def notify(self, method: str) -> None:
        self._post(json.dumps({"jsonrpc": "2.0", "method": method}).encode())

    def _post(self, message: bytes) -> None:
        """Posts a message and waits until it is taken."""
        head = f"POST {self._endpoint} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
        self._posts.sendall(f"{head}content-length: {len(message)}\r\n\r\n".encode() + message)
        taken = b""
        while not taken.endswith(b"\r\n0\r\n\r\n"):  # it comes in chunks, of which this is the last
            if not (more := self._posts.recv(1 << 16)):
                raise Failed("the server has closed a connection that was to be kept")
            taken += more
            if b" 202 " not in taken.partition(b"\r\n")[0] and b"\r\n" in taken:
                raise Failed(f"the server refused: {taken[:300]!r}")

    def exchange(self, calls: Sequence[Call], *, at_once: int) -> Exchange:
        sent: dict[int, float] = {}
        came: dict[int, tuple[float, bytes]] = {}
        poll = select.poll()
        poll.register(self._stream.fileno(), select.POLLIN)
        waiting = iter(calls)
        self._posts.close()  # it is not kept for long
        self._posts = self._connect()
        started = time.perf_counter()
        while len(came) < len(calls):
            while len(sent) - len(came) < at_once and (one := next(waiting, None)) is not None:
                sent[one.number] = time.perf_counter()
                self._post(one.message)
            if not poll.poll(PATIENCE * 1000):
                raise Failed(f"no answer within {PATIENCE:g} s")
            self._unread += self._read()
            moment = time.perf_counter()
            *events, self._unread = self._unread.split(b"\n\n")
            for event in events:
                _, found, data = event.partition(b"data: ")
                if found and (number := json.loads(data).get("id")) in sent:
                    came[number] = (moment, data)
        total = max(moment for moment, _ in came.values()) - started
        latencies = [came[one.number][0] - sent[one.number] for one in calls]
        return Exchange(total, latencies, [came[one.number][1] for one in calls])
