"""A server on stdio with one tool, on the official SDK's lower level: the least one can build with it."""

import asyncio

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def list_tools(_, __):
    return ListToolsResult(tools=[Tool(name="echo", description="Says it again.", input_schema=SCHEMA)])


async def call_tool(_, params):
    return CallToolResult(content=[TextContent(type="text", text=params.arguments["text"])])


async def main():
    server = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (source, sink):
        await server.run(source, sink, server.create_initialization_options())


asyncio.run(main())
