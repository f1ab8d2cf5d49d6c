"""A server at a URL, over a WebSocket: a message is a frame."""

import asyncio
import contextlib

import aiohttp
from aiohttp import WSMsgType
from multidict import CIMultiDict
from yarl import URL

from binnacle.errors import UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream import failures, steps
from binnacle.upstream.config import ServerConfig
from binnacle.upstream.destinations import limit_of
from binnacle.upstream.failures import Failure, excerpt
from binnacle.upstream.link import Duplex, Receive
from binnacle.upstream.web import (
    CHALLENGES,
    GRACE,
    LIMIT,
    REDIRECTS,
    Challenged,
    Headers,
    proxy_of,
    reaching,
    redirected,
)
from binnacle.upstream.works import Works

PROTOCOL = "mcp"

Socket = aiohttp.ClientWebSocketResponse[bool]


class WebSocketLink(Duplex):
    """Speaks with a server over a WebSocket."""

    def __init__(
        self,
        config: ServerConfig,
        receive: Receive,
        *,
        session: aiohttp.ClientSession,
        headers: Headers,
        challenged: Challenged,
    ) -> None:
        super().__init__(receive)
        self._config = config
        self._url = URL(config.url)
        self._headers = headers
        self._challenged = challenged
        self._works = Works()
        self._writing = asyncio.Lock()
        self._socket: Socket | None = None
        # A session of its own on the same pool, because a WebSocket follows redirects wherever they lead,
        # and takes along every header but one.
        self._session = aiohttp.ClientSession(
            connector=session.connector,
            connector_owner=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=session.headers,
            timeout=aiohttp.ClientTimeout(),
            middlewares=(self._stay,),
        )

    async def open(self) -> None:
        name = self._config.name
        try:
            async with asyncio.timeout(self._config.connect_timeout):
                self._socket = await self._connect()
        except TimeoutError:
            raise UpstreamDown(f"{name} did not open a WebSocket in time", hint="is there one at its url?") from None
        self._works.start(self._read(self._socket))

    async def _connect(self) -> Socket:
        """Opens the WebSocket. Who was refused and can now say better who we are, asks again."""
        try:
            return await self._handshake()
        except aiohttp.WSServerHandshakeError as error:
            if error.status not in CHALLENGES:
                raise self._refused(error) from error
            challenge = ", ".join((error.headers or CIMultiDict()).getall("WWW-Authenticate", ()))
            if not await self._challenged(error.status, challenge):
                raise self._refused(error) from error
        try:
            return await self._handshake()
        except aiohttp.WSServerHandshakeError as error:
            raise self._refused(error) from error

    async def _handshake(self) -> Socket:
        headers = CIMultiDict(self._config.headers)
        headers.update(await self._headers())
        try:
            with reaching(self._url, proxy := proxy_of(self._url), limit_of(self._config)):
                return await self._session.ws_connect(
                    self._url,
                    protocols=(PROTOCOL,),
                    headers=headers,
                    proxy=proxy,
                    max_msg_size=LIMIT,
                    decode_text=False,
                    timeout=aiohttp.ClientWSTimeout(ws_close=GRACE / 2),
                )
        except aiohttp.WSServerHandshakeError:
            raise
        except Failure as error:
            raise failures.failure(self._config.name, self._url, error) from error

    async def _stay(self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """Lets no redirect lead out of the server's origin."""
        response = await handler(request)
        if response.status in REDIRECTS:
            try:
                redirected(self._config.name, response, request.url)
            except UpstreamError:
                response.close()
                raise
        return response

    def _refused(self, error: aiohttp.WSServerHandshakeError) -> UpstreamError:
        """What it means that there is no WebSocket."""
        name = self._config.name
        said = f"{name} opened no WebSocket: {error.status} {excerpt(error.message.encode())}"
        if error.status == 401:
            return UpstreamLogin(said, hint=steps.sign_in(name, words="check its key, or sign in"))
        kind = UpstreamDown if error.status >= 500 else UpstreamError
        return kind(said, hint="check its url, and what its key or login may do")

    async def _read(self, socket: Socket) -> None:
        """Hears the server until it, or we, close the WebSocket, which ends the link."""
        while True:
            message = await socket.receive()
            match message.type:
                case WSMsgType.TEXT | WSMsgType.BINARY:
                    self._deliver(message.data)
                case _:
                    self._end(self._epitaph(message.data, message.extra))
                    return

    def _epitaph(self, data: object, extra: object) -> str:
        name = self._config.name
        match data:
            case aiohttp.WebSocketError(code=aiohttp.WSCloseCode.MESSAGE_TOO_BIG):
                return f"{name} sent a message of more than {LIMIT >> 20} MiB"
            case int() as code:
                text = excerpt(str(extra or "").encode())
                return f"{name} closed the WebSocket with code {code:d}" + (f": {text}" if text else "")
            case _:
                return f"the WebSocket to {name} was lost"

    async def _send(self, message: bytes) -> None:
        # Cancelling one who waits for the socket in aiohttp cancels everyone who does: nobody waits there but a task.
        await asyncio.wait({self._works.start(self._write(message))})
        if self.ended.done():
            raise UpstreamDown(self.ended.result(), hint="it is being connected again")

    async def _write(self, message: bytes) -> None:
        """Sends one frame after the other. What cannot be sent ends the link."""
        name = self._config.name
        assert self._socket is not None
        try:
            async with self._writing, asyncio.timeout(self._config.timeout):
                await self._socket.send_frame(message, WSMsgType.TEXT)
        except TimeoutError:
            self._end(f"{name} does not read what it is sent")
        except Failure:
            self._end(f"the WebSocket to {name} was lost")

    async def _recant(self, message: bytes) -> None:
        if not self.ended.done():
            self._works.start(self._write(message))

    async def close(self) -> None:
        self._end(f"{self._config.name} was closed")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                if self._socket is not None:
                    await self._socket.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await self._works.stop()
        await self._session.close()
