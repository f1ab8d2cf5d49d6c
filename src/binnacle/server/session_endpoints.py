"""Several sessions on one port: each has its own endpoint, `/mcp/SESSION`, next to the main endpoint `/mcp`."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import NamedTuple

from binnacle.errors import BinnacleError, NotFound, NotReady
from binnacle.server.http_exchange import HttpExchange, HttpReply
from binnacle.server.mcp_over_http import McpOverHttp, bearer_of
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INVALID_REQUEST

Open = Callable[[AsyncExitStack, str, str, str], Awaitable[McpOverHttp]]
"""Opens the endpoint of a session, given its id, path and secret. The stack closes it.

Raises `NotReady` for a wrong secret.
"""

MAX_OPEN_SESSIONS = 64
"""Sessions open at once. Beyond that, the one that was silent longest is closed until its next request."""


class _Endpoint(NamedTuple):
    endpoint: McpOverHttp
    stack: AsyncExitStack


class SessionEndpoints:
    """The main endpoint, and the endpoints of sessions, which open at their first request."""

    def __init__(self, main: McpOverHttp, path: str, open_endpoint: Open) -> None:
        self._main = main
        self._prefix = f"{path}/"
        self._open = open_endpoint
        self._opened: dict[str, _Endpoint] = {}
        self._opening = asyncio.Lock()
        self._asked: set[asyncio.Task[None]] = set()

    def admit(self, exchange: HttpExchange) -> "asyncio.Future[None] | None":
        if not exchange.path.startswith(self._prefix):
            self._main.admit(exchange)
            return None
        self._main.check_place(exchange.headers)
        session = exchange.path.removeprefix(self._prefix)
        if session in self._opened:
            self._opened[session] = self._opened.pop(session)  # most recently used last
            self._opened[session].endpoint.admit(exchange)
            return None
        return self._begin(self._look_up(exchange))

    def check_size(self, size: int) -> None:
        self._main.check_size(size)

    def take(self, exchange: HttpExchange) -> None:
        if not exchange.path.startswith(self._prefix):
            self._main.take(exchange)
        elif opened := self._opened.get(exchange.path.removeprefix(self._prefix)):
            opened.endpoint.take(exchange)
        else:
            self._begin(self._take_again(exchange))  # its session was closed while the body was read

    def _begin(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        asked = asyncio.get_running_loop().create_task(work)
        self._asked.add(asked)
        asked.add_done_callback(self._asked.discard)
        return asked

    async def _look_up(self, exchange: HttpExchange) -> None:
        """Opens the session of a request that has the session's secret.

        Raises:
            HttpReply: the answer to give instead.
        """
        async with self._opening:
            endpoint = await self._find_or_open(exchange.path.removeprefix(self._prefix), bearer_of(exchange.headers))
        endpoint.admit(exchange)

    async def _take_again(self, exchange: HttpExchange) -> None:
        try:
            await self._look_up(exchange)
        except HttpReply as reply:
            exchange.reply(reply)
        else:
            if not exchange.is_answered:  # the client may have disconnected
                self.take(exchange)

    async def _find_or_open(self, session: str, secret: str) -> McpOverHttp:
        found = self._opened.pop(session, None)
        if found is None:
            stack = AsyncExitStack()
            try:
                found = _Endpoint(await self._open(stack, session, f"{self._prefix}{session}", secret), stack)
            except BinnacleError as error:
                said = jsonrpc.error_message(jsonrpc.NO_ID, INVALID_REQUEST, f"{error.message}; {error.hint}")
                if isinstance(error, NotReady):
                    raise HttpReply(401, said, www_authenticate="Bearer") from error
                raise HttpReply(404 if isinstance(error, NotFound) else 409, said) from error
            while len(self._opened) >= MAX_OPEN_SESSIONS:
                await self._end(next(iter(self._opened)))
        self._opened[session] = found  # most recently used last
        return found.endpoint

    async def _end(self, session: str) -> None:
        endpoint, stack = self._opened.pop(session)
        endpoint.close()
        endpoint.cancel()
        await stack.aclose()

    def close(self) -> None:
        """Ends every stream of changes, so that the server can stop. Requests in progress continue."""
        for endpoint in self._endpoints():
            endpoint.close()

    def cancel(self) -> None:
        """Cancels every request in progress."""
        for endpoint in self._endpoints():
            endpoint.cancel()

    async def aclose(self) -> None:
        """Closes the endpoints of all sessions."""
        while self._opened:
            await self._end(next(iter(self._opened)))

    def _endpoints(self) -> list[McpOverHttp]:
        return [self._main, *(opened.endpoint for opened in self._opened.values())]
