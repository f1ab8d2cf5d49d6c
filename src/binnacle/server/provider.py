"""What an MCP server serves: tools, resources and prompts behind one small protocol."""

from collections.abc import Mapping
from typing import Any, Protocol

from binnacle.server.request import McpRequest, Peer
from binnacle.wire.mcp import CallParams, CompleteParams, ListParams, PromptParams, ReadParams

Result = dict[str, Any]
"""The result of a request, as it goes out, without what the era adds."""


class ContentProvider(Protocol):
    """A server's content. Every method may raise `RpcError`; anything else is an internal error."""

    info: dict[str, Any]
    """Name, version and title."""

    @property
    def instructions(self) -> str:
        """What a client is told when it connects."""

    capabilities: dict[str, Any]
    """What it has, in the words of the handshake era."""

    def marked_schema(self, tool: str) -> Mapping[str, Any]:
        """The input schema of a tool that wants arguments repeated in HTTP headers; empty for any other."""

    async def list_tools(self, call: McpRequest, params: ListParams) -> Result: ...
    async def call_tool(self, call: McpRequest, params: CallParams) -> Result: ...
    async def list_resources(self, call: McpRequest, params: ListParams) -> Result: ...
    async def list_templates(self, call: McpRequest, params: ListParams) -> Result: ...
    async def read_resource(self, call: McpRequest, params: ReadParams) -> Result: ...
    async def list_prompts(self, call: McpRequest, params: ListParams) -> Result: ...
    async def get_prompt(self, call: McpRequest, params: PromptParams) -> Result: ...
    async def complete(self, call: McpRequest, params: CompleteParams) -> Result: ...

    async def leave(self, peer: Peer) -> None:
        """Told that a client has closed its connection."""

    async def follow(self, uris: frozenset[str]) -> None:
        """Told which resources the clients want to hear of, when one of them says so."""
