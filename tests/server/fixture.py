"""A server for tests to speak to: `fixture.py stdio` or `fixture.py http PORT`.

It has what the conformance suite calls (`conformance`), tools that hold and disturb the engine
(`disturbances`), and tools that change its lists.
"""
# ruff: noqa: ARG002 - what a host is asked with is the protocol's choice

import argparse
import asyncio
from typing import Any

import disturbances
import msgspec
from catalog import Arguments, Result, Tool, Tools, said
from conformance import LONG_TOOLS, PROMPTS, RESOURCES, TEMPLATE, TOOLS, templated

from binnacle.server import http_listener, mcp_over_http, mcp_over_stdio
from binnacle.server.bearer_tokens import OneToken
from binnacle.server.mcp_server import McpServer
from binnacle.server.request import McpRequest
from binnacle.wire.jsonrpc import INVALID_PARAMS, RpcError
from binnacle.wire.mcp import CallParams, CompleteParams, ListParams, PromptParams, ReadParams
from binnacle.wire.mcp_tasks import HANDSHAKE_CAPABILITY

RESOURCE_NOT_FOUND = -32002
"""Of the handshake era; the stateless one calls the parameter invalid."""

PAGE = 2
"""Resources listed at once, so that cursors are needed."""


class Fixture:
    """The host. Its list of tools is one longer after the first change."""

    def __init__(self) -> None:
        self.info = {"name": "fixture", "version": "1", "title": "Fixture"}
        self.instructions = "A server for tests."
        self.capabilities = {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
            **HANDSHAKE_CAPABILITY,
        }
        self.tools = Tools(TOOLS | disturbances.TOOLS)
        self.engine = McpServer(self)
        self.tools.tool("what")(self.change)
        self.tools.tool("uri", times=1)(self.touch)
        self.tools.tool()(self.crowd)
        self.tools.tool()(self.test_trigger_tool_change)
        self.tools.tool()(self.test_trigger_prompt_change)

    async def leave(self, peer: object) -> None:
        """Nothing is kept of a client."""

    async def change(self, call: McpRequest, arguments: Arguments) -> Result:
        """Says that a list has changed."""
        echo = self.tools["echo"]
        self.tools["added"] = Tool(echo.run, {**echo.definition, "name": "added"})
        self.engine.changed(arguments["what"])
        return said("ok")

    async def touch(self, call: McpRequest, arguments: Arguments) -> Result:
        """Says that a resource has changed, once or many times without a pause."""
        for _ in range(arguments.get("times", 1)):
            self.engine.updated(arguments["uri"])
        return said("ok")

    async def crowd(self, call: McpRequest, arguments: Arguments) -> Result:
        """Logs more than is kept for a client that does not read, then says three times that the tools have changed."""
        await disturbances.chatter(call, {"messages": 2 * mcp_over_stdio.MAX_BACKLOG_BYTES // 1000, "size": 1000})
        for _ in range(3):
            self.engine.changed("tools")
        disturbances.note("the crowd has gone")
        return said("ok")

    async def test_trigger_tool_change(self, call: McpRequest, arguments: Arguments) -> Result:
        """Says that the list of tools has changed, for the suite."""
        return await self.change(call, {"what": "tools"})

    async def test_trigger_prompt_change(self, call: McpRequest, arguments: Arguments) -> Result:
        """Says that the list of prompts has changed, for the suite."""
        return await self.change(call, {"what": "prompts"})

    def marked_schema(self, tool: str) -> dict[str, Any]:
        return self.tools[tool].definition["inputSchema"] if tool in self.tools else {}

    def is_long(self, tool: str) -> bool:
        return tool in LONG_TOOLS

    async def list_tools(self, call: McpRequest, params: ListParams) -> Result:
        return {"tools": [tool.definition for tool in self.tools.values()]}

    async def call_tool(self, call: McpRequest, params: CallParams) -> Result:
        tool = self.tools.get(params.name)
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"unknown tool: {params.name}")
        arguments: Any = msgspec.json.decode(params.arguments)
        for name in tool.definition["inputSchema"]["required"]:
            if not isinstance(arguments, dict) or not isinstance(arguments.get(name), str):
                raise RpcError(INVALID_PARAMS, f"invalid params: '{name}' is missing")
        return await tool.run(call, arguments)

    async def list_resources(self, call: McpRequest, params: ListParams) -> Result:
        uris = list(RESOURCES)
        at = int(params.cursor or 0)
        page = [{"uri": uri, "name": uri, "mimeType": RESOURCES[uri]["mimeType"]} for uri in uris[at : at + PAGE]]
        return {"resources": page} | ({"nextCursor": str(at + PAGE)} if at + PAGE < len(uris) else {})

    async def list_templates(self, call: McpRequest, params: ListParams) -> Result:
        return {"resourceTemplates": [{"uriTemplate": "{id}".join(TEMPLATE), "name": "template"}]}

    async def read_resource(self, call: McpRequest, params: ReadParams) -> Result:
        found = RESOURCES.get(params.uri) or templated(params.uri)
        if found is None:
            code = INVALID_PARAMS if call.era == "stateless" else RESOURCE_NOT_FOUND
            raise RpcError(code, "resource not found", {"uri": params.uri})
        return {"contents": [{"uri": params.uri, **found}]}

    async def list_prompts(self, call: McpRequest, params: ListParams) -> Result:
        prompts = [
            {"name": name, "description": name, "arguments": [{"name": key, "required": True} for key in keys]}
            for name, (keys, _) in PROMPTS.items()
        ]
        return {"prompts": prompts}

    async def get_prompt(self, call: McpRequest, params: PromptParams) -> Result:
        if params.name not in PROMPTS:
            raise RpcError(INVALID_PARAMS, f"unknown prompt: {params.name}")
        return PROMPTS[params.name][1](call, params.arguments)

    async def complete(self, call: McpRequest, params: CompleteParams) -> Result:
        values = [value for value in ("paris", "park", "rome") if value.startswith(params.argument.value)]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}

    async def follow(self, uris: frozenset[str]) -> None:
        pass


