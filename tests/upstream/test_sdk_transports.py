"""Links to servers made with the official SDK, over every transport it has."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from binnacle.upstream.mcp_client import CallHandlers, McpClient
from binnacle.upstream.transports.http_client import new_session
from binnacle.upstream.transports.legacy_sse import SseTransport
from binnacle.upstream.transports.streamable_http import StreamableHttpTransport
from server.clients import Http
from server.peers import installed
from upstream.web_servers import Auth, config, run

pytestmark = [pytest.mark.peers, pytest.mark.timeout(1200)]

SERVER = str(Path(__file__).with_name("sdk_server.py"))


@pytest.fixture(scope="module", params=["json", "events", "sse"])
def server(request) -> Iterator[tuple[str, str]]:
    env = {**os.environ, "PYTHONPATH": str(installed.python_packages())}
    with Http(command=[sys.executable, "-W", "ignore", SERVER, request.param], env=env) as found:
        yield request.param, found.url


class Talk:
    """A client of the server for the length of a test."""

    def __init__(self, server: tuple[str, str], protocol: Any) -> None:
        self._kind, self._url = server
        self._protocol = protocol

    async def __aenter__(self) -> McpClient:
        self._session = new_session()
        auth = Auth()
        link: Any = SseTransport if self._kind == "sse" else StreamableHttpTransport
        self.client = McpClient(
            lambda receive: link(config(self._url), receive, session=self._session, credentials=auth),
            name="sdk",
            on_change=lambda *_: None,
        )
        await self.client.link.open()
        await self.client.connect(self._protocol)
        return self.client

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        await self._session.close()


async def call(client: McpClient, tool: str, waiting: CallHandlers | None = None, **arguments: Any) -> str:
    params = {"name": tool, "arguments": arguments}
    answer = await client.ask("tools/call", params, waiting or CallHandlers())
    return msgspec.json.decode(answer)["content"][0]["text"]


@pytest.mark.parametrize("protocol", ["auto", "handshake"])
def test_tools_are_listed_and_called(server, protocol):
    async def test() -> None:
        async with Talk(server, protocol) as client:
            assert client.era == ("stateless" if protocol == "auto" else "handshake")
            tools = (await client.entries("tools")).entries
            assert len(tools) == 4
            for number in range(20):
                assert await call(client, "add", a=number, b=1) == str(number + 1)
            progress: list[Any] = []
            assert await call(client, "steps", CallHandlers(progress.append), count=3) == "done"
            assert len(progress) == (0 if server[0] == "json" else 3)

    run(test())


def test_the_server_asks_in_the_middle_of_a_call(server):
    async def asked(method: str, _: Any) -> Any:
        assert method == "elicitation/create"
        return {"action": "accept", "content": {"text": "forty-two"}}

    async def test() -> None:
        async with Talk(server, "handshake") as client:
            assert await call(client, "ask", CallHandlers(None, asked)) == "accept: forty-two"

    if server[0] != "json":  # has no stream that a question could come on
        run(test())


def test_a_stream_that_the_server_ends_is_taken_up(server):
    async def test() -> None:
        async with Talk(server, "handshake") as client:
            progress: list[Any] = []
            assert await call(client, "leave", CallHandlers(progress.append)) == "back"
            assert len(progress) == 2

    if server[0] == "events":
        run(test())
