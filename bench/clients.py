"""Clients of MCP servers that add as little as they can to what is measured: bytes out, bytes in, looked at later.

They speak 2025-06-18 to everyone, on stdio as lines of JSON, on HTTP over connections that are kept.
"""

import json
import os
import select
import socket
import time
from collections.abc import Mapping, Sequence
from itertools import count
from statistics import median
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from bench.measure import Failed

PROTOCOL = "2025-06-18"

PATIENCE = 60.0
"""Seconds without a byte after which a server is given up."""

_HELLO = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_NUMBERS = count(1)


class Call(NamedTuple):
    """A request, and the id its answer will have."""

    number: int
    message: bytes


class Exchange(NamedTuple):
    """What some calls took."""

    total: float
    """Seconds from the first byte sent to the last received."""

    latencies: list[float]
    """Seconds from sending a call to having its answer, call by call."""

    answers: list[bytes]
    """In the order of the calls."""

    def results(self) -> list[dict[str, Any]]:
        """What was answered.

        Raises:
            Failed: one of them is an error. A server that refuses is quick, and would win.
        """
        messages = [json.loads(answer) for answer in self.answers]
        for message in messages:
            if "result" not in message or message["result"].get("isError"):
                raise Failed(f"a call was refused: {json.dumps(message)[:800]}")
        return [message["result"] for message in messages]

    def milliseconds(self) -> tuple[float, float]:
        """For one call on average, and until the answer to the median call."""
        return self.total / len(self.latencies) * 1000, median(self.latencies) * 1000


class Client(Protocol):
    """A way to a server."""

    def exchange(self, calls: Sequence[Call], *, at_once: int) -> Exchange:
        """Sends all calls, at most `at_once` of them unanswered at any time."""
        ...

    def notify(self, method: str) -> None:
        """Tells the server something."""
        ...


def call(method: str, **params: object) -> Call:
    """A request with a number of its own."""
    number = next(_NUMBERS)
    return Call(number, _encode({"id": number, "method": method, "params": params}))


def ask(client: Client, method: str, **params: object) -> dict[str, Any]:
    """One request and its result."""
    return client.exchange([call(method, **params)], at_once=1).results()[0]


