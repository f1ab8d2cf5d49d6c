"""A program on OpenAI Agents' MCP client: `client.py BN`. It has one server for as long as it runs.

It reads lines of JSON, each a list of calls (`[tool, arguments]`) that it makes at once, and answers each with one.
"""

import asyncio
import json
import os
import sys
from typing import Any

from agents.mcp import MCPServerStdio

CALL_SECONDS = 60.0


async def main() -> None:
    params = {"command": sys.argv[1], "args": ["mcp", "serve"], "env": dict(os.environ)}
    async with MCPServerStdio(params, client_session_timeout_seconds=CALL_SECONDS) as server:
        await server.list_tools()

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            result = await server.call_tool(name, arguments)
            return {"is_error": result.is_error, "told": result.structured_content}

        while line := await asyncio.to_thread(sys.stdin.readline):
            answers = await asyncio.gather(*(call(*asked) for asked in json.loads(line)))
            sys.stdout.write(json.dumps(answers) + "\n")
            sys.stdout.flush()


asyncio.run(main())