async def serve_stdio(options: argparse.Namespace) -> None:
    source, sink = mcp_over_stdio.take_stdio()
    limits = {"line_limit": options.line_limit, "grace": options.grace}
    await mcp_over_stdio.McpOverStdio(Fixture().engine, source=source, sink=sink, **limits).serve()


async def serve_http(options: argparse.Namespace) -> None:
    limits = {"body_limit": options.body_limit, "sessions": options.sessions}
    face = mcp_over_http.McpOverHttp(
        Fixture().engine, tokens=OneToken(options.token) if options.token else None, **limits
    )
    listener = http_listener.bind("127.0.0.1", options.port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    times = {"stop_within": options.stop_within, "keep_alive": options.keep_alive}
    await http_listener.serve_http(face, listener, on_ready=lambda: print(url, flush=True), **times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--uvloop", action="store_true")
    faces = parser.add_subparsers(required=True)
    on_stdio = faces.add_parser("stdio")
    on_stdio.add_argument("--line-limit", type=int, default=mcp_over_stdio.MAX_LINE_BYTES)
    on_stdio.add_argument("--grace", type=float, default=mcp_over_stdio.FINISH_GRACE_SECONDS)
    on_stdio.set_defaults(serve=serve_stdio)
    on_http = faces.add_parser("http")
    on_http.add_argument("port", type=int)
    on_http.add_argument("--token")
    on_http.add_argument("--body-limit", type=int, default=mcp_over_http.MAX_BODY_BYTES)
    on_http.add_argument("--sessions", type=int, default=mcp_over_http.MAX_SESSIONS)
    on_http.add_argument("--keep-alive", type=float, default=http_listener.KEEP_ALIVE_SECONDS)
    on_http.add_argument("--stop-within", type=float, default=http_listener.STOP_TIMEOUT_SECONDS)
    on_http.set_defaults(serve=serve_http)
    options = parser.parse_args()
    if options.uvloop:
        import uvloop

        uvloop.run(options.serve(options))
    else:
        asyncio.run(options.serve(options))


if __name__ == "__main__":
    main()
