"""The protocol of what an MCP server serves: tools, resources and prompts."""

from collections.abc import Mapping
from typing import Any, Protocol

from binnacle.server.request import McpRequest, Peer
from binnacle.wire.mcp import CallParams, CompleteParams, ListParams, PromptParams, ReadParams

Result = dict[str, Any]
"""The result of a request, without the fields that the era adds."""


class ContentProvider(Protocol):
    """A server's content. Every method may raise `RpcError`; anything else is an internal error."""

    info: dict[str, Any]
    """Name, version and title."""

    @property
    def instructions(self) -> str:
        """Instructions for a client that connects."""

    capabilities: dict[str, Any]
    """Its capabilities, in the format of the handshake era."""

    def marked_schema(self, tool: str) -> Mapping[str, Any]:
        """The input schema of a tool that needs arguments repeated in HTTP headers; empty for any other."""

    def is_long(self, tool: str) -> bool:
        """Whether calls of a tool may take long, so that they may become tasks of the protocol."""

    async def list_tools(self, call: McpRequest, params: ListParams) -> Result: ...
    async def call_tool(self, call: McpRequest, params: CallParams) -> Result: ...
    async def list_resources(self, call: McpRequest, params: ListParams) -> Result: ...
    async def list_templates(self, call: McpRequest, params: ListParams) -> Result: ...
    async def read_resource(self, call: McpRequest, params: ReadParams) -> Result: ...
    async def list_prompts(self, call: McpRequest, params: ListParams) -> Result: ...
    async def get_prompt(self, call: McpRequest, params: PromptParams) -> Result: ...
    async def complete(self, call: McpRequest, params: CompleteParams) -> Result: ...

    async def leave(self, peer: Peer) -> None:
        """Called when a client has closed its connection."""

    async def follow(self, uris: frozenset[str]) -> None:
        """Called with all subscribed resources when a client subscribes or unsubscribes."""
