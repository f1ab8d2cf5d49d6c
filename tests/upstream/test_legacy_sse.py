"""Servers over HTTP with events, as they were in 2024-11-05."""

import asyncio
import json

import pytest

from binnacle.errors import UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream.mcp_client import McpClient
from binnacle.upstream.transports import legacy_sse
from binnacle.upstream.transports.fallback import FallbackTransport
from binnacle.upstream.transports.http_client import new_session
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.upstream.transports.legacy_sse import SseTransport
from binnacle.wire.jsonrpc import RpcError
from upstream.web_servers import Asked, Auth, answer, config, descriptors, event, line, peer, run

NOTIFICATION = b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}'
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
ENDPOINT = event(b"/post?session=1", "event: endpoint")


class Old:
    """A server of that time: answers on its stream what is posted, with whatever `respond` makes of it."""

    def __init__(self, respond=None, *, endpoint: bytes = ENDPOINT, status: int = 202) -> None:
        self._respond = respond or (lambda message: [event(answer(message["id"], message["method"]))])
        self._endpoint = endpoint
        self._status = status
        self.stream: asyncio.Future[Asked] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()

    async def __call__(self, asked: Asked) -> bool:
        if asked.method == "GET":
            await asked.stream(b": hello\n\n", self._endpoint)
            self.stream.set_result(asked)
            await self.over.wait()
            return False
        await asked.reply(self._status, b"Accepted")
        if "id" in asked.message and self._status < 300:
            for part in self._respond(asked.message):
                await (await self.stream).raw(part)
        return True


def test_messages_are_posted_where_the_server_says_and_answered_on_the_stream():
    async def test() -> None:
        server = Old(lambda message: [event(NOTIFICATION), b":\r\n\r\n", event(answer(message["id"], "日本"))])
        async with (
            peer(server) as far,
            line(SseTransport, far.url, auth=Auth("key"), headers={"X-Team": "blue"}) as wire,
        ):
            found = await wire.ask(1)
            await wire.link.tell(INITIALIZED)
            assert json.loads(found.result or b"") == "日本"
            assert wire.methods == ["notifications/message"]
            get, *posts = far.asked
            assert get.headers["accept"] == "text/event-stream"
            assert [asked.path for asked in posts] == ["/post?session=1"] * 2
            assert {asked.headers["authorization"] for asked in far.asked} == {"Bearer key"}
            assert {asked.headers["x-team"] for asked in far.asked} == {"blue"}

    run(test())


def test_answers_come_in_any_order_and_count_once():
    async def test() -> None:
        waiting: list[int] = []

        def respond(message):
            waiting.append(message["id"])
            late = [event(answer(number, number)) for number in reversed(waiting)] if len(waiting) == 3 else []
            return [*late, *late]

        async with peer(Old(respond)) as far, line(SseTransport, far.url) as wire:
            found = await asyncio.gather(*(wire.ask(number) for number in (1, 2, 3)))
            assert [int(one.result or b"") for one in found] == [1, 2, 3]
            assert wire.received == []

    run(test())


@pytest.mark.parametrize("size", [1, 7])
def test_text_may_be_cut_anywhere_and_be_no_text(size):
    async def test() -> None:
        data = event(answer(1, "日本")).replace(b"\\u65e5", "日".encode()).replace(b"\\u672c", b"\xff")
        server = Old(lambda _: [data[at : at + size] for at in range(0, len(data), size)])
        async with peer(server) as far, line(SseTransport, far.url) as wire:
            assert json.loads((await wire.ask(1)).result or b"") == "日�"

    run(test())


@pytest.mark.parametrize(
    "where", ["http://127.0.0.1:{other}/post", "https://127.0.0.1:{port}/post", "//evil.invalid/post", "http://["]
)
def test_nothing_is_posted_elsewhere(where):
    async def test() -> None:
        async def other(asked: Asked) -> None: ...

        async with peer(other) as thief:
            server = Old()
            async with peer(server) as far:
                place = where.format(other=thief.port, port=far.port)
                server._endpoint = event(place.encode(), "event: endpoint")
                with pytest.raises(UpstreamDown, match="posted elsewhere"):
                    async with line(SseTransport, far.url, auth=Auth("key")):
                        pass
            assert thief.connections == 0

    run(test())


def test_a_server_that_names_no_place_is_not_waited_for():
    async def test() -> None:
        async with peer(Old(endpoint=event(NOTIFICATION))) as far:
            with pytest.raises(UpstreamDown, match="where to post"):
                async with line(SseTransport, far.url, connect_timeout=0.2):
                    pass

    run(test())


@pytest.mark.parametrize(
    ("status", "kind", "error", "text"),
    [
        (200, "text/html", UpstreamError, "text/html, no events"),
        (404, "text/plain", UpstreamError, "far answered 404"),
        (401, "text/plain", UpstreamLogin, "far answered 401"),
        (503, "text/plain", UpstreamDown, "far answered 503"),
    ],
)
def test_what_is_no_stream_is_refused(status, kind, error, text):
    async def script(asked: Asked) -> None:
        await asked.reply(status, b"hello", kind)

    async def test() -> None:
        async with peer(script) as far:
            with pytest.raises(error, match=text):
                async with line(SseTransport, far.url):
                    pass

    run(test())


def test_a_server_that_is_not_there_is_named():
    async def test() -> None:
        async with peer(Old()) as far:
            url = far.url
        with pytest.raises(UpstreamDown, match="Connection refused"):
            async with line(SseTransport, url):
                pass

    run(test())


