"""A server at a URL, over a WebSocket: a message is a frame."""

import asyncio
import contextlib

import aiohttp
from aiohttp import WSMsgType
from multidict import CIMultiDict
from yarl import URL

from binnacle.errors import UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream import upstream_steps
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports import http_failures
from binnacle.upstream.transports.address_policy import limit_of
from binnacle.upstream.transports.aiohttp_requests import translate
from binnacle.upstream.transports.http_client import (
    CHALLENGE_STATUSES,
    CLOSE_GRACE_SECONDS,
    MAX_MESSAGE_BYTES,
    REDIRECT_STATUSES,
    Credentials,
    limit_connections,
    proxy_of,
    redirect_target,
)
from binnacle.upstream.transports.http_failures import REQUEST_FAILURES, make_excerpt
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.upstream.transports.task_set import TaskSet
from binnacle.upstream.transports.transport import DuplexTransport, Receive

SUBPROTOCOL = "mcp"

Socket = aiohttp.ClientWebSocketResponse[bool]


class WebSocketTransport(DuplexTransport):
    """Speaks with a server over a WebSocket."""

    def __init__(
        self,
        config: ServerConfig,
        receive: Receive,
        *,
        session: HttpSession,
        credentials: Credentials,
    ) -> None:
        super().__init__(receive)
        self._config = config
        self._url = URL(config.url)
        self._credentials = credentials
        self._tasks = TaskSet()
        self._writing = asyncio.Lock()
        self._socket: Socket | None = None
        self._pool = session
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        name = self._config.name
        try:
            async with asyncio.timeout(self._config.connect_timeout):
                self._session = await self._open_session()
                self._socket = await self._connect(self._session)
        except TimeoutError:
            raise UpstreamDown(f"{name} did not open a WebSocket in time", hint="is there one at its url?") from None
        self._tasks.start(self._read(self._socket))

    async def _open_session(self) -> aiohttp.ClientSession:
        """A separate session on the shared pool.

        aiohttp's WebSocket follows redirects anywhere, and sends every header but one along.
        """
        pool = await self._pool.open()
        return aiohttp.ClientSession(
            connector=pool.connector,
            connector_owner=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=pool.headers,
            timeout=aiohttp.ClientTimeout(),
            middlewares=(self._stay,),
        )

    async def _connect(self, session: aiohttp.ClientSession) -> Socket:
        """Opens the WebSocket. After a refusal, asks again with new credentials."""
        try:
            return await self._handshake(session)
        except aiohttp.WSServerHandshakeError as error:
            if error.status not in CHALLENGE_STATUSES:
                raise self._describe_refusal(error) from error
            challenge = ", ".join((error.headers or CIMultiDict()).getall("WWW-Authenticate", ()))
            if not await self._credentials.handle_challenge(error.status, challenge):
                raise self._describe_refusal(error) from error
        try:
            return await self._handshake(session)
        except aiohttp.WSServerHandshakeError as error:
            raise self._describe_refusal(error) from error

    async def _handshake(self, session: aiohttp.ClientSession) -> Socket:
        headers = CIMultiDict(self._config.headers)
        headers.update(await self._credentials.headers())
        try:
            with limit_connections(self._url, proxy := proxy_of(self._url), limit_of(self._config)):
                return await session.ws_connect(
                    self._url,
                    protocols=(SUBPROTOCOL,),
                    headers=headers,
                    proxy=proxy,
                    max_msg_size=MAX_MESSAGE_BYTES,
                    decode_text=False,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_GRACE_SECONDS / 2),
                )
        except aiohttp.WSServerHandshakeError:
            raise
        except aiohttp.ClientError as error:
            failure = translate(error)
            raise http_failures.describe_failure(self._config.name, self._url, failure) from failure
        except REQUEST_FAILURES as error:
            raise http_failures.describe_failure(self._config.name, self._url, error) from error

    async def _stay(self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """Refuses a redirect out of the server's origin."""
        response = await handler(request)
        if response.status in REDIRECT_STATUSES:
            try:
                redirect_target(self._config.name, response, request.url)
            except UpstreamError:
                response.close()
                raise
        return response

    def _describe_refusal(self, error: aiohttp.WSServerHandshakeError) -> UpstreamError:
        """The error for a WebSocket that was refused."""
        name = self._config.name
        said = f"{name} opened no WebSocket: {error.status} {make_excerpt(error.message.encode())}"
        if error.status == 401:
            return UpstreamLogin(said, hint=upstream_steps.sign_in(name, words="check its key, or sign in"))
        kind = UpstreamDown if error.status >= 500 else UpstreamError
        return kind(said, hint="check its url, and what its key or login may do")

    async def _read(self, socket: Socket) -> None:
        """Receives messages until the server or we close the WebSocket, which ends the transport."""
        while True:
            message = await socket.receive()
            match message.type:
                case WSMsgType.TEXT | WSMsgType.BINARY:
                    self._deliver(message.data)
                case _:
                    self._end(self._describe_end(message.data, message.extra))
                    return

    def _describe_end(self, data: object, extra: object) -> str:
        name = self._config.name
        match data:
            case aiohttp.WebSocketError(code=aiohttp.WSCloseCode.MESSAGE_TOO_BIG):
                return f"{name} sent a message of more than {MAX_MESSAGE_BYTES >> 20} MiB"
            case int() as code:
                text = make_excerpt(str(extra or "").encode())
                return f"{name} closed the WebSocket with code {code:d}" + (f": {text}" if text else "")
            case _:
                return f"the WebSocket to {name} was lost"

    async def _send(self, message: bytes) -> None:
        # In aiohttp, cancelling one caller that waits for the socket cancels all of them, so only a task waits there.
        await asyncio.wait({self._tasks.start(self._write(message))})
        if self.ended.done():
            raise UpstreamDown(self.ended.result(), hint="it is being connected again")

    async def _write(self, message: bytes) -> None:
        """Sends one frame after the other. What cannot be sent ends the transport."""
        name = self._config.name
        assert self._socket is not None
        try:
            async with self._writing, asyncio.timeout(self._config.timeout):
                await self._socket.send_frame(message, WSMsgType.TEXT)
        except TimeoutError:
            self._end(f"{name} does not read what it is sent")
        except (aiohttp.ClientError, *REQUEST_FAILURES):
            self._end(f"the WebSocket to {name} was lost")

    async def _cancel(self, message: bytes) -> None:
        if not self.ended.done():
            self._tasks.start(self._write(message))

    async def close(self) -> None:
        self._end(f"{self._config.name} was closed")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_GRACE_SECONDS):
                if self._socket is not None:
                    await self._socket.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_GRACE_SECONDS):
                await self._tasks.stop()
        if self._session is not None:
            await self._session.close()
