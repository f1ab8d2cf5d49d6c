"""The agent as ACP clients see it: sessions, turns, cancelling, loading."""

import asyncio
import contextlib
import os
from contextlib import AsyncExitStack
from typing import Any

from binnacle import __version__
from binnacle.errors import BinnacleError
from binnacle.processes.keeper import Keeper
from binnacle.wire import acp
from binnacle.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from binnacle.wire.mcp import decode_params
from scripted_agent import saved_sessions
from scripted_agent.client_reports import ClientReports
from scripted_agent.mcp_servers import Servers, connect_servers
from scripted_agent.saved_sessions import Exchange, SavedSession
from scripted_agent.stdio_peer import StdioPeer
from scripted_agent.task_execution import TaskExecutor
from scripted_agent.tools import Tools
from scripted_agent.turn import DO_NOT_COMMIT, Turn
from scripted_agent.work_tools import WorkTools

MODELS = acp.Models(
    current_model_id="script", available_models=(acp.Model(model_id="script", name="A script; there is no model"),)
)


class Session:
    """An open session. Closing it ends its connections."""

    def __init__(
        self, session_id: str, saved: SavedSession, servers: Servers, stack: AsyncExitStack, reports: ClientReports
    ) -> None:
        self.id = session_id
        self.saved = saved
        self.servers = servers
        self.reports = reports
        self.aclose = stack.aclose
        self.turn: asyncio.Task[Any] | None = None
        self.is_cancelled = False
        self.is_begun = False
        self.has_summary = False


