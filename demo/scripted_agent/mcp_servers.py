"""The MCP servers of a session: connected when it opens, their tools called by name."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw, Struct

from binnacle.errors import UpstreamError
from binnacle.processes.keeper import Keeper
from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig
from binnacle.upstream.mcp_client import McpClient
from binnacle.upstream.transports.transport import Receive, Transport
from binnacle.wire.acp import HttpMcpServer, McpServer, StdioMcpServer
from binnacle.wire.jsonrpc import RpcError

CONNECT_TIMEOUT_SECONDS = 30.0
CALL_TIMEOUT_SECONDS = 180.0
"""Seconds for one call: a program may be started under the debugger."""


class Tool(Struct, frozen=True):
    """A tool that a server lists."""

    server: str
    name: str
    schema: dict[str, Any]


class Answer(Struct, frozen=True, kw_only=True):
    """What a tool said."""

    text: str
    data: Any = None
    """The same as a value, where the server gives one."""

    is_error: bool = False
    code: str = ""
    """Of the error, where it has one."""

    is_passing: bool = False
    """Whether the error says that the same call may succeed when it is made again."""


class _Listed(Struct):
    name: str
    schema: dict[str, Any] = msgspec.field(name="inputSchema", default_factory=dict)


class _Part(Struct):
    type: str = ""
    text: str = ""


class _Envelope(Struct):
    data: Any = None
    error: dict[str, Any] | None = None


class _Result(Struct):
    content: list[_Part] = []
    structured: Any = msgspec.field(name="structuredContent", default=None)
    is_error: bool = msgspec.field(name="isError", default=False)


class Servers:
    """The tools of all servers of a session."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self._clients: dict[str, McpClient] = {}

    async def join(self, name: str, client: McpClient) -> None:
        """Takes the tools of a server that is connected. Where two have one of a name, the first is called."""
        self._clients[name] = client
        for entry in (await client.entries("tools")).entries:
            found = msgspec.json.decode(entry, type=_Listed)
            self.tools.setdefault(found.name, Tool(name, found.name, found.schema))

    def find(self, *names: str) -> Tool | None:
        """The first of these tools that there is."""
        return next((self.tools[name] for name in names if name in self.tools), None)

    async def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Answer:
        """Calls a tool. What fails is an answer, too."""
        try:
            async with asyncio.timeout(CALL_TIMEOUT_SECONDS):
                params = {"name": tool.name, "arguments": arguments}
                return _answer(await self._clients[tool.server].ask("tools/call", params))
        except TimeoutError:
            return Answer(text=f"no answer within {CALL_TIMEOUT_SECONDS:g} s", is_error=True, code="E_TIMEOUT")
        except UpstreamError as error:
            return Answer(text=error.message, is_error=True, code=error.code)
        except RpcError as error:
            return Answer(text=error.message, is_error=True)


@asynccontextmanager
async def connect_servers(servers: Iterable[McpServer], *, keeper: Keeper, folder: str) -> AsyncIterator[Servers]:
    """Connects to servers. Leaving it ends the connections, and the processes of those that were started.

    Raises:
        UpstreamError: one cannot be reached.
    """
    async with AsyncExitStack() as stack:
        found = Servers()
        for server in servers:
            config = _config(server, folder)
            client = McpClient(await _opener(stack, config, keeper), name=server.name, on_change=lambda *_: None)
            stack.push_async_callback(client.close)
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                    await client.link.open()
                    await client.connect("auto")
                    await found.join(server.name, client)
            except (TimeoutError, RpcError, msgspec.DecodeError) as error:
                text = f"the MCP server {server.name} cannot be used: {str(error) or 'no answer in time'}"
                raise UpstreamError(text, hint="see its log") from error
        yield found


def _config(server: McpServer, folder: str) -> ServerConfig:
    source = ConfigSource("cli")
    match server:
        case HttpMcpServer(name=name, url=url, headers=headers):
            given = {one.name: one.value for one in headers}
            return ServerConfig(name=name, transport="http", url=url, headers=given, source=source)
        case StdioMcpServer(name=name, command=command, args=args, env=env):
            full = {**os.environ, **{one.name: one.value for one in env}}
            return ServerConfig(
                name=name, transport="stdio", command=command, args=args, env=full, cwd=folder, source=source
            )


async def _opener(stack: AsyncExitStack, config: ServerConfig, keeper: Keeper) -> Callable[[Receive], Transport]:
    """What makes the link to a server. A transport that is not used is not loaded."""
    if config.transport == "stdio":
        from binnacle.processes.output_log import OutputLog
        from binnacle.upstream.transports.stdio import StdioTransport

        return partial(StdioTransport, config, keeper=keeper, log=OutputLog())
    from binnacle.upstream.transports.http_client import new_session
    from binnacle.upstream.transports.streamable_http import StreamableHttpTransport

    session = await stack.enter_async_context(new_session())
    return partial(StreamableHttpTransport, config, session=session, credentials=_NoCredentials())


class _NoCredentials:
    """For servers whose configuration has all that they want to see."""

    async def headers(self) -> dict[str, str]:
        return {}

    async def handle_challenge(self, status: int, www_authenticate: str) -> bool:  # noqa: ARG002
        return False


def _answer(result: Raw) -> Answer:
    found = msgspec.json.decode(result, type=_Result)
    text = "\n".join(part.text for part in found.content if part.type == "text")
    try:
        envelope = msgspec.convert(found.structured or {}, _Envelope)
    except msgspec.ValidationError:
        envelope = _Envelope(data=found.structured)
    error = envelope.error or {}
    return Answer(
        text=text,
        data=envelope.data,
        is_error=found.is_error,
        code=str(error.get("code", "")),
        is_passing=error.get("retryable") is True,
    )
