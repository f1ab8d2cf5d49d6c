"""Servers at encrypted addresses: who they are is checked before anything secret is sent."""

import asyncio
import contextlib
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import WSMsgType, web

from cli.conftest import Bn, bn  # noqa: F401 - the fixture
from cli.test_upstream_live import beside
from server.upstreams.servers import Servers

KEY = "sk-planted-0123456789abcdef"
NEW = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
LISTS = {"tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}}
INITIALIZED = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "sealed"}}


class Sealed:
    """An MCP server over TLS, on HTTP and WebSocket, that remembers the keys it was sent."""

    def __init__(self) -> None:
        self.keys: list[str | None] = []

    async def post(self, request: web.Request) -> web.Response:
        self.keys.append(request.headers.get("X-Key"))
        said = answer(await request.read())
        return web.json_response(said) if said else web.Response(status=202)

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        self.keys.append(request.headers.get("X-Key"))
        socket = web.WebSocketResponse(protocols=["mcp"])
        await socket.prepare(request)
        async for message in socket:
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY) and (said := answer(message.data)):
                await socket.send_json(said)
        return socket


def answer(data: str | bytes) -> dict[str, Any] | None:
    asked = msgspec.json.decode(data)
    if "id" not in asked:
        return None
    found = {"initialize": INITIALIZED, "ping": {}, **LISTS}.get(asked["method"])
    told = {"result": found} if found is not None else {"error": {"code": -32601, "message": "unknown"}}
    return {"jsonrpc": "2.0", "id": asked["id"], **told}


@contextlib.asynccontextmanager
async def serving(certificate: Path) -> AsyncIterator[tuple[Sealed, int]]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    sealed, app = Sealed(), web.Application()
    app.router.add_post("/mcp", sealed.post)
    app.router.add_get("/ws", sealed.socket)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield sealed, runner.addresses[0][1]
    finally:
        await runner.cleanup()


def certified(folder: Path, name: str) -> Path:
    """A certificate for a name, signed by nobody else, and its key beside it."""
    path = folder / f"{name.rpartition(':')[2]}.pem"
    files = ["-keyout", str(path.with_suffix(".key")), "-out", str(path)]
    words = [*NEW, "-subj", "/CN=test", "-addext", f"subjectAltName={name}", *files]
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)
    return path


def entries(port: int) -> dict[str, Any]:
    auth = {"type": "api_key", "headerName": "X-Key", "apiKey": KEY}
    return {
        "posts": {"url": f"https://127.0.0.1:{port}/mcp", "auth": auth},
        "sockets": {"url": f"wss://127.0.0.1:{port}/ws", "transport": "websocket", "auth": auth},
    }


def tried(bn: Bn, certificate: Path, trusted: Path | None) -> tuple[Sealed, dict[str, Any]]:  # noqa: F811
    """What becomes of both servers, and what they were sent."""

    async def main() -> tuple[Sealed, dict[str, Any]]:
        async with asyncio.timeout(60), serving(certificate) as (sealed, port):
            Servers(bn)(**entries(port))
            env = {"SSL_CERT_FILE": str(trusted)} if trusted else {}
            done = await beside(bn, "upstream", "test", "posts", "sockets", env=env)
            return sealed, {row["name"]: row for row in done.json["servers"]}

    return asyncio.run(main())


def test_one_that_is_known_is_spoken_to_and_gets_its_key(bn, tmp_path):  # noqa: F811
    certificate = certified(tmp_path, "IP:127.0.0.1")
    sealed, rows = tried(bn, certificate, certificate)
    assert [(row["state"], row["tools"]) for row in rows.values()] == [("ready", 1)] * 2, rows
    assert set(sealed.keys) == {KEY}


@pytest.mark.parametrize("name", ["IP:127.0.0.1", "DNS:other.example.com"])
def test_one_that_is_not_known_or_is_another_gets_nothing(bn, tmp_path, name):  # noqa: F811
    certificate = certified(tmp_path, name)
    sealed, rows = tried(bn, certificate, certificate if name.startswith("DNS") else None)
    for row in rows.values():
        assert row["state"] == "failed"
        assert "certificate" in row["reason"].lower(), row
    assert sealed.keys == []
