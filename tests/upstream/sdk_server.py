"""A server made with the official SDK: `sdk_server.py json|events|sse`. Prints its URL once it listens."""

import socket
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventMessage, EventStore
from pydantic import BaseModel

server = MCPServer("sdk")


class Answer(BaseModel):
    text: str


@server.tool()
async def add(a: int, b: int) -> int:
    return a + b


@server.tool()
async def steps(ctx: Context, count: int) -> str:
    """Reports progress on its way."""
    for number in range(count):
        await ctx.report_progress(number + 1, count, f"step {number + 1}")
    return "done"


@server.tool()
async def ask(ctx: Context) -> str:
    """Asks the user something on its way."""
    answer = await ctx.elicit("what is it?", Answer)
    return f"{answer.action}: {answer.data.text if answer.action == 'accept' else ''}"


@server.tool()
async def leave(ctx: Context) -> str:
    """Ends the stream of its own call before it answers.

    Only once something was sent: a stream closed at once may end without the event that says where to take it up.
    """
    await ctx.report_progress(1, 3)
    await ctx.close_sse_stream()
    await ctx.report_progress(2, 3)
    return "back"


class Kept(EventStore):
    """Remembers every event."""

    def __init__(self) -> None:
        self._events: list[tuple[str, object]] = []

    async def store_event(self, stream_id, message):
        self._events.append((stream_id, message))
        return str(len(self._events) - 1)

    async def replay_events_after(self, last_event_id, send_callback):
        at = int(last_event_id)
        stream_id = self._events[at][0]
        for number, (found, message) in enumerate(self._events):
            if number > at and found == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


def main(kind: str) -> None:
    if kind == "sse":
        app, path = server.sse_app(), "/sse"
    elif kind == "json":
        app, path = server.streamable_http_app(json_response=True), "/mcp"
    else:
        app, path = server.streamable_http_app(event_store=Kept(), retry_interval=50), "/mcp"
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
