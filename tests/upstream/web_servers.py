"""Servers at URLs that do what they should not, and links to them. Every wait is bounded."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig
from binnacle.upstream.transports.http_client import new_session
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.upstream.transports.transport import OutgoingRequest, Receive, Transport
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import Message

WAIT = 30.0
"""Seconds after which what was waited for will not come."""

NEW = "2026-07-28"
OLD = "2025-11-25"

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a test to its end."""

    async def bounded() -> T:
        async with asyncio.timeout(WAIT):
            return await work

    return asyncio.run(bounded())


class Asked:
    """A request as it came in, and the means to answer it, rightly or wrongly."""

    def __init__(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = first.split(" ", 2)
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.body = b""
        self.reader = reader
        self.writer = writer

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def rpc(self) -> str:
        """The method of the message in it."""
        return self.message.get("method", "") if self.body else ""

    async def raw(self, *chunks: bytes) -> None:
        for chunk in chunks:
            self.writer.write(chunk)
            await self.writer.drain()

    async def reply(self, status: int, body: bytes = b"", kind: str = "application/json", **headers: str) -> None:
        """An ordinary HTTP answer."""
        lines = [f"HTTP/1.1 {status} Whatever", f"content-type: {kind}", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def result(self, value: Any = None, **headers: str) -> None:
        """The answer to the message in it."""
        await self.reply(200, answer(self.message["id"], value), **headers)

    async def stream(self, *events: bytes) -> None:
        """Begins a stream of events, which ends with the connection."""
        await self.raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n", *events)


Script = Callable[[Asked], Awaitable[object]]
"""Answers a request. True keeps the connection."""


def answer(request_id: Any, value: Any = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": {} if value is None else value}).encode()


def event(data: bytes, *fields: str) -> bytes:
    return "".join(f"{field}\n" for field in fields).encode() + b"data: " + data + b"\n\n"


class Peer:
    """A server that answers as its script says."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.asked: list[Asked] = []
        self._news = asyncio.Event()
        self.hung_up = asyncio.Event()
        """Set when a client has gone away while it was being answered."""

        self.connections = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
                asked = Asked(head, reader, writer)
                asked.body = await reader.readexactly(int(asked.headers.get("content-length", 0)))
                self.asked.append(asked)
                self._news.set()
                if not await self._script(asked):
                    break
        writer.close()

    async def wait_until_asked(self, times: int) -> None:
        """Waits until so many requests have come."""
        while len(self.asked) < times:
            self._news.clear()
            await self._news.wait()

    async def wait_until_hung_up(self, asked: Asked) -> None:
        """For scripts: waits until the client has gone."""
        with contextlib.suppress(OSError):
            assert await asked.reader.read() == b""
        self.hung_up.set()


@contextlib.asynccontextmanager
async def peer(script: Script) -> AsyncIterator[Peer]:
    """A server on a port of its own."""
    found = Peer(script)
    running: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await found.serve(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            running.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class Auth:
    """Says who we are; learns something new when it is challenged."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.challenges: list[tuple[int, str]] = []

    async def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[0]}"} if self.tokens else {}

    async def handle_challenge(self, status: int, www_authenticate: str) -> bool:
        self.challenges.append((status, www_authenticate))
        if len(self.tokens) < 2:
            return False
        del self.tokens[0]
        return True


class Line:
    """A link and what came over it unasked."""

    def __init__(self, link: Transport, received: list[tuple[Message, bytes]], news: asyncio.Event) -> None:
        self.link = link
        self.received = received
        self._news = news

    async def ask(self, number: int, method: str = "tools/list", name: str = "", **more: Any) -> jsonrpc.Response:
        return await self.link.ask(request(number, method, name, **more))

    async def wait_for(self, count: int) -> None:
        """Waits until so many messages have come."""
        while len(self.received) < count:
            self._news.clear()
            await self._news.wait()

    @property
    def methods(self) -> list[str]:
        return [getattr(message, "method", "") for message, _ in self.received]


def request(number: int, method: str = "tools/list", name: str = "", **more: Any) -> OutgoingRequest:
    message = jsonrpc.request_message(number, method, {"name": name} if name else {})
    return OutgoingRequest(str(number).encode(), message, method, name, **more)


def config(url: str, transport: Any = "http", **more: Any) -> ServerConfig:
    return ServerConfig(name="far", transport=transport, url=url, source=ConfigSource("cli"), **more)


@contextlib.asynccontextmanager
async def line(
    kind: Callable[..., Transport], url: str, *, auth: Auth | None = None, version: str = "", **more: Any
) -> AsyncIterator[Line]:
    """A link that is open; leaving it closes it and sees that it left nothing open."""
    auth = auth or Auth()
    received: list[tuple[Message, bytes]] = []
    news = asyncio.Event()

    def receive(message: Message, request_id: bytes) -> None:
        received.append((message, request_id))
        news.set()

    async with new_session() as session:
        make: Callable[[ServerConfig, Receive], Transport] = lambda settings, take: kind(  # noqa: E731
            settings, take, session=session, credentials=auth
        )
        link = make(config(url, **more), receive)
        link.version = version
        try:
            await link.open()
            yield Line(link, received, news)
        finally:
            await link.close()
            await _nothing_in_use(session)


async def _nothing_in_use(session: HttpSession) -> None:
    """Every connection was given back to the pool, or closed."""
    if session.opened is None:
        return
    connector = session.opened.connector
    assert connector is not None
    assert not connector._acquired


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))
