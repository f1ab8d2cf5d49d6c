"""Servers over WebSockets."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from aiohttp import WSMsgType
from aiohttp import web as aiohttp_web

from binnacle.errors import UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream.transports import websocket
from binnacle.upstream.transports.websocket import WebSocketTransport
from upstream.web_servers import Asked, Auth, answer, descriptors, line, peer, run

NOTIFICATION = b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}'
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

Script = Callable[[aiohttp_web.WebSocketResponse, aiohttp.WSMessage], Awaitable[object]]


class Far:
    """A server that does with each frame what its script says."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[aiohttp_web.Request] = []
        self.frames: asyncio.Queue[aiohttp.WSMessage] = asyncio.Queue()
        self.closed = asyncio.Event()
        self.accepts: Callable[[aiohttp_web.Request], bool] = lambda _: True
        self.url = ""

    async def handle(self, request: aiohttp_web.Request) -> aiohttp_web.StreamResponse:
        self.requests.append(request)
        if not self.accepts(request):
            return aiohttp_web.Response(status=401, headers={"WWW-Authenticate": "Bearer realm=x"})
        socket = aiohttp_web.WebSocketResponse(protocols=("mcp",), autoping=False, max_msg_size=0)
        await socket.prepare(request)
        async for message in socket:
            self.frames.put_nowait(message)
            await self._script(socket, message)
        self.closed.set()
        return socket


@contextlib.asynccontextmanager
async def serving(script: Script) -> AsyncIterator[Far]:
    far = Far(script)
    app = aiohttp_web.Application()
    app.router.add_get("/mcp", far.handle)
    runner = aiohttp_web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = aiohttp_web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        far.url = f"ws://127.0.0.1:{runner.addresses[0][1]}/mcp"
        yield far
    finally:
        await runner.cleanup()


def echo(kind: WSMsgType = WSMsgType.TEXT, *before: bytes) -> Script:
    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        found = json.loads(message.data)
        for one in before:
            await socket.send_frame(one, WSMsgType.TEXT)
        if "id" in found:
            await socket.send_frame(answer(found["id"], found["method"]), kind)

    return script


