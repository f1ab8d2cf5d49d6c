"""HTTP/1.1 to servers: what is sent, what is made of whatever comes back, and which connections are kept."""

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from yarl import URL

from binnacle.upstream.transports import http_connections
from binnacle.upstream.transports.http_client_connection import encode_request
from binnacle.upstream.transports.http_connections import HttpConnections
from binnacle.upstream.transports.http_errors import AnswerTruncated, ConnectionClosed, NoAnswer, NotHttp
from binnacle.upstream.transports.http_response import HttpResponse
from binnacle.upstream.transports.streamable_http import StreamableHttpTransport
from upstream.web_servers import Asked, Auth, answer, line, peer, run

LARGE = 20 << 20


async def whole(response: HttpResponse) -> bytes:
    return b"".join([part async for part in response.iter_any()])


async def until(happened: Callable[[], bool]) -> None:
    """Waits for what nobody tells of."""
    while not happened():  # noqa: ASYNC110
        await asyncio.sleep(0)


def asking(script: Callable[[Asked], Awaitable[object]], body: Callable[[HttpConnections, URL], Awaitable[Any]]) -> Any:
    """What `body` returns, with a server that answers as `script` says."""

    async def test() -> Any:
        async with peer(script) as far:
            connections = HttpConnections(connect_within=10)
            try:
                return await body(connections, URL(far.url))
            finally:
                connections.close()

    return run(test())


def raw(*chunks: bytes, is_kept: bool = False) -> Callable[[Asked], Awaitable[bool]]:
    async def script(asked: Asked) -> bool:
        for chunk in chunks:
            await asked.raw(chunk)
            await asyncio.sleep(0)
        return is_kept

    return script


async def once(connections: HttpConnections, url: URL) -> tuple[int, bytes]:
    response = await connections.ask("POST", url, {}, b"{}")
    return response.status, await whole(response)


@pytest.mark.parametrize(
    "chunks",
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n", b"3\r\nllo\r\n0\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n\r\nhe", b"llo"),
        (b"HTTP/1.0 200 OK\r\n\r\nhello",),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", b"HTTP/1.1 200\r\n\r\nhello"),
        tuple(bytes([one]) for one in b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"),
    ],
    ids=["length", "chunks", "until the end", "HTTP/1.0", "words on the way", "byte by byte"],
)
def test_a_body_is_read_however_its_end_is_told(chunks):
    assert asking(raw(*chunks), once) == (200, b"hello")


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress], ids=["gzip", "deflate"])
def test_a_packed_body_is_unpacked(pack):
    data = bytes(range(256)) * 4096 + b"\0" * LARGE
    packed = pack(data)
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: %b\r\ncontent-length: %d\r\n\r\n"
    kind = b"gzip" if pack is gzip.compress else b"deflate"
    assert asking(raw(head % (kind, len(packed)) + packed), once) == (200, data)
    with pytest.raises(AnswerTruncated):
        asking(raw(head % (kind, 5) + b"hello"), once)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"", ConnectionClosed),
        (b"HTTP/1.1 200 O", ConnectionClosed),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell", AnswerTruncated),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhell", AnswerTruncated),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\nhell", NotHttp),
        (b"SSH-2.0\r\n", NotHttp),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000, NotHttp),
    ],
)
def test_what_is_no_whole_answer_is_an_error_of_its_kind(said, error):
    with pytest.raises(NoAnswer) as found:
        asking(raw(said), once)
    assert type(found.value) is error


def test_a_body_that_nobody_reads_is_not_taken_whole():
    sent = asyncio.Event()

    async def script(asked: Asked) -> bool:
        await asked.raw(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % LARGE)
        await asked.raw(*[b"x" * 65536] * (LARGE // 65536))
        sent.set()
        return True  # closed, it would drop what is still to be sent

    async def test(connections: HttpConnections, url: URL) -> None:
        response = await connections.ask("GET", url, {}, None)
        await until(lambda: response._connection._is_paused)
        assert not sent.is_set()
        assert len(await whole(response)) == LARGE
        await until(sent.is_set)  # the server notices a moment after its last bytes were read

    asking(script, test)


def test_connections_are_kept_for_a_while_and_only_if_the_server_keeps_them(monkeypatch):
    monkeypatch.setattr(http_connections, "KEEP_ALIVE_SECONDS", 0.01)
    made: list[int] = []

    async def script(asked: Asked) -> bool:
        made.append(id(asked.writer))
        if asked.path == "/last":
            await asked.raw(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        elif asked.path == "/parting":
            await asked.reply(200)
            return False
        else:
            await asked.reply(200)
        return True

    async def test(connections: HttpConnections, url: URL) -> None:
        for path, is_used_again in (("/", True), ("/", True), ("/last", False), ("/parting", False), ("/", True)):
            await once(connections, url.with_path(path))
            if not is_used_again:
                await until(lambda: not connections._open)
        assert len(set(made)) == 3
        await until(lambda: not connections._open)  # given up after a while by ourselves
        await once(connections, url)
        assert len(set(made)) == 4

    asking(script, test)


def test_who_says_something_unasked_is_hung_up_on():
    async def test(connections: HttpConnections, url: URL) -> None:
        assert await once(connections, url) == (200, b"")
        await until(lambda: not connections._open)

    asking(raw(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", is_kept=True), test)


@pytest.mark.parametrize("header", [{"X": "a\r\nb"}, {"X": "a\nb"}, {"X\r": "a"}, {"X": "a\0b"}])
def test_no_header_ends_before_its_time(header):
    with pytest.raises(ValueError, match="line break"):
        encode_request("GET", URL("http://h/"), header, None)


def test_name_and_password_in_a_url_are_sent_as_such_and_not_as_part_of_it():
    async def script(asked: Asked) -> bool:
        await asked.reply(200, answer(1, asked.headers.get("authorization", "")))
        return True

    async def test() -> None:
        async with peer(script) as far:
            url = far.url.replace("//", "//ann:p%40ss@")
            async with line(StreamableHttpTransport, url) as wire:
                assert b"Basic YW5uOnBAc3M=" in (await wire.ask(1)).result
                assert far.asked[0].headers["host"] == f"127.0.0.1:{far.port}"
            async with line(StreamableHttpTransport, url, auth=Auth("token")) as wire:
                assert b"Bearer token" in (await wire.ask(1)).result

    run(test())


def test_a_proxy_of_the_environment_is_used(monkeypatch):
    async def script(asked: Asked) -> bool:
        await asked.reply(200, answer(1, f"{asked.method} {asked.path}"))
        return True

    async def test() -> None:
        async with peer(script) as proxy:
            monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
            async with line(StreamableHttpTransport, "http://far.invalid/mcp") as wire:
                assert b"POST http://far.invalid/mcp" in (await wire.ask(1)).result

    run(test())
