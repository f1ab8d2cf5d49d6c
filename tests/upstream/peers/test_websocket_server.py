"""A server on WebSockets through ours."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from upstream.peers.conftest import HERE, Fronts, connected, listening, run

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture
def server() -> Iterator[dict[str, Any]]:
    with listening({"command": sys.executable, "args": [str(HERE / "ws_server.py")]}) as url:
        yield {"url": url, "headers": {"Authorization": "Bearer open sesame"}}


def test_it_is_called_and_may_ask(sdk: Any, front: Fronts, server: dict[str, Any], mode: str):
    import mcp_types as types

    async def elicit(_: Any, params: Any) -> Any:
        return types.ElicitResult(action="accept", content={"text": params.message})

    async def work() -> None:
        async with connected(sdk, front({"ws": server}), mode, elicitation_callback=elicit) as client:
            await client.offered("mcp_ws_echo")
            long = "x" * 500_000
            assert await client.say("mcp_ws_echo", text=long) == long
            answer = json.loads(await client.say("mcp_ws_ask"))
            assert answer == {"action": "accept", "content": {"text": "what is it?"}}

    run(work())


def test_a_connection_that_is_dropped_fails_its_call_and_comes_back(sdk: Any, front: Fronts, server: dict[str, Any]):
    async def work() -> None:
        async with connected(sdk, front({"ws": server}), "legacy") as client:
            await client.offered("mcp_ws_drop")
            dropped = await client.client.call_tool("mcp_ws_drop", {})
            assert dropped.is_error
            assert "ws" in dropped.content[0].text
            assert await client.say("mcp_ws_echo", text="again") == "again"

    run(work())


def test_without_its_key_it_is_not_reached(sdk: Any, front: Fronts, server: dict[str, Any]):
    async def work() -> None:
        without = {"url": server["url"]}
        async with connected(sdk, front({"open": server, "shut": without}), "legacy") as client:
            tools = await client.offered("mcp_open_echo")
            assert "mcp_shut_echo" not in tools

    run(work())