class DemoAgent:
    """Answers an ACP client. Leaving `serve` ends every session and all that was started for it.

    Tests have a subclass that misbehaves in the public steps of a turn.
    """

    turn_type: type[Turn] = Turn

    def __init__(self, folder: str) -> None:
        """`folder` is where sessions are saved."""
        self._folder = folder
        self._keeper = Keeper()
        self._sessions: dict[str, Session] = {}
        self.peer = StdioPeer(self._answer, self._hear)

    async def serve(self) -> None:
        """Serves until the client closes our standard input."""
        async with self._keeper:
            try:
                await self.peer.serve()
            finally:
                for session in self._sessions.values():
                    await session.aclose()

    async def _answer(self, method: str, params: bytes) -> Any:
        match method:
            case acp.INITIALIZE:
                return self.initialize(decode_params(params, acp.Initialize))
            case acp.NEW:
                return await self._new(decode_params(params, acp.NewSession))
            case acp.LOAD:
                return await self._load(decode_params(params, acp.LoadSession))
            case acp.SET_MODEL:
                self._session(decode_params(params, acp.SetModel).session_id)
                return acp.Acknowledged()
            case acp.PROMPT:
                return await self._prompt(decode_params(params, acp.PromptRequest))
        raise RpcError(METHOD_NOT_FOUND, f"no such method: {method}")

    def _hear(self, method: str, params: bytes) -> None:
        if method == acp.CANCEL:
            with contextlib.suppress(RpcError):
                session = self._session(decode_params(params, acp.SessionReference).session_id)
                if session.turn is not None:
                    session.is_cancelled = True
                    session.turn.cancel()

    def initialize(self, asked: acp.Initialize) -> acp.Initialized:
        """Says what this agent can do."""
        return acp.Initialized(
            protocol_version=min(asked.protocol_version, acp.VERSION),
            agent_capabilities=acp.AgentCapabilities(
                load_session=True,
                prompt_capabilities=acp.PromptCapabilities(embedded_context=True),
                mcp_capabilities=acp.McpCapabilities(http=True),
            ),
            agent_info=acp.Implementation(name="demo-agent", title="Binnacle's demo agent", version=__version__),
            auth_methods=(),
        )

    async def _new(self, asked: acp.NewSession) -> acp.SessionOpened:
        session_id = f"demo-{os.urandom(6).hex()}"
        session = await self._open(session_id, asked, SavedSession(folder=asked.cwd))
        self._save(session)
        return acp.SessionOpened(session_id=session_id, models=MODELS)

    async def _load(self, asked: acp.LoadSession) -> acp.SessionOpened:
        saved = saved_sessions.load(self._folder, asked.session_id)
        if saved is None:
            raise RpcError(acp.RESOURCE_NOT_FOUND, f"no session {asked.session_id!r} was saved")
        if asked.session_id in self._sessions:
            await self._sessions.pop(asked.session_id).aclose()
        saved.folder = asked.cwd
        await self._open(asked.session_id, asked, saved)
        for exchange in saved.exchanges:
            for chunk in (
                acp.UserChunk(content=acp.text_block(exchange.prompt)),
                acp.MessageChunk(content=acp.text_block(exchange.said)),
            ):
                await self.peer.tell(acp.UPDATE, acp.SessionUpdate(session_id=asked.session_id, update=chunk))
        return acp.SessionOpened(models=MODELS)

    async def _open(self, session_id: str, asked: acp.NewSession, saved: SavedSession) -> Session:
        if not os.path.isabs(asked.cwd) or not os.path.isdir(asked.cwd):
            raise RpcError(INVALID_PARAMS, f"not a folder: {asked.cwd!r}")
        stack = AsyncExitStack()
        try:
            opening = connect_servers(acp.servers_of(asked), keeper=self._keeper, folder=asked.cwd)
            servers = await stack.enter_async_context(opening)
        except BinnacleError as error:
            raise RpcError(INTERNAL_ERROR, error.message) from error
        session = Session(session_id, saved, servers, stack, self._reports(session_id))
        self._sessions[session_id] = session
        return session

    def _reports(self, session_id: str) -> ClientReports:
        async def send(update: acp.KnownUpdate) -> None:
            await self.peer.tell(acp.UPDATE, acp.SessionUpdate(session_id=session_id, update=update))

        async def ask(request: acp.RequestPermission) -> acp.Permission:
            try:
                return decode_params(await self.peer.ask(acp.REQUEST_PERMISSION, request), acp.Permission)
            except RpcError:  # who cannot answer has not allowed it
                return acp.Permission(outcome=acp.PermissionCancelled())

        return ClientReports(session_id, send, ask)

    def _session(self, session_id: str) -> Session:
        if (found := self._sessions.get(session_id)) is None:
            raise RpcError(INVALID_PARAMS, f"no session {session_id!r} is open here")
        return found

    async def _prompt(self, asked: acp.PromptRequest) -> acp.PromptAnswer:
        session = self._session(asked.session_id)
        if session.turn is not None:
            raise RpcError(INVALID_REQUEST, f"session {session.id} is in a turn already")
        turn = session.turn = asyncio.current_task()
        assert turn is not None
        session.is_cancelled = False
        session.reports.said = []
        text = "\n".join(_text(block) for block in asked.prompt)
        session.reports.taken += len(text.encode())
        try:
            await self.take_turn(session, text)
            reason: acp.StopReason = "end_turn"
        except asyncio.CancelledError:
            if not session.is_cancelled:
                raise
            turn.uncancel()
            reason = "cancelled"
        finally:
            session.turn = None
            session.saved.exchanges.append(Exchange(text, "\n".join(session.reports.said)))
            self._save(session)
        return acp.PromptAnswer(stop_reason=reason, usage=await session.reports.used())

    async def pace(self) -> None:
        """Waited for before every step."""

    async def take_turn(self, session: Session, text: str) -> None:
        """Does what a prompt asks for."""
        tools = Tools(session.servers, session.reports, self.pace)

        def remember(name: str) -> None:
            session.saved.name = name
            self._save(session)

        turn = self.turn_type(
            text,
            work=WorkTools(tools),
            executor=TaskExecutor(
                folder=session.saved.folder, keeper=self._keeper, tools=tools, reports=session.reports, pace=self.pace
            ),
            reports=session.reports,
            name=session.saved.name,
            may_commit=DO_NOT_COMMIT not in (session.saved.exchanges[0].prompt if session.saved.exchanges else text),
            remember=remember,
        )
        is_whole = not session.is_begun or any(f"\n## {word}" in text for word in ("Instructions", "Workflow"))
        session.is_begun = True
        await (turn.begin() if is_whole else turn.reply(has_summary=session.has_summary))
        session.has_summary |= turn.has_summary

    def _save(self, session: Session) -> None:
        saved_sessions.save(self._folder, session.id, session.saved)


def _text(block: acp.ContentBlock) -> str:
    """The text in a block of a prompt, also of a file that is embedded."""
    if block.text is not None:
        return block.text
    resource = block.resource if isinstance(block.resource, dict) else {}
    return str(resource.get("text", ""))
