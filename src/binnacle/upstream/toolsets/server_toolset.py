"""The innermost toolset: one supervised server, as it lists its tools and answers."""

from collections.abc import Coroutine
from typing import Any

from binnacle.upstream.listing.screening import decode_entry
from binnacle.upstream.mcp_client import McpClient
from binnacle.upstream.request_relay import RequestRelay
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.upstream.toolsets.toolset import ListedTool, ToolListing, UpstreamAnswer, UpstreamRequest


class ServerToolset:
    """The tools of one server, unchanged."""

    def __init__(self, server: SupervisedServer, relay: RequestRelay) -> None:
        """`relay` carries the server's questions to the client."""
        self._server = server
        self._relay = relay

    def list_tools(self) -> ToolListing:
        tools = self._server.tools
        return ToolListing(
            tuple(ListedTool(one.name, decode_entry(one.entry), one.is_repeatable, one.name) for one in tools)
        )

    def send(self, request: UpstreamRequest) -> Coroutine[Any, Any, UpstreamAnswer]:
        def exchange(client: McpClient) -> Coroutine[Any, Any, UpstreamAnswer]:
            return self._relay.exchange(client, request, self._server.config)

        return self._server.call(exchange, is_repeatable=request.is_repeatable)
