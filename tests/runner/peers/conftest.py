"""Real agents, led over ACP by the runner's own client, with a scripted model behind them."""

import asyncio
import json
import os
import shlex
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
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


def goose(url: str) -> dict[str, str]:
    return {
        "PATH": str(installed.node_modules() / "@aaif" / "goose-binary-linux-x64" / "bin"),
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted",
        "GOOSE_MODE": "approve",
        "GOOSE_DISABLE_KEYRING": "1",
        "OPENAI_HOST": url,
        "OPENAI_API_KEY": "none",
    }


def opencode(url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted", "tool_call": True, "limit": {"context": 100000, "output": 8000}}},
    }
    config = {
        "model": "local/scripted",
        "small_model": "local/scripted",
        "autoupdate": False,
        "share": "disabled",
        "enabled_providers": ["local"],
        "provider": {"local": provider},
        "permission": {"*": "ask"},
    }
    return {
        "PATH": str(installed.node_modules(HERE / "package.json") / "opencode-linux-x64" / "bin"),
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }


def claude(url: str) -> dict[str, str]:
    node = str(Path(installed.node()).parent)
    return {
        "PATH": os.pathsep.join([str(installed.node_modules(HERE / "package.json") / ".bin"), node]),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }


def copilot(url: str) -> dict[str, str]:
    return {
        "PATH": str(installed.node_modules(HERE / "package.json") / "@github" / "copilot-linux-x64"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "scripted",
    }


def codex(url: str) -> dict[str, str]:
    node = str(Path(installed.node()).parent)
    provider = {"name": "Scripted", "base_url": f"{url}/v1", "wire_api": "responses"}
    config = {"model": "scripted", "model_provider": "scripted", "model_providers": {"scripted": provider}}
    return {
        "PATH": os.pathsep.join([str(installed.node_modules(HERE / "package.json") / ".bin"), node]),
        "CODEX_CONFIG": json.dumps(config),
        "MODEL_PROVIDER": "scripted",
        "NO_BROWSER": "1",
    }


AGENTS = {"goose": goose, "opencode": opencode, "claude": claude, "copilot": copilot, "codex": codex}

LEAD_AGENTS = ("goose", "opencode", "claude")
"""Those that are led in every way; the others are in runs only."""

WRITES = {
    "goose": lambda path, text: models.use("write", path=path, content=text),
    "opencode": lambda path, text: models.use("write", filePath=path, content=text),
    "claude": lambda path, text: models.use("Write", file_path=path, content=text),
    "copilot": lambda path, text: models.use("create", path=path, file_text=text),
    "codex": lambda path, text: models.use("exec_command", cmd=f"printf '%s' {shlex.quote(text)} > {path}"),
}
"""How each writes a file by its own means."""


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
        env = AGENTS[name](model.url)
        env["PATH"] = os.pathsep.join([env["PATH"], os.environ["PATH"]])
        folders = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        self.env = {**place.env, **env, **folders, "HOME": str(self.home)}
        self.command = resolve_agent(name, environ=self.env)

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
    installed.node_modules(HERE / "package.json")


@pytest.fixture(params=LEAD_AGENTS)
def lead(request, tmp_path: Path, monkeypatch) -> Iterator[Lead]:
    """Afterwards no process of the agent is left."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv("STAGE", mark)
    monkeypatch.setenv("BN_PASS_ENV", "STAGE")
    place = Ground(str(tmp_path), mark, None)
    with models.playing(Led()) as model:
        yield Lead(request.param, place, model)
    servers = [pid for pid in place.stage.processes() if "fixture.py" in Path(f"/proc/{pid}/cmdline").read_text()]
    assert sorted(set(place.stage.processes()) - set(servers)) == []


@pytest.fixture
def tools() -> Iterator[Tools]:
    with Tools() as server:
        yield server


@pytest.fixture
def other_tools() -> Iterator[Tools]:
    with Tools() as server:
        yield server
