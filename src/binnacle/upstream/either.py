"""A server at a URL that may speak Streamable HTTP, or only what was there before it.

As the specification has it: who refuses a posted `initialize` without saying why may have a stream of events
to be opened instead.
"""

import asyncio

import aiohttp

from binnacle.errors import UpstreamError
from binnacle.upstream.config import ServerConfig
from binnacle.upstream.http import HttpLink
from binnacle.upstream.link import Outgoing, Receive
from binnacle.upstream.sse import SseLink
from binnacle.upstream.web import Challenged, Headers
from binnacle.wire.jsonrpc import Response, RpcError

UNKNOWN = frozenset({400, 404, 405})
"""What a server answers that has no place to post `initialize` to."""


class EitherLink:
    """Speaks Streamable HTTP until `initialize` is refused; from then on, if the server has it, HTTP with events."""

    def __init__(
        self,
        config: ServerConfig,
        receive: Receive,
        *,
        session: aiohttp.ClientSession,
        headers: Headers,
        challenged: Challenged,
    ) -> None:
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        http = HttpLink(config, receive, session=session, headers=headers, challenged=challenged)
        self._link: HttpLink | SseLink = http
        self._before = SseLink(config, receive, session=session, headers=headers, challenged=challenged)
        self._watch(http)

    @property
    def version(self) -> str:
        return self._link.version

    @version.setter
    def version(self, version: str) -> None:
        self._link.version = version

    def _watch(self, link: HttpLink | SseLink) -> None:
        """Ends when the link in use does."""

        def end(ended: asyncio.Future[str]) -> None:
            if link is self._link and not self.ended.done() and not ended.cancelled():
                self.ended.set_result(ended.result())

        link.ended.add_done_callback(end)

    async def open(self) -> None:
        await self._link.open()

    async def ask(self, request: Outgoing) -> Response:
        try:
            return await self._link.ask(request)
        except RpcError as error:
            if request.method != "initialize" or self._link is self._before or not _knows_nothing(error):
                raise
            await self._go_back(error)
        return await self._link.ask(request)

    async def _go_back(self, refusal: RpcError) -> None:
        """Opens the stream of events instead.

        Raises:
            RpcError: there is none; what was refused before.
        """
        try:
            await self._before.open()
        except UpstreamError:
            raise refusal from None
        link, self._link = self._link, self._before
        self._watch(self._before)
        await link.close()

    def has_worked(self) -> bool:
        return False  # there is no process of ours

    async def tell(self, message: bytes) -> None:
        await self._link.tell(message)

    async def close(self) -> None:
        await self._link.close()
        await self._before.close()


def _knows_nothing(error: RpcError) -> bool:
    return isinstance(error.data, dict) and error.data.get("status") in UNKNOWN
