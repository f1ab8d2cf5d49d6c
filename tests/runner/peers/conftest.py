"""Real agents, led over ACP by the runner's own client, with a scripted model behind them."""

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from binnacle.config.clients.session_server import SESSION_SERVER
from binnacle.processes.keeper import Keeper
from binnacle.runner.agents.acp_agent import AcpAgent, open_agent
from binnacle.runner.agents.acp_session import AcpSession
from binnacle.runner.agents.agent_commands import resolve_agent
from binnacle.runner.agents.permissions import Approve, OwnTools, PermissionDecision, PermissionRequest, by_policy
from binnacle.runner.agents.turn import Turn
from binnacle.wire import acp
from processes.ground import Ground
from runner.peers import model as models
from runner.peers.agents import AGENTS, modules
from runner.peers.model import Json, Led
from server.clients import Http, new_call
from server.peers import installed

HERE = Path(__file__).parent
PATIENCE = 180.0
"""Seconds for anything one of these programs does on a machine that has other things to do."""

OWN = OwnTools(server=SESSION_SERVER, tools=("echo", "hold"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Any test here may be the first to ask for a peer, and then waits for its installation."""
    for item in items:
        if item.get_closest_marker("peers"):
            item.add_marker(pytest.mark.timeout(1200))


LEAD_AGENTS = ("goose", "opencode", "claude")
"""Those that are led in every way; the others are in runs only."""


class Lead:
    """Leads one kind of agent."""

    def __init__(self, name: str, place: Ground, model: Led) -> None:
        self.name = name
        self.place = place
        self.model = model
        self.home = Path(place.cwd)
        self.updates: list[acp.Update] = []
        self.decisions: list[tuple[PermissionRequest, PermissionDecision]] = []
        self.heard = asyncio.Event()
        self.agent_kind = AGENTS[name]
        env = self.agent_kind.env(model.url)
        env["PATH"] = os.pathsep.join([env["PATH"], os.environ["PATH"]])
        folders = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        self.env = {**place.env, **env, **folders, "HOME": str(self.home)}
        self.command = resolve_agent(name, environ=self.env)
        for file, text in self.agent_kind.files.items():
            path = self.home / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(self, work: Any) -> Any:
        async def limited() -> Any:
            async with asyncio.timeout(PATIENCE):
                return await work

        return asyncio.run(limited())

    def folder(self, name: str = "project") -> str:
        path = self.home / name
        path.mkdir(exist_ok=True)
        return str(path)

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[AcpAgent]:
        log = str(self.home / "agent.log")
        async with (
            Keeper() as keeper,
            open_agent(keeper, self.command, cwd=self.folder(), env=self.env, log=log) as agent,
        ):
            yield agent

    @asynccontextmanager
    async def session(self, *servers: acp.McpServer) -> AsyncIterator[AcpSession]:
        async with self.agent() as agent:
            yield await agent.open(servers=servers, cwd=self.folder())

    async def prompt(self, session: AcpSession, *steps: Json, approve: Approve = "none") -> Turn:
        policy = by_policy(approve, own=lambda: OWN)

        async def ask(request: PermissionRequest) -> PermissionDecision:
            decision = await policy(request)
            self.decisions.append((request, decision))
            return decision

        text = models.script(*steps)
        return await session.prompt(text, on_update=self.hear, ask=ask, silence=PATIENCE, within=PATIENCE)

    def hear(self, update: acp.Update) -> None:
        self.updates.append(update)
        self.heard.set()

    async def wait_for_words(self, words: str) -> None:
        while words not in self.said():
            self.heard.clear()
            await self.heard.wait()

    def said(self) -> str:
        return "".join(update.content.text or "" for update in self.updates if isinstance(update, acp.MessageChunk))


class Tools(Http):
    """A server with tools, and the token it wants."""

    def __init__(self) -> None:
        self.token = uuid.uuid4().hex
        super().__init__("--token", self.token)

    def server(self) -> acp.HttpMcpServer:
        header = acp.NameValue(name="Authorization", value=f"Bearer {self.token}")
        return acp.HttpMcpServer(name=SESSION_SERVER, url=self.url, headers=(header,))

    async def wait_until(self, name: str, state: str) -> None:
        """Until a held call is in a state."""
        message = new_call(1, "wait_until", name=name, state=state)
        await asyncio.to_thread(self.ask, message, authorization=f"Bearer {self.token}")


@pytest.fixture(scope="session", autouse=True)
def fetched() -> None:
    """Once, and before a test has a home of its own: what is fetched is kept in the person's."""
    installed.node_modules()
    modules()


@pytest.fixture(params=LEAD_AGENTS)
def lead(request, tmp_path: Path, monkeypatch) -> Iterator[Lead]:
    """Afterwards no process of the agent is left."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv("STAGE", mark)
    monkeypatch.setenv("BN_PASS_ENV", "STAGE")
    place = Ground(str(tmp_path), mark, None)
    with models.playing(Led()) as model:
        yield Lead(request.param, place, model)
    until = time.monotonic() + 20
    while (left := _left(place)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left


def _left(place: Ground) -> list[str]:
    """The processes of a test, without its server and what starts servers for all tests of this process."""
    found = []
    for pid in place.stage.processes():
        with suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_text())
    return [command for command in found if "fixture.py" not in command and "fork_server.py" not in command]


@pytest.fixture
def tools() -> Iterator[Tools]:
    with Tools() as server:
        yield server


@pytest.fixture
def other_tools() -> Iterator[Tools]:
    with Tools() as server:
        yield server
