"""A server at a URL, over HTTP with events as it was in 2024-11-05.

One stream carries all that the server says. Its first event names the place that messages are posted to.
"""

import asyncio
import contextlib
from typing import Any

import aiohttp
from yarl import URL

from binnacle.errors import BinnacleError, UpstreamDown, UpstreamError
from binnacle.upstream import web
from binnacle.upstream.config import ServerConfig
from binnacle.upstream.events import Events, TooLong
from binnacle.upstream.failures import Failure, excerpt, is_unreachable, refused
from binnacle.upstream.link import Duplex, Receive
from binnacle.upstream.web import GRACE, LIMIT, Answer, Challenged, Headers, Web
from binnacle.upstream.works import Works
from binnacle.wire.jsonrpc import RpcError

EVENTS = "text/event-stream"
GONE = frozenset({404, 410})
"""What is answered to a post for a stream that the server no longer knows."""


class SseLink(Duplex):
    """Speaks with a server over a stream of events, and posts."""

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
        self._web = Web(config, session=session, headers=headers, challenged=challenged)
        self._endpoint: asyncio.Future[URL] = asyncio.get_running_loop().create_future()
        self._works = Works()

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
        response = await self._web.send("GET", {"Accept": EVENTS})
        if not response.ok:
            error = refused(self._config.name, response, await self._web.refusal(response))
            raise error if isinstance(error, UpstreamError) else UpstreamError(error.message, hint="check its url")
        if response.content_type != EVENTS:
            response.close()
            what = excerpt(response.content_type.encode())
            raise UpstreamError(f"{self._config.name} answered {what}, no events", hint="does it speak SSE?")
        self._works.start(self._read(response)).add_done_callback(lambda _: response.close())

    async def _read(self, response: Answer) -> None:
        """Hears the stream to its end, which is the link's."""
        events = Events(LIMIT)
        why = f"{self._config.name} ended the stream"
        try:
            async for chunk in response.content.iter_any():
                for event in events.feed(chunk):
                    if event.kind == "endpoint":
                        self._post_to(event.data, response.url)
                    elif event.kind == "message":
                        self._deliver(event.data)
        except TooLong:
            why = self._web.too_long().message
        except UpstreamError as error:
            why = error.message
        except Failure as error:
            why = self._web.failure(error).message
        finally:
            self._end(why)

    def _post_to(self, data: bytes, base: URL) -> None:
        """Takes the place to post to, which must be of the same origin: credentials go there."""
        if self._endpoint.done():
            return
        try:
            target = base.join(URL(data.decode(errors="replace")))
            is_same = target.origin() == base.origin()
        except ValueError:
            is_same = False
        if not is_same:
            raise UpstreamError(
                f"{self._config.name} wants messages posted elsewhere: {excerpt(data.split(b'?')[0])}",
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
            await self._works.do(self._post(message), seconds=self._config.timeout)
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
        response = await self._web.send("POST", headers, message, url=self._endpoint.result())
        if response.ok:
            self._works.start(web.drain(response)).add_done_callback(lambda _: response.close())
            return
        error = refused(self._config.name, response, await self._web.refusal(response))
        if response.status in GONE:
            self._end(f"{self._config.name} no longer knows our stream")
            raise UpstreamDown(self.ended.result(), hint="it is being connected again")
        raise error

    async def _recant(self, message: bytes) -> None:
        if not self.ended.done():
            self._works.start(self._recant_within(message))

    async def _recant_within(self, message: bytes) -> None:
        with contextlib.suppress(TimeoutError, RpcError, BinnacleError):
            async with asyncio.timeout(GRACE):
                await self._send(message)

    async def close(self) -> None:
        self._end(f"{self._config.name} was closed")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await self._works.stop()
        self._web.close()
