"""A server at a URL, over HTTP with events as it was in 2024-11-05.

One stream carries all messages of the server. Its first event names the URL to which we post ours.
"""

import asyncio
import contextlib
from typing import Any

from yarl import URL

from binnacle.errors import BinnacleError, UpstreamDown, UpstreamError
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports import http_client
from binnacle.upstream.transports.http_client import (
    CLOSE_GRACE_SECONDS,
    MAX_MESSAGE_BYTES,
    Credentials,
    HttpAnswer,
    HttpClient,
)
from binnacle.upstream.transports.http_failures import REQUEST_FAILURES, describe_refusal, is_unreachable, make_excerpt
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.upstream.transports.task_set import TaskSet
from binnacle.upstream.transports.transport import DuplexTransport, Receive
from binnacle.wire.framing import EventStreamDecoder, FrameTooLong
from binnacle.wire.jsonrpc import RpcError

EVENT_STREAM = "text/event-stream"
GONE_STATUSES = frozenset({404, 410})
"""Statuses of a post for a stream that the server no longer knows."""


class SseTransport(DuplexTransport):
    """Speaks with a server over a stream of events, and posts."""

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
        self._http = HttpClient(config, session=session, credentials=credentials)
        self._endpoint: asyncio.Future[URL] = asyncio.get_running_loop().create_future()
        self._tasks = TaskSet()

    async def open(self) -> None:
        name = self._config.name
        try:
            async with asyncio.timeout(self._config.connect_timeout):
                await self._begin()
                waits: set[asyncio.Future[Any]] = {self._endpoint, self.ended}
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            raise UpstreamDown(f"{name} did not say in time where to post", hint="does it speak SSE?") from None
        if not self._endpoint.done():
            raise UpstreamDown(self.ended.result(), hint="does it speak SSE?")

    async def _begin(self) -> None:
        response = await self._http.send("GET", {"Accept": EVENT_STREAM})
        if not response.ok:
            error = describe_refusal(self._config.name, response, await self._http.refusal(response))
            raise error if isinstance(error, UpstreamError) else UpstreamError(error.message, hint="check its url")
        if response.content_type != EVENT_STREAM:
            response.close()
            what = make_excerpt(response.content_type.encode())
            raise UpstreamError(f"{self._config.name} answered {what}, no events", hint="does it speak SSE?")
        self._tasks.start(self._read(response)).add_done_callback(lambda _: response.close())

    async def _read(self, response: HttpAnswer) -> None:
        """Reads the stream to its end, which ends the transport."""
        events = EventStreamDecoder(MAX_MESSAGE_BYTES)
        why = f"{self._config.name} ended the stream"
        try:
            async for chunk in response.content.iter_any():
                for event in events.feed(chunk):
                    if event.kind == "endpoint":
                        self._post_to(event.data, response.url)
                    elif event.kind == "message":
                        self._deliver(event.data)
        except FrameTooLong:
            why = self._http.too_long().message
        except UpstreamError as error:
            why = error.message
        except REQUEST_FAILURES as error:
            why = self._http.failure(error).message
        finally:
            self._end(why)

    def _post_to(self, data: bytes, base: URL) -> None:
        """Takes the URL to post to, which must have the same origin: credentials go there."""
        if self._endpoint.done():
            return
        try:
            target = base.join(URL(data.decode(errors="replace")))
            is_same = target.origin() == base.origin()
        except ValueError:
            is_same = False
        if not is_same:
            raise UpstreamError(
                f"{self._config.name} wants messages posted elsewhere: {make_excerpt(data.split(b'?')[0])}",
                hint="check its URL",
            )
        self._endpoint.set_result(target)

    async def tell(self, message: bytes) -> None:
        try:
            await super().tell(message)
        except RpcError as error:
            raise UpstreamError(error.message, hint="see its log") from error

    async def _send(self, message: bytes) -> None:
        try:
            async with self._tasks.interruptible(seconds=self._config.timeout):
                await self._post(message)
        except TimeoutError:
            name = self._config.name
            why = self.ended.result() if self.ended.done() else f"{name} did not take a message in time"
            raise UpstreamDown(why, hint="try again later") from None
        except UpstreamDown as error:
            if is_unreachable(error):
                self._end(error.message)
            raise

    async def _post(self, message: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        if self.version:
            headers["MCP-Protocol-Version"] = self.version
        response = await self._http.send("POST", headers, message, url=self._endpoint.result())
        if response.ok:
            self._tasks.start(http_client.drain_body(response)).add_done_callback(lambda _: response.close())
            return
        error = describe_refusal(self._config.name, response, await self._http.refusal(response))
        if response.status in GONE_STATUSES:
            self._end(f"{self._config.name} no longer knows our stream")
            raise UpstreamDown(self.ended.result(), hint="it is being connected again")
        raise error

    async def _cancel(self, message: bytes) -> None:
        if not self.ended.done():
            self._tasks.start(self._cancel_within(message))

    async def _cancel_within(self, message: bytes) -> None:
        with contextlib.suppress(TimeoutError, RpcError, BinnacleError):
            async with asyncio.timeout(CLOSE_GRACE_SECONDS):
                await self._send(message)

    async def close(self) -> None:
        self._end(f"{self._config.name} was closed")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_GRACE_SECONDS):
                await self._tasks.stop()
        self._http.close()
