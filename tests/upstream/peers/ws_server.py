"""An MCP server on WebSockets, of the handshake era. Prints its URL once it listens; wants the key `open sesame`."""

import asyncio
import json
import socket
from typing import Any

from aiohttp import WSMsgType, web

INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "ws", "version": "1"}}
TOOLS = ("echo", "ask", "drop")


def entry(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"the tool {name}", "inputSchema": {"type": "object"}}


class Talk:
    """One connection."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._answers: dict[str, asyncio.Future[Any]] = {}

    async def listen(self) -> None:
        async with asyncio.TaskGroup() as group:
            async for frame in self._socket:
                if frame.type is not WSMsgType.TEXT:
                    continue
                message = json.loads(frame.data)
                if "method" not in message:
                    self._answers[message["id"]].set_result(message.get("result") or message.get("error"))
                elif "id" in message:
                    group.create_task(self._answer(message))

    async def _answer(self, message: dict[str, Any]) -> None:
        match message["method"]:
            case "initialize":
                await self._send(id=message["id"], result=INFO)
            case "tools/list":
                await self._send(id=message["id"], result={"tools": [entry(name) for name in TOOLS]})
            case "tools/call":
                said = await self._call(message["params"])
                await self._send(id=message["id"], result={"content": [{"type": "text", "text": said}]})
            case method:
                await self._send(id=message["id"], error={"code": -32601, "message": f"unknown: {method}"})

    async def _call(self, params: dict[str, Any]) -> str:
        if params["name"] == "drop":
            await self._socket.close()
        if params["name"] == "ask":
            self._answers["q"] = asyncio.get_running_loop().create_future()
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            question = {"message": "what is it?", "requestedSchema": schema}
            await self._send(id="q", method="elicitation/create", params=question)
            return json.dumps(await self._answers["q"])
        return params["arguments"]["text"]

    async def _send(self, **message: Any) -> None:
        await self._socket.send_str(json.dumps({"jsonrpc": "2.0", **message}))


async def connect(request: web.Request) -> web.StreamResponse:
    if request.headers.get("Authorization") != "Bearer open sesame":
        return web.Response(status=401)
    socket = web.WebSocketResponse(protocols=("mcp",), max_msg_size=64 << 20)
    await socket.prepare(request)
    assert socket.ws_protocol == "mcp"
    await Talk(socket).listen()
    return socket


def main() -> None:
    app = web.Application()
    app.router.add_get("/mcp", connect)
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"ws://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    web.run_app(app, sock=listener, print=None)


if __name__ == "__main__":
    main()
