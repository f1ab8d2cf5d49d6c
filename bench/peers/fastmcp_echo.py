"""A FastMCP server with one tool, on stdio, or on HTTP if asked with `--http`.

On HTTP it is served by uvicorn with its fastest parser and event loop, answers in JSON, the address in a line on
stdout once it listens.
"""

import json
import socket
import sys

from fastmcp import FastMCP

mcp = FastMCP("echo")


@mcp.tool
def echo(text: str) -> str:
    """Says it again."""
    return text


def serve_http():
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets=sockets)
            print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}), flush=True)

    listener = socket.create_server(("127.0.0.1", 0))
    app = mcp.http_app(json_response=True)
    settings = {"log_level": "warning", "access_log": False, "timeout_keep_alive": 75, "timeout_graceful_shutdown": 1}
    config = uvicorn.Config(app, loop="uvloop", http="httptools", ws="none", **settings)
    Server(config).run(sockets=[listener])


if "--http" in sys.argv:
    serve_http()
else:
    mcp.run(show_banner=False)
