"""The official Python SDK's client debugs a program, in both eras."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bridge.agent import Bench
from server.peers.conftest import BN, Target
from server.peers.test_sdk import client_of, run

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture(params=["legacy", "auto"])
def mode(request) -> str:
    return request.param


class Sdk:
    """A client of ours, by its own."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def data(self, tool: str, /, **arguments: Any) -> Any:
        found = await self._client.call_tool(tool, arguments)
        assert not found.is_error, found
        return found.structured_content["data"]

    async def error(self, tool: str, /, **arguments: Any) -> Any:
        found = await self._client.call_tool(tool, arguments)
        assert found.is_error, found
        return found.structured_content["error"]

    async def tools(self) -> set[str]:
        return {one.name for one in (await self._client.list_tools()).tools}


@asynccontextmanager
async def connected(sdk: Any, desk: Bench, mode: str) -> AsyncIterator[Sdk]:
    target = Target("", [BN, "mcp", "serve", "--recipe", "debug"], str(desk.workspace), desk.bn.env)
    async with client_of(sdk, target, mode) as client:
        yield Sdk(client)


def test_a_program_is_debugged(sdk: Any, desk: Bench, mode: str):
    async def work() -> None:
        async with connected(sdk, desk, mode) as agent:
            assert {"breakpoint_set", "debug_start", "debug_evaluate"} <= await agent.tools()
            assert (await agent.error("debug_evaluate", expression="amount"))["code"] == "E_NO_SESSION"
            assert (await agent.error("breakpoint_add", path="shop.py", line="four"))["code"] == "E_INVALID_PARAMS"
            await agent.data("breakpoint_add", path="shop.py", line=4)
            stopped = await agent.data("debug_start", program="shop.py")
            frame = stopped["frames"][0]["id"]
            assert (await agent.data("debug_evaluate", expression="price", frameId=frame))["result"] == "2"
            assert (await agent.data("debug_stop"))["state"] == "terminated"

    run(work())


def test_waiting_times_out_and_can_be_cancelled(sdk: Any, desk: Bench, mode: str):
    async def work() -> None:
        async with connected(sdk, desk, mode) as agent:
            await agent.data("debug_start", program="endless.py", wait=False)
            assert (await agent.error("debug_wait_for_hit", timeoutMs=100))["code"] == "E_TIMEOUT"
            waiting = asyncio.create_task(agent.data("debug_wait_for_hit", timeoutMs=60_000))
            execute = desk.workspace / ".vsc-bridge" / "execute"
            while not os.listdir(execute):  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.005)
            waiting.cancel()
            await asyncio.wait([waiting])
            while os.listdir(execute):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            assert (await agent.data("debug_pause"))["state"] == "paused"

    run(work())
