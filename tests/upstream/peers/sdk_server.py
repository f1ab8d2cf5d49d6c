"""A server made with the official SDK: `sdk_server.py stdio|http`. On HTTP it prints its URL once it listens."""

import socket
import sys
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("sdk")

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


class Answer(BaseModel):
    text: str


class Sum(BaseModel):
    total: int
    of: list[int]


@server.tool()
async def add(a: int, b: int) -> Sum:
    """Adds, and says so as data."""
    return Sum(total=a + b, of=[a, b])


@server.tool()
async def picture() -> Image:
    """A picture."""
    return Image(data=PIXEL, format="png")


@server.tool()
async def steps(ctx: Context, count: int) -> str:
    """Reports progress on its way."""
    for number in range(count):
        await ctx.report_progress(number + 1, count, f"step {number + 1}")
    return "done"


async def question() -> Elicit[Answer]:
    return Elicit("what is it?", Answer)


@server.tool()
async def ask(answer: Annotated[Answer, Resolve(question)]) -> str:
    """Asks the user something on its way."""
    return f"it is {answer.text}"


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool."""

    async def grown() -> str:
        return "I am new"

    server.add_tool(grown, name="grown")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def fail() -> str:
    raise ValueError("this always fails")


@server.resource("note://one", mime_type="text/plain")
async def note() -> str:
    return "what is in it"


@server.resource("note://of/{name}")
async def note_of(name: str) -> str:
    return f"what {name} wrote"


@server.prompt()
async def greet(name: str) -> str:
    return f"say hello to {name}"


def main(kind: str) -> None:
    if kind == "stdio":
        server.run("stdio")
        return
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
