"""FastMCP's proxy in front of the servers of a file, `fastmcp_proxy.py FILE [--http]`: their fastest way.

By default it makes a new connection, and a new process, for every call. Here it is given a client that stays
connected. On HTTP it is served by uvicorn with its fastest parser and event loop, answers in JSON.
"""

import asyncio
import json
import socket
import sys

from fastmcp import Client
from fastmcp.server import create_proxy


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    async with Client(config, mode="legacy") as client:
        proxy = create_proxy(client)
        if "--http" not in sys.argv:
            await proxy.run_stdio_async(show_banner=False)
            return
        import uvicorn

        class Server(uvicorn.Server):
            async def startup(self, sockets=None):
                await super().startup(sockets=sockets)
                print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}), flush=True)

        listener = socket.create_server(("127.0.0.1", 0))
        app = proxy.http_app(json_response=True)
        settings = {"log_level": "warning", "access_log": False, "timeout_keep_alive": 75, "ws": "none"}
        config = uvicorn.Config(app, http="httptools", timeout_graceful_shutdown=1, **settings)
        await Server(config).serve(sockets=[listener])


if "--http" in sys.argv:
    import uvloop

    uvloop.run(main())
else:
    asyncio.run(main())