async def nothing(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None: ...


@pytest.mark.parametrize("kind", [WSMsgType.TEXT, WSMsgType.BINARY])
def test_a_message_is_a_frame(kind):
    async def test() -> None:
        async with serving(echo(kind, NOTIFICATION, b"junk", b"")) as far:
            async with line(WebSocketTransport, far.url, auth=Auth("key"), headers={"X-Team": "blue"}) as wire:
                found = await wire.ask(1, "tools/list")
                await wire.link.tell(INITIALIZED)
                assert found.result == b'"tools/list"'
                assert "notifications/message" in wire.methods
                headers = far.requests[0].headers
                assert headers["Authorization"] == "Bearer key"
                assert headers["X-Team"] == "blue"
                assert headers["Sec-WebSocket-Protocol"] == "mcp"
                assert (await far.frames.get()).type is WSMsgType.TEXT
            await far.closed.wait()

    run(test())


def test_answers_come_in_any_order_and_count_once():
    waiting: list[int] = []

    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        waiting.append(json.loads(message.data)["id"])
        for number in reversed(waiting * 2 if len(waiting) == 3 else []):
            await socket.send_frame(answer(number, number), WSMsgType.TEXT)

    async def test() -> None:
        async with serving(script) as far, line(WebSocketTransport, far.url) as wire:
            found = await asyncio.gather(*(wire.ask(number) for number in (1, 2, 3)))
            assert [int(one.result or b"") for one in found] == [1, 2, 3]

    run(test())


def test_bytes_that_are_no_text_are_replaced():
    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        await socket.send_frame(b'{"jsonrpc":"2.0","id":1,"result":"\xff"}', WSMsgType.TEXT)

    async def test() -> None:
        async with serving(script) as far, line(WebSocketTransport, far.url) as wire:
            assert json.loads((await wire.ask(1)).result or b"") == "�"

    run(test())


def test_pings_are_answered():
    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        if message.type is WSMsgType.PONG:
            await socket.send_frame(answer(1, "alive"), WSMsgType.TEXT)
        else:
            await socket.ping(b"there?")

    async def test() -> None:
        async with serving(script) as far, line(WebSocketTransport, far.url) as wire:
            assert (await wire.ask(1)).result == b'"alive"'

    run(test())


def test_large_messages_go_both_ways():
    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        await socket.send_frame(answer(1, "x" * (10 << 20)), WSMsgType.TEXT)

    async def test() -> None:
        async with serving(script) as far, line(WebSocketTransport, far.url) as wire:
            assert len((await wire.ask(1, "tools/call", "y" * (3 << 20))).result or b"") > 10 << 20

    run(test())


def test_a_message_that_is_too_long_ends_the_link(monkeypatch):
    monkeypatch.setattr(websocket, "MAX_MESSAGE_BYTES", 1 << 20)

    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        with contextlib.suppress(OSError):
            await socket.send_frame(b"x" * (2 << 20), WSMsgType.TEXT)

    async def test() -> None:
        async with serving(script) as far, line(WebSocketTransport, far.url) as wire:
            with pytest.raises(UpstreamDown, match="more than 1 MiB"):
                await wire.ask(1)
            assert wire.link.ended.done()

    run(test())


def test_the_server_says_why_it_closes():
    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        await socket.close(code=1012, message=b"back soon")

    async def test() -> None:
        async with serving(script) as far, line(WebSocketTransport, far.url) as wire:
            with pytest.raises(UpstreamDown, match="code 1012: back soon"):
                await wire.ask(1)
            with pytest.raises(UpstreamDown):
                await wire.ask(2)

    run(test())


def test_a_connection_lost_in_a_frame_ends_the_link():
    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        transport = socket._req.transport
        transport.write(b'\x81\x7e\x10\x00{"jsonrpc"')
        transport.close()

    async def test() -> None:
        async with serving(script) as far, line(WebSocketTransport, far.url) as wire:
            with pytest.raises(UpstreamDown, match=r"lost|1006"):
                await wire.ask(1)
            assert wire.link.ended.done()

    run(test())


def test_refused_we_say_better_who_we_are_and_ask_again():
    async def test() -> None:
        async with serving(echo()) as far:
            far.accepts = lambda request: request.headers.get("Authorization") == "Bearer new"
            auth = Auth("old", "new")
            async with line(WebSocketTransport, far.url, auth=auth) as wire:
                assert (await wire.ask(1)).result
            assert auth.challenges == [(401, "Bearer realm=x")]
            with pytest.raises(UpstreamLogin, match="401"):
                async with line(WebSocketTransport, far.url, auth=Auth("a", "b", "c")):
                    pass
            assert len(far.requests) == 4

    run(test())


@pytest.mark.parametrize(("status", "error"), [(404, UpstreamError), (200, UpstreamError), (503, UpstreamDown)])
def test_what_is_no_websocket_is_refused(status, error):
    async def script(asked: Asked) -> None:
        await asked.reply(status, b"hello", "text/plain")

    async def test() -> None:
        async with peer(script) as far:
            with pytest.raises(error, match=f"no WebSocket: {status}"):
                async with line(WebSocketTransport, far.url.replace("http", "ws")):
                    pass

    run(test())


def test_a_server_that_is_not_there_is_named():
    async def test() -> None:
        async with serving(echo()) as far:
            url = far.url
        with pytest.raises(UpstreamDown, match="Connection refused"):
            async with line(WebSocketTransport, f"{url}?key=swordfish"):
                pass

    run(test())


def test_a_server_that_never_opens_the_socket_is_not_waited_for():
    async def script(asked: Asked) -> None:
        await asyncio.sleep(1000)

    async def test() -> None:
        async with peer(script) as far:
            with pytest.raises(UpstreamDown, match="in time"):
                async with line(WebSocketTransport, far.url.replace("http", "ws"), connect_timeout=0.2):
                    pass

    run(test())


def test_a_redirect_out_of_the_origin_is_not_followed():
    async def test() -> None:
        async with serving(echo()) as thief:

            async def script(asked: Asked) -> None:
                await asked.reply(302, location=thief.url.replace("ws", "http"))

            async with peer(script) as far:
                with pytest.raises(UpstreamError, match="redirects to http"):
                    async with line(WebSocketTransport, far.url.replace("http", "ws"), headers={"X-Key": "secret"}):
                        pass
            assert thief.requests == []

    run(test())


def test_a_cancelled_request_is_taken_back():
    async def test() -> None:
        async with serving(nothing) as far, line(WebSocketTransport, far.url) as wire:
            asking = asyncio.ensure_future(wire.ask(1))
            await far.frames.get()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            told = json.loads((await far.frames.get()).data)
            assert told["method"] == "notifications/cancelled"
            assert told["params"]["requestId"] == 1

    run(test())


def test_cancelling_one_request_leaves_those_beside_it_alone():
    reading = asyncio.Event()

    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        if not reading.is_set():
            socket._req.transport.pause_reading()
            await reading.wait()
            socket._req.transport.resume_reading()
        await echo()(socket, message)

    async def test() -> None:
        async with serving(script) as far, line(WebSocketTransport, far.url) as wire:
            asking = [asyncio.ensure_future(wire.ask(number, "x" * (4 << 20))) for number in range(6)]
            await far.frames.get()
            asking[1].cancel()
            asking[3].cancel()
            await asyncio.wait({asking[1], asking[3]})
            reading.set()
            found = await asyncio.gather(*asking, return_exceptions=True)
            cancelled = [isinstance(one, asyncio.CancelledError) for one in found]
            assert cancelled == [False, True, False, True, False, False]
            assert all(one.result for one, gone in zip(found, cancelled, strict=True) if not gone)

    run(test())


def test_a_server_that_does_not_read_ends_the_link():
    stuck = asyncio.Event()

    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        socket._req.transport.pause_reading()
        await stuck.wait()

    async def test() -> None:
        async with serving(script) as far, line(WebSocketTransport, far.url, timeout=0.5) as wire:
            try:
                asking = [asyncio.ensure_future(wire.ask(number, "x" * (4 << 20))) for number in range(8)]
                found = await asyncio.gather(*asking, return_exceptions=True)
            finally:
                stuck.set()
            assert {type(one) for one in found} == {UpstreamDown}
            assert "does not read" in wire.link.ended.result()

    run(test())


def test_closing_leaves_nothing_open_also_if_the_server_does_not_take_part():
    async def script(socket: aiohttp_web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        await asyncio.sleep(1000)

    async def test() -> None:
        before = descriptors()
        async with serving(script) as far:
            async with line(WebSocketTransport, far.url) as wire:
                asking = [asyncio.ensure_future(wire.ask(number)) for number in range(5)]
                await far.frames.get()
            found = await asyncio.gather(*asking, return_exceptions=True)
            assert {type(one) for one in found} == {UpstreamDown}
        await asyncio.sleep(0)
        assert descriptors() == before

    run(test())
