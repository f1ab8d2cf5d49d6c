"""The client that the official conformance suite drives: connects, signs in whenever it is told to, calls a tool."""

import asyncio
import json
import os
import sys
import tempfile

from binnacle.errors import UpstreamLogin
from binnacle.upstream.auth.authorizer_factory import make_authorizer
from binnacle.upstream.auth.login import login
from binnacle.upstream.auth.secret_store import FileSecrets
from binnacle.upstream.configuration.server_config import AuthConfig, ConfigSource, ServerConfig
from binnacle.upstream.mcp_client import McpClient
from binnacle.upstream.transports.http_client import new_session
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.upstream.transports.streamable_http import StreamableHttpTransport

LOGINS = 3
"""Times that a person would sign in before giving up."""


def a_config(url: str) -> ServerConfig:
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    auth = AuthConfig(
        type="oauth",
        client_id=given.get("client_id", ""),
        client_secret=given.get("client_secret", ""),
        client_metadata_url="https://conformance-test.local/client-metadata.json",
    )
    return ServerConfig(name="suite", transport="http", url=url, auth=auth, source=ConfigSource("cli"))


async def use(config: ServerConfig, secrets: FileSecrets, http: HttpSession) -> None:
    """One session with the server."""
    who = make_authorizer(config, secrets=secrets, http=http)

    def link(receive):
        return StreamableHttpTransport(config, receive, session=http, credentials=who)

    client = McpClient(link, name=config.name, on_change=lambda _: None)
    try:
        await client.link.open()
        await client.connect("auto")
        for tool in (await client.entries("tools")).entries:
            name = json.loads(bytes(tool))["name"]
            await client.ask("tools/call", {"name": name, "arguments": {}})
    finally:
        await client.close()
        await who.aclose()


async def main(url: str) -> None:
    config = a_config(url)
    async with asyncio.timeout(60), new_session() as http:
        with tempfile.TemporaryDirectory() as folder:
            secrets = FileSecrets(folder)
            for _ in range(LOGINS):
                try:
                    await use(config, secrets, http)
                except UpstreamLogin as needed:
                    print(needed, file=sys.stderr)
                else:
                    return
                browsing: list[asyncio.Task[None]] = []

                def show(line: str, browsing: list[asyncio.Task[None]] = browsing) -> None:
                    print(line, file=sys.stderr)
                    if line.startswith("http"):
                        browsing.append(asyncio.create_task(browse(http, line)))

                await login(config, secrets=secrets, http=http, show=show, open_browser=False)
                await asyncio.gather(*browsing)


async def browse(http: HttpSession, url: str) -> None:
    async with (await http.open()).get(url) as page:
        await page.read()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
