"""An agent made with the official SDK understands everything we say, and we what it says."""

import asyncio
import os
import sys
import uuid
from pathlib import Path

import pytest

from binnacle.processes.keeper import Keeper
from binnacle.runner.agents.acp_agent import open_agent
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.permissions import OwnTools, by_policy
from binnacle.wire import acp
from runner.peers.conftest import HERE
from server.peers import installed

pytestmark = pytest.mark.peers

AGENT = str(Path(__file__).with_name("sdk_agent.py"))
SERVER = acp.HttpMcpServer(name="binnacle", url="http://127.0.0.1:1/mcp", headers=(acp.NameValue(name="A", value="b"),))


@pytest.fixture(scope="session")
def packages() -> str:
    return str(installed.python_packages(HERE / "requirements.txt"))


def test_every_message_of_a_session_is_understood(packages: str, tmp_path: Path):
    command = AgentCommand(name="official", argv=(sys.executable, AGENT))
    env = {**os.environ, "PYTHONPATH": packages, "STAGE": uuid.uuid4().hex}
    heard: list[acp.Update] = []
    said_so = asyncio.Event()

    def hear(update: acp.Update) -> None:
        heard.append(update)
        if isinstance(update, acp.MessageChunk) and update.content.text == "waiting":
            said_so.set()

    ask = by_policy("edits", own=lambda: OwnTools(server="binnacle", tools=("echo",)))
    given = {"on_update": hear, "ask": ask, "silence": 60, "within": 60}

    async def work() -> None:
        async with (
            asyncio.timeout(100),
            Keeper() as keeper,
            open_agent(keeper, command, cwd=str(tmp_path), env=env, log=str(tmp_path / "log" / "agent.log")) as agent,
        ):
            session = await agent.open(servers=[SERVER], cwd=str(tmp_path), model="large")
            turn = await session.prompt("work", **given)
            assert "option_id='y'" in turn.text
            assert "large [('binnacle', 'http://127.0.0.1:1/mcp', 1)]" in turn.text
            kinds = [type(update).__name__ for update in heard]
            assert kinds == ["ThoughtChunk", "Plan", "ToolCallStarted", "ToolCallChanged", "MessageChunk"]
            waiting = asyncio.create_task(session.prompt("wait", **given))
            await said_so.wait()
            assert await session.cancel()
            assert (await waiting).stop_reason == "cancelled"
            assert (await agent.open(servers=[SERVER], cwd=str(tmp_path), resume="official")).was_loaded

    asyncio.run(work())
