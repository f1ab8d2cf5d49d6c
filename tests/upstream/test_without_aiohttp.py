"""A server at a plain URL is used without loading aiohttp, which costs 0.2 s and 12 MB."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from upstream.test_tls import Sealed, certified, serving

WAIT = 60.0

USE = """
import asyncio, json, sys
from binnacle.project.project import find_project
from binnacle.serving.upstream_connections import UpstreamConnections

async def main(url):
    upstreams = UpstreamConnections(find_project(), flags=[f"far={url}"])
    gateway = upstreams.gateway(lambda: None, lambda: None)
    gateway.start()
    try:
        status = await gateway.servers["far"].settle()
        print(json.dumps([status.state, status.reason, list(gateway.offers()), "aiohttp" in sys.modules]))
    finally:
        await gateway.aclose()
        await upstreams.aclose()

asyncio.run(main(sys.argv[1]))
"""


@contextlib.asynccontextmanager
async def serving_openly() -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_post("/mcp", Sealed().post)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def use(url: str, folder: Path, **variables: str) -> list[object]:
    """How a fresh process stands to a server, what it offers of it, and whether it has loaded aiohttp."""
    places = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    proxies = {name: "" for name in os.environ if name.lower().endswith("_proxy")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", USE, url),
        cwd=folder,
        env={**os.environ, **places, **proxies, **variables},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(WAIT):
        output, _ = await process.communicate()
    return json.loads(output)


def test_a_server_at_a_url_needs_no_aiohttp(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving_openly() as port:
            assert await use(f"http://127.0.0.1:{port}/mcp", tmp_path) == ["ready", "", ["mcp_far_echo"], False]

    asyncio.run(scenario())


def test_an_encrypted_server_needs_no_aiohttp(tmp_path: Path) -> None:
    certificate = certified(tmp_path, "IP:127.0.0.1")

    async def scenario() -> None:
        async with serving(certificate) as (_, port):
            found = await use(f"https://127.0.0.1:{port}/mcp", tmp_path, SSL_CERT_FILE=str(certificate))
            assert found == ["ready", "", ["mcp_far_echo"], False]

    asyncio.run(scenario())


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_what_does_need_it_loads_it(tmp_path: Path, scheme: str) -> None:
    async def scenario() -> None:
        url, proxy = f"{scheme}://server.example/mcp", "http://127.0.0.1:9"
        state, reason, offered, is_loaded = await use(url, tmp_path, http_proxy=proxy, HTTP_PROXY=proxy)
        assert (state, offered, is_loaded) == ("failed", [], True), reason
        assert "the proxy on the way to server.example:80 cannot be reached" in str(reason)

    asyncio.run(scenario())
