"""An agent that is led over ACP, on every kind of event loop, and nothing left of it afterwards."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from binnacle.processes.keeper import Keeper
from binnacle.runner.agents.acp_agent import AcpAgent, open_agent
from binnacle.runner.agents.acp_session import AcpSession
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.permissions import PermissionDecision, PermissionRequest, decide
from binnacle.runner.agents.turn import Turn
from binnacle.wire import acp
from processes.conftest import ground  # noqa: F401 - a fixture
from processes.ground import Ground

ROGUE = str(Path(__file__).with_name("rogue.py"))
LONG = 60.0
"""Seconds that no test needs."""


class Lead:
    """Leads the rogue."""

    def __init__(self, place: Ground) -> None:
        self.place = place
        self.run = place.run
        self.log = Path(place.cwd) / "logs" / "agent.log"
        self.updates: list[acp.Update] = []
        self.requests: list[PermissionRequest] = []
        self._heard = asyncio.Event()

    @asynccontextmanager
    async def agent(self, *flags: str, within: float = LONG, **env: str) -> AsyncIterator[AcpAgent]:
        command = AgentCommand(name="rogue", argv=(sys.executable, ROGUE, *flags), login="turn the key")
        given = {**self.place.env, **env}
        async with (
            Keeper() as keeper,
            open_agent(keeper, command, cwd=self.place.cwd, env=given, log=str(self.log), within=within) as agent,
        ):
            yield agent

    @asynccontextmanager
    async def session(self, *flags: str, **env: str) -> AsyncIterator[AcpSession]:
        async with self.agent(*flags, **env) as agent:
            yield await agent.open(servers=(), cwd=self.place.cwd)

    def do(self, *steps: str, flags: tuple[str, ...] = (), **options: Any) -> Turn:
        """One turn of a new agent."""

        async def work() -> Turn:
            async with self.session(*flags) as session:
                return await self.prompt(session, *steps, **options)

        return self.run(work())

    def prompt(self, session: AcpSession, *steps: str, **options: Any) -> Awaitable[Turn]:
        given = {"on_update": self.hear, "ask": self.allow, "silence": LONG, "within": LONG}
        return session.prompt("\n".join(steps), **(given | options))

    async def allow(self, request: PermissionRequest) -> PermissionDecision:
        self.requests.append(request)
        return decide(request, allow=True, by="test")

    async def wait_for_words(self, words: str) -> None:
        """Until the agent has said something. The bound is that of `run`."""
        while words not in self.said():
            self._heard.clear()
            await self._heard.wait()

    def hear(self, update: acp.Update) -> None:
        self.updates.append(update)
        self._heard.set()

    def said(self) -> str:
        return "".join(update.content.text or "" for update in self.updates if isinstance(update, acp.MessageChunk))


@pytest.fixture
def lead(ground: Ground) -> Lead:  # noqa: F811
    return Lead(ground)
