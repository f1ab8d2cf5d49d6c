"""An MCP server with one tool that says its argument again, in as little Python as that takes.

`plain_echo.py stdio [SECONDS]` or `plain_echo.py http [SECONDS]`; the seconds are what it takes to start, on HTTP
those until it answers a greeting. It speaks the handshake only, and on HTTP answers in JSON and prints its address
in a line once it listens.
"""

import json
import os
import sys
import time

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = {"tools": [{"name": "echo", "description": "Says it again.", "inputSchema": SCHEMA}]}


def answer(line):
    """The answer to a message; nothing for one that wants none."""
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        return b""
    method, params = message["method"], message.get("params") or {}
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "tools/call":
        reply["result"] = {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    elif method == "initialize":
        about = {"name": "echo", "version": "1"}
        version = params["protocolVersion"]
        reply["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        reply["result"] = TOOLS
    elif method == "ping":
        reply["result"] = {}
    else:
        reply["error"] = {"code": -32601, "message": f"unknown: {method}"}
    return json.dumps(reply, separators=(",", ":")).encode()


def serve_stdio():
    rest = b""
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        if replies := [reply for reply in map(answer, filter(None, lines)) if reply]:
            replies = b"\n".join(replies) + b"\n"
            while replies:
                replies = replies[os.write(1, replies) :]


def reply(head, body):
    if not head.startswith(b"POST"):
        return b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n"
    said = answer(body)
    if not said:
        return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(said), said)


def serve_http(seconds):
    import asyncio  # which takes longer to load than all the rest

    class Connection(asyncio.Protocol):
        """One client; messages have a length."""

        data = b""

        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            self.data += data
            while True:
                head, found, body = self.data.partition(b"\r\n\r\n")
                if not found:
                    return
                _, has_length, rest = head.lower().partition(b"\r\ncontent-length:")
                length = int(rest.partition(b"\r\n")[0]) if has_length else 0
                if len(body) < length:
                    return
                self.data = body[length:]
                said = reply(head, body[:length])
                if seconds and b'"initialize"' in body[:length]:
                    asyncio.get_running_loop().call_later(seconds, self.transport.write, said)
                else:
                    self.transport.write(said)

    async def serve():
        server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
        print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"}), flush=True)
        await server.serve_forever()

    asyncio.run(serve())


if __name__ == "__main__":
    wait = float((sys.argv[2:] or ["0"])[0])
    if sys.argv[1] == "http":
        serve_http(wait)
    else:
        time.sleep(wait)
        serve_stdio()
