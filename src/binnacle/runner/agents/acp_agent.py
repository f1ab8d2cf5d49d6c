"""Starts an agent, exchanges capabilities, opens sessions in it, and ends it."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from binnacle import __version__
from binnacle.errors import AgentEnded, AgentError, AgentLimited, AgentLogin, AgentProtocol, AgentSilent
from binnacle.processes.keeper import Keeper
from binnacle.runner.agents import agent_failures
from binnacle.runner.agents.acp_connection import AcpConnection
from binnacle.runner.agents.acp_session import AcpSession
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.agent_process import DRAIN_SECONDS, AgentProcess, start_process
from binnacle.runner.agents.codex import takes_servers_by_variable
from binnacle.wire import acp
from binnacle.wire.jsonrpc import METHOD_NOT_FOUND, UNREADABLE, RpcError
from binnacle.wire.mcp import decode_params

START_TIMEOUT_SECONDS = 60.0
"""Seconds for the first answer of an agent. Some unpack or update themselves first."""

OPEN_TIMEOUT_SECONDS = 120.0
"""Seconds for a session to be opened, with its MCP servers connected."""

TRY_NEWER = "try a newer version of it"

CLIENT_INFO = acp.Implementation(name="binnacle", title="Binnacle", version=__version__)

T = TypeVar("T")


class AcpAgent:
    """A running agent with its capabilities."""

    def __init__(self, command: AgentCommand) -> None:
        self._command = command
        self._process: AgentProcess | None = None
        self._sessions: dict[str, AcpSession] = {}
        self._connection = AcpConnection(
            command.name, send=self._send, hear=self._hear, answer=self._answer, note=self._note
        )
        self.info: acp.Implementation | None = None
        """Its name and version, if it sends them."""

        self.capabilities = acp.AgentCapabilities()
        self.login_methods: tuple[acp.AuthMethod, ...] = ()

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self._process is not None
        return self._process.pid

    async def open(
        self,
        *,
        servers: Sequence[acp.McpServer],
        cwd: str,
        resume: str | None = None,
        model: str | None = None,
        within: float = OPEN_TIMEOUT_SECONDS,
    ) -> AcpSession:
        """Opens a session in a folder with MCP servers; resumes the session `resume` if the agent can.

        Of two servers with one name, the agent gets the one it can use: HTTP before one that it has to start.

        Raises:
            AgentError: it did not open one; the message says why.
            InvalidInput: it has no such model.
        """
        is_given = takes_servers_by_variable(self._command, self.info)
        chosen = () if is_given else self._reachable(servers)
        found = await self._load(resume, chosen, cwd, within) if resume else ""
        session = await self._new(chosen, cwd, within, not_loaded=found) if isinstance(found, str) else found
        self._sessions[session.id] = session
        if wanted := model or self._command.model:
            await session.set_model(wanted)
        return session

    async def start(self, keeper: Keeper, *, cwd: str, env: Mapping[str, str], log: str) -> None:
        """Starts the program.

        Raises:
            AgentStart: it did not start; the message says why.
        """
        command = self._command
        hint = f"install it: {command.install}" if command.install else "check the command"
        self._process = await start_process(
            keeper,
            command.argv,
            env={**env, **command.env},
            cwd=cwd,
            log=log,
            take=self._connection.feed,
            hint=hint,
        )

    async def greet(self, *, within: float) -> None:
        """Sends `initialize`, and takes the agent's capabilities."""
        params = acp.Initialize(
            protocol_version=acp.VERSION, client_capabilities=acp.ClientCapabilities(), client_info=CLIENT_INFO
        )
        answer = await self._ask(acp.INITIALIZE, params, acp.Initialized, doing="its start", within=within)
        if answer.protocol_version != acp.VERSION:
            message = f"{self._command.name} speaks version {answer.protocol_version} of ACP, not {acp.VERSION}"
            raise AgentProtocol(message, hint=TRY_NEWER)
        self.info = answer.agent_info
        self.capabilities = answer.agent_capabilities or self.capabilities
        self.login_methods = answer.auth_methods or ()

    async def watch(self) -> None:
        """Waits until the agent ends or must be ended, and fails all waiting requests with the reason."""
        assert self._process is not None
        process = self._process
        exited = asyncio.ensure_future(process.wait())
        try:
            ends: list[asyncio.Future[Any]] = [exited, process.drained]
            await asyncio.wait([*ends, self._connection.failed], return_when=asyncio.FIRST_COMPLETED)
            if self._connection.failed.done():
                await process.end(grace=0)
                return
            await asyncio.wait(ends, timeout=DRAIN_SECONDS)
            self._connection.fail(self._describe_end(exited))
        finally:
            exited.cancel()

    async def stop(self) -> None:
        """Cancels its turn and waits for that, within a bound."""
        await asyncio.gather(*(session.cancel() for session in self._sessions.values()))

    async def end(self) -> None:
        """Ends its process with everything it started."""
        if self._process is not None:
            await self._process.end()
        await self._connection.aclose()

    def _describe_end(self, exited: "asyncio.Future[int]") -> AgentError:
        assert self._process is not None
        if exited.done():
            return agent_failures.error_of_end(self._command, exited.result(), self._process.log.tail())
        return AgentProtocol(f"{self._command.name} closed its output and is still running", hint=self._command.try_it)

    def _reachable(self, servers: Sequence[acp.McpServer]) -> tuple[acp.McpServer, ...]:
        has_http = bool(self.capabilities.mcp_capabilities and self.capabilities.mcp_capabilities.http)
        chosen: dict[str, acp.McpServer] = {}
        for server in servers:
            is_http = isinstance(server, acp.HttpMcpServer)
            if (has_http or not is_http) and (server.name not in chosen or is_http):
                chosen[server.name] = server
        if missing := {server.name for server in servers} - set(chosen):
            message = f"{self._command.name} does not take MCP servers over HTTP: {', '.join(sorted(missing))}"
            raise AgentError(message, hint="try a newer version of it, or another agent")
        return tuple(chosen.values())

    async def _new(self, servers: tuple[acp.McpServer, ...], cwd: str, within: float, *, not_loaded: str) -> AcpSession:
        params = acp.NewSession(cwd=cwd, mcp_servers=servers, meta=self._session_meta())
        opened = await self._ask(acp.NEW, params, acp.SessionOpened, doing="opening a session", within=within)
        if opened.session_id is None:
            raise AgentProtocol(f"{self._command.name} opened a session without an id", hint=TRY_NEWER)
        return AcpSession(self._command, self._connection, opened, session_id=opened.session_id, not_loaded=not_loaded)

    async def _load(
        self, session_id: str, servers: tuple[acp.McpServer, ...], cwd: str, within: float
    ) -> AcpSession | str:
        """The session, or why it cannot be loaded. What it replays was recorded before, and is ignored."""
        if not self.capabilities.load_session:
            return f"{self._command.name} does not load sessions"
        params = acp.LoadSession(session_id=session_id, cwd=cwd, mcp_servers=servers, meta=self._session_meta())
        try:
            opened = await self._ask(acp.LOAD, params, acp.SessionOpened, doing="loading the session", within=within)
        except (AgentLogin, AgentLimited, AgentEnded, AgentSilent):
            raise
        except AgentError as error:
            return error.message
        return AcpSession(self._command, self._connection, opened, session_id=session_id, was_loaded=True)

    def _session_meta(self) -> dict[str, Any] | UnsetType:
        return dict(self._command.session_meta) or UNSET

    async def _ask(self, method: str, params: object, kind: type[T], *, doing: str, within: float) -> T:
        try:
            answer = await self._connection.ask(method, params, within=within)
            return msgspec.json.decode(b"{}" if answer == b"null" else answer, type=kind)
        except RpcError as error:
            raise agent_failures.error_of_answer(self._command, error, doing=doing, login=self.login_methods) from error
        except UNREADABLE as error:
            message = f"{self._command.name} answered {method} in an unknown way: {error}"
            raise AgentProtocol(message, hint=TRY_NEWER) from error

    def _send(self, data: bytes) -> None:
        assert self._process is not None
        if not self._process.send(data):
            # Mostly because it has ended; then `watch` soon knows more.
            error = AgentProtocol(f"{self._command.name} takes no more input", hint=self._command.try_it)
            asyncio.get_running_loop().call_later(DRAIN_SECONDS, self._connection.fail, error)

    def _note(self, line: bytes) -> None:
        assert self._process is not None
        self._process.log.write(b"(on its output, no message) " + line[:500] + b"\n")

    def _hear(self, method: str, params: bytes) -> None:
        if method != acp.UPDATE:
            return
        session_id, update = acp.read_session_update(params)
        if session := self._sessions.get(session_id):
            session.hear(update)

    async def _answer(self, method: str, params: bytes) -> Any:
        if method != acp.REQUEST_PERMISSION:
            # We offered the agent neither files nor terminals.
            raise RpcError(METHOD_NOT_FOUND, f"method not found: {method}")
        request = decode_params(params, acp.RequestPermission)
        session = self._sessions.get(request.session_id)
        return await session.permit(request) if session else acp.Permission(outcome=acp.PermissionCancelled())


@asynccontextmanager
async def open_agent(
    keeper: Keeper,
    command: AgentCommand,
    *,
    cwd: str,
    env: Mapping[str, str],
    log: str,
    within: float = START_TIMEOUT_SECONDS,
) -> AsyncIterator[AcpAgent]:
    """Starts an agent with this environment; it must answer within `within` seconds.

    Its standard error goes to `log`, whose size is bounded.

    Leaving the block cancels the agent's turn and ends it with everything it started: its input is closed, then it is
    asked to end, then it is killed.

    Raises:
        AgentError: it did not start, or did not answer as it should.
    """
    agent = AcpAgent(command)
    watching: asyncio.Task[None] | None = None
    try:
        await agent.start(keeper, cwd=cwd, env=env, log=log)
        watching = asyncio.get_running_loop().create_task(agent.watch())
        await agent.greet(within=within)
        yield agent
    finally:
        try:
            await agent.stop()
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.wait([watching])
            await agent.end()
