"""Several servers on one port, each at a path and with a token of its own, that come and go while it is served."""

from collections.abc import Iterator
from contextlib import contextmanager

from binnacle.server.http_exchange import HttpExchange, HttpReply
from binnacle.server.mcp_over_http import BODY_LIMIT, McpOverHttp, check_place
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INVALID_REQUEST


class HttpRoutes:
    """The endpoints that are open now, by path."""

    def __init__(self) -> None:
        self._open: dict[str, McpOverHttp] = {}

    @contextmanager
    def shown(self, path: str, endpoint: McpOverHttp) -> Iterator[None]:
        """Has `endpoint` answer at `path`. Leaving it ends its streams and stops what is under way."""
        self._open[path] = endpoint
        try:
            yield
        finally:
            del self._open[path]
            endpoint.close()
            endpoint.cancel()

    def admit(self, exchange: HttpExchange) -> None:
        """Every endpoint looks for itself: each has its own token. Another machine does not learn which are open."""
        check_place(exchange.headers)
        self._find(exchange.path).admit(exchange)

    def _find(self, path: str) -> McpOverHttp:
        endpoint = self._open.get(path)
        if endpoint is None:
            raise HttpReply(404, jsonrpc.error_message(jsonrpc.NO_ID, INVALID_REQUEST, "no such session"))
        return endpoint

    def weigh(self, size: int) -> None:
        """Refuses what is too long for any of them."""
        if size > BODY_LIMIT:
            raise HttpReply(413)

    def take(self, exchange: HttpExchange) -> None:
        try:
            self._find(exchange.path).take(exchange)
        except HttpReply as reply:
            exchange.reply(reply)  # the session ended while the body was read

    def close(self) -> None:
        for endpoint in self._open.values():
            endpoint.close()

    def cancel(self) -> None:
        for endpoint in self._open.values():
            endpoint.cancel()
