"""Several MCP servers on one port, each with its own path and token. They may come and go at any time."""

from collections.abc import Iterator
from contextlib import contextmanager

from binnacle.server.http_exchange import HttpExchange, HttpReply
from binnacle.server.mcp_over_http import MAX_BODY_BYTES, McpOverHttp, check_place
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INVALID_REQUEST


class HttpRoutes:
    """The endpoints that are open now, by path."""

    def __init__(self) -> None:
        self._open: dict[str, McpOverHttp] = {}

    @contextmanager
    def shown(self, path: str, endpoint: McpOverHttp) -> Iterator[None]:
        """Serves `endpoint` at `path`. Leaving the block ends its streams and cancels its requests."""
        self._open[path] = endpoint
        try:
            yield
        finally:
            del self._open[path]
            endpoint.close()
            endpoint.cancel()

    def admit(self, exchange: HttpExchange) -> None:
        """Lets the endpoint check its own token. Requests from other machines do not learn which paths exist."""
        check_place(exchange.headers)
        self._find(exchange.path).admit(exchange)

    def _find(self, path: str) -> McpOverHttp:
        endpoint = self._open.get(path)
        if endpoint is None:
            raise HttpReply(404, jsonrpc.error_message(jsonrpc.NO_ID, INVALID_REQUEST, "no such session"))
        return endpoint

    def check_size(self, size: int) -> None:
        """Refuses a body that is too long for any endpoint."""
        if size > MAX_BODY_BYTES:
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
