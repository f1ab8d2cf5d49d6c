"""A server at a URL that may speak Streamable HTTP, or only HTTP with events.

As the specification says: a server that refuses a posted `initialize` without a reason may have a stream of events
instead.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from binnacle.errors import UpstreamError
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports.http_client import Credentials
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.upstream.transports.legacy_sse import SseTransport
from binnacle.upstream.transports.streamable_http import StreamableHttpTransport
from binnacle.upstream.transports.transport import OutgoingRequest, Receive
from binnacle.wire.jsonrpc import Response, RpcError

NO_ENDPOINT_STATUSES = frozenset({400, 404, 405})
"""Statuses of a server that has no endpoint for a posted `initialize`."""


NEGOTIATION = frozenset({"server/discover", "initialize"})
"""Requests that find out what the other side speaks."""


class FallbackTransport:
    """Speaks Streamable HTTP until `initialize` is refused; from then on, if the server has it, HTTP with events."""

    def __init__(
        self,
        config: ServerConfig,
        receive: Receive,
        *,
        session: HttpSession,
        credentials: Credentials,
    ) -> None:
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        http = StreamableHttpTransport(config, receive, session=session, credentials=credentials)
        self._current: StreamableHttpTransport | SseTransport = http
        self._legacy = SseTransport(config, receive, session=session, credentials=credentials)
        self._watch(http)
        self.ask: Callable[[OutgoingRequest], Coroutine[Any, Any, Response]] = self._ask_first

    @property
    def version(self) -> str:
        return self._current.version

    @version.setter
    def version(self, version: str) -> None:
        self._current.version = version

    def _watch(self, transport: StreamableHttpTransport | SseTransport) -> None:
        """Ends when the transport in use does."""

        def end(ended: asyncio.Future[str]) -> None:
            if transport is self._current and not self.ended.done() and not ended.cancelled():
                self.ended.set_result(ended.result())

        transport.ended.add_done_callback(end)

    async def open(self) -> None:
        await self._current.open()

    async def _ask_first(self, request: OutgoingRequest) -> Response:
        """Asks while it is still open which of the two the server speaks, and then keeps that one."""
        if request.method not in NEGOTIATION:
            self.ask = self._current.ask
        try:
            return await self._current.ask(request)
        except RpcError as error:
            if request.method != "initialize" or self._current is self._legacy or not _has_no_endpoint(error):
                raise
            await self._switch_to_events(error)
        return await self._current.ask(request)

    async def _switch_to_events(self, refusal: RpcError) -> None:
        """Switches to the stream of events.

        Raises:
            RpcError: there is none; this is the refusal from before.
        """
        try:
            await self._legacy.open()
        except UpstreamError:
            raise refusal from None
        former, self._current = self._current, self._legacy
        self._watch(self._legacy)
        await former.close()

    def has_worked(self) -> bool:
        return False  # no local process

    async def tell(self, message: bytes) -> None:
        await self._current.tell(message)

    async def close(self) -> None:
        await self._current.close()
        await self._legacy.close()


def _has_no_endpoint(error: RpcError) -> bool:
    return isinstance(error.data, dict) and error.data.get("status") in NO_ENDPOINT_STATUSES