@pytest.mark.parametrize("last", [b"", b"data: {", b'event: message\ndata: {"jsonrpc"'])
def test_the_end_of_the_stream_is_the_end_of_the_link(last):
    async def test() -> None:
        server = Old(lambda _: [last])
        async with peer(server) as far, line(SseTransport, far.url) as wire:
            asking = asyncio.ensure_future(wire.ask(1))
            await far.wait_until_asked(2)
            server.over.set()
            with pytest.raises(UpstreamDown, match="ended the stream"):
                await asking
            assert wire.link.ended.done()

    run(test())


def test_an_event_without_end_ends_the_link(monkeypatch):
    monkeypatch.setattr(legacy_sse, "MAX_MESSAGE_BYTES", 1 << 20)

    async def test() -> None:
        server = Old(lambda _: [b"data: ", *[b"x" * 65536] * 32])
        async with peer(server) as far, line(SseTransport, far.url) as wire:
            with pytest.raises(UpstreamDown, match="MiB"):
                await wire.ask(1)

    run(test())


@pytest.mark.parametrize(("status", "error"), [(400, RpcError), (500, UpstreamDown), (401, UpstreamLogin)])
def test_a_post_that_is_refused_fails_alone(status, error):
    async def test() -> None:
        async with peer(Old(status=status)) as far, line(SseTransport, far.url) as wire:
            with pytest.raises(error, match=str(status)):
                await wire.ask(1)
            with pytest.raises(UpstreamError, match=str(status)):
                await wire.link.tell(INITIALIZED)
            assert not wire.link.ended.done()

    run(test())


def test_a_stream_that_the_server_forgot_ends_the_link():
    async def test() -> None:
        async with peer(Old(status=404)) as far, line(SseTransport, far.url) as wire:
            with pytest.raises(UpstreamDown, match="no longer knows"):
                await wire.ask(1)
            assert wire.link.ended.done()

    run(test())


def test_a_cancelled_request_is_taken_back():
    async def test() -> None:
        async with peer(Old(lambda _: [])) as far, line(SseTransport, far.url) as wire:
            asking = asyncio.ensure_future(wire.ask(1))
            await far.wait_until_asked(2)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await far.wait_until_asked(3)
            assert far.asked[2].message["method"] == "notifications/cancelled"
            assert far.asked[2].message["params"]["requestId"] == 1

    run(test())


def test_closing_leaves_nothing_open_also_while_a_post_is_not_answered():
    async def script(asked: Asked) -> None:
        if asked.method == "GET":
            await asked.stream(ENDPOINT)
        await asyncio.sleep(1000)

    async def test() -> None:
        before = descriptors()
        async with peer(script) as far:
            async with line(SseTransport, far.url) as wire:
                asking = [asyncio.ensure_future(wire.ask(number)) for number in range(10)]
                await far.wait_until_asked(11)
            found = await asyncio.gather(*asking, return_exceptions=True)
            assert {type(one) for one in found} == {UpstreamDown}
        await asyncio.sleep(0)
        assert descriptors() == before

    run(test())


# Servers that are said to speak HTTP, and know only this


def talking(url: str, session: HttpSession) -> McpClient:
    auth = Auth()
    return McpClient(
        lambda receive: FallbackTransport(config(url), receive, session=session, credentials=auth),
        name="far",
        on_change=lambda *_: None,
    )


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_server_that_knows_no_posts_is_heard_on_a_stream(status):
    def respond(message):
        handshake = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {}}
        return [event(answer(message["id"], handshake if message["method"] == "initialize" else {"tools": []}))]

    async def test() -> None:
        before = descriptors()
        old = Old(respond)

        async def script(asked: Asked) -> object:
            if asked.method == "POST" and asked.path == "/mcp":
                return await asked.reply(status, b"Cannot POST /mcp", "text/html")
            return await old(asked)

        async with peer(script) as far, new_session() as session:
            client = talking(far.url, session)
            try:
                await client.link.open()
                await client.connect("auto")
                assert (client.era, client.link.version) == ("handshake", "2024-11-05")
                assert (await client.entries("tools")).entries == ()
                assert not client.link.ended.done()
                old.over.set()
                assert "ended the stream" in await client.link.ended
            finally:
                await client.close()
        await asyncio.sleep(0)
        assert descriptors() == before

    run(test())


@pytest.mark.parametrize("status", [400, 404, 405, 406])
def test_a_server_that_knows_neither_is_quoted(status):
    async def script(asked: Asked) -> bool:
        await asked.reply(status, b"nothing here", "text/plain")
        return True

    async def test() -> None:
        async with peer(script) as far, new_session() as session:
            client = talking(far.url, session)
            try:
                with pytest.raises(UpstreamError, match=f"far answered {status} Whatever: nothing here"):
                    await client.connect("auto")
                assert any(asked.method == "GET" for asked in far.asked) == (status != 406)
            finally:
                await client.close()

    run(test())


def test_a_refusal_that_says_why_is_taken_as_the_answer():
    async def script(asked: Asked) -> bool:
        await asked.reply(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not you"}}')
        return True

    async def test() -> None:
        async with peer(script) as far, new_session() as session:
            client = talking(far.url, session)
            try:
                with pytest.raises(UpstreamError, match="not you"):
                    await client.connect("handshake")
                assert [asked.method for asked in far.asked] == ["POST"]
            finally:
                await client.close()

    run(test())
