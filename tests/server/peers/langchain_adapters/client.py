"""A program on LangChain's MCP adapters: `client.py BN`. As they do by default, it starts a server for every call.

It reads lines of JSON, each a list of calls (`[tool, arguments]`) that it makes at once, and answers each with one.
"""

import asyncio
import json
import os
import sys
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main() -> None:
    server = {"transport": "stdio", "command": sys.argv[1], "args": ["mcp", "serve"], "env": dict(os.environ)}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"binnacle": server}).get_tools()}

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        told = message.artifact["structured_content"] if message.artifact else message.content
        return {"is_error": message.status == "error", "told": told}

    while line := await asyncio.to_thread(sys.stdin.readline):
        answers = await asyncio.gather(*(call(*asked) for asked in json.loads(line)))
        sys.stdout.write(json.dumps(answers) + "\n")
        sys.stdout.flush()


asyncio.run(main())