def use_tool(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """One call of a tool and its result."""
    return ask(client, "tools/call", name=tool, arguments=arguments)


def greet(client: Client) -> None:
    """The handshake."""
    hello = ask(client, "initialize", **_HELLO)
    if hello["protocolVersion"] != PROTOCOL:
        raise Failed(f"the server wants to speak {hello['protocolVersion']}")
    client.notify("notifications/initialized")


def _encode(message: Mapping[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()


class LineClient:
    """A client on the two pipes of a server."""

    def __init__(self, *, to_server: int, from_server: int) -> None:
        self._to, self._from = to_server, from_server
        self._poll = select.poll()
        self._poll.register(from_server, select.POLLIN)

    def notify(self, method: str) -> None:
        os.write(self._to, _encode({"method": method}) + b"\n")

    def exchange(self, calls: Sequence[Call], *, at_once: int) -> Exchange:
        lines = [one.message + b"\n" for one in calls]
        sent: list[float] = []
        received: list[tuple[float, bytes]] = []
        answered, started = 0, time.perf_counter()
        while answered < len(calls):
            if (end := min(answered + at_once, len(calls))) > (begin := len(sent)):
                sent += [time.perf_counter()] * (end - begin)
                # A pipe takes 64 KB at once, far more than 16 calls: this does not wait for a server that writes.
                os.write(self._to, b"".join(lines[begin:end]))
            chunk = self._read()
            received.append((time.perf_counter(), chunk))
            answered += chunk.count(b"\n")
        return _sorted_out(calls, started, sent, received)

    def _read(self) -> bytes:
        if not self._poll.poll(PATIENCE * 1000):
            raise Failed(f"no answer within {PATIENCE:g} s")
        if not (chunk := os.read(self._from, 1 << 20)):
            raise Failed("the server has closed its output")
        return chunk


def _sorted_out(
    calls: Sequence[Call], started: float, sent: Sequence[float], received: Sequence[tuple[float, bytes]]
) -> Exchange:
    """Which answer came when. Done after the clock has stopped."""
    came: dict[object, tuple[float, bytes]] = {}
    rest = b""
    for moment, chunk in received:
        *lines, rest = (rest + chunk).split(b"\n")
        came.update((json.loads(line).get("id"), (moment, line)) for line in lines)
    if missing := [one.number for one in calls if one.number not in came]:
        raise Failed(f"{len(missing)} of {len(calls)} calls were not answered, the first is {missing[0]}")
    latencies = [came[one.number][0] - begun for one, begun in zip(calls, sent, strict=True)]
    return Exchange(received[-1][0] - started, latencies, [came[one.number][1] for one in calls])


class HttpClient:
    """A client with as many connections as it has calls under way. Leaving it closes them."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._session = ""
        self._connections: list[_Connection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections:
            connection.socket.close()

    def notify(self, method: str) -> None:
        self._send([_encode({"method": method})], at_once=1)

    def exchange(self, calls: Sequence[Call], *, at_once: int) -> Exchange:
        replies, started = self._send([one.message for one in calls], at_once=at_once)
        for reply in replies:
            self._session = _header(reply.head, b"mcp-session-id").decode() or self._session
        total = max(reply.came for reply in replies) - started
        return Exchange(total, [reply.came - reply.sent for reply in replies], [reply.body for reply in replies])

    def _send(self, messages: Sequence[bytes], *, at_once: int) -> "tuple[list[_Reply], float]":
        """The replies in the order of the messages, and when the first was sent."""
        waiting = iter([(index, self._head(message) + message) for index, message in enumerate(messages)])
        while len(self._connections) < at_once:
            self._connections.append(_Connection(self._url.hostname or "", self._url.port or 80))
        poll = select.poll()
        used = {one.socket.fileno(): one for one in self._connections[:at_once]}
        replies: dict[int, _Reply] = {}
        started = time.perf_counter()
        for number, connection in used.items():
            poll.register(number, select.POLLIN)
            connection.begin(next(waiting, None))
        while len(replies) < len(messages):
            if not (ready := poll.poll(PATIENCE * 1000)):
                raise Failed(f"no answer within {PATIENCE:g} s")
            for number, _ in ready:
                if (reply := used[number].receive()) is not None:
                    replies[reply.place] = reply
                    used[number].begin(next(waiting, None))
        return [replies[index] for index in range(len(messages))], started

    def _head(self, message: bytes) -> bytes:
        session = f"mcp-session-id: {self._session}\r\nmcp-protocol-version: {PROTOCOL}\r\n" if self._session else ""
        return (
            f"POST {self._url.path} HTTP/1.1\r\nhost: {self._url.netloc}\r\ncontent-type: application/json\r\n"
            f"accept: application/json, text/event-stream\r\n{session}content-length: {len(message)}\r\n\r\n"
        ).encode()


class _Reply(NamedTuple):
    """What came back for a message, by its place among them, and when."""

    place: int
    sent: float
    came: float
    head: bytes
    body: bytes


class _Connection:
    """A kept connection with one message under way."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._index, self._sent, self._data = 0, 0.0, b""

    def begin(self, request: tuple[int, bytes] | None) -> None:
        """Sends a message, if there is one left."""
        if request is not None:
            self._index, data = request
            self._data, self._sent = b"", time.perf_counter()
            self.socket.sendall(data)

    def receive(self) -> _Reply | None:
        """Reads what is there; the reply, when that completes it."""
        if not (chunk := self.socket.recv(1 << 18)):
            raise Failed("the server has closed a connection that was to be kept")
        self._data += chunk
        found = _complete(self._data)
        return _Reply(self._index, self._sent, time.perf_counter(), *found) if found else None


def _complete(data: bytes) -> tuple[bytes, bytes] | None:
    """Head and body of a reply, once all of it is there."""
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return None
    if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 202")):
        raise Failed(f"the server refused: {data[:800]!r}")
    length = _header(head, b"content-length")
    if not length:
        raise Failed(f"a reply in one piece was expected: {head!r}")
    return (head, body) if len(body) >= int(length) else None


def _header(head: bytes, name: bytes) -> bytes:
    _, found, rest = head.lower().partition(b"\r\n" + name + b":")
    return rest.partition(b"\r\n")[0].strip() if found else b""
