"""The agent as ACP clients see it: sessions, turns, cancelling, loading."""

import asyncio
import contextlib
import os
from contextlib import AsyncExitStack
from typing import Any

from binnacle import __version__
from binnacle.demo_agent import memory
from binnacle.demo_agent.doing import Doing
from binnacle.demo_agent.memory import Exchange, Kept
from binnacle.demo_agent.misbehaviour import Misbehaviour
from binnacle.demo_agent.peer import Peer
from binnacle.demo_agent.script import Turn
from binnacle.demo_agent.servers import Servers, connected
from binnacle.demo_agent.telling import Telling
from binnacle.demo_agent.tools import Tools
from binnacle.demo_agent.work import Work
from binnacle.errors import BinnacleError
from binnacle.processes.keeper import Keeper
from binnacle.wire import acp
from binnacle.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from binnacle.wire.mcp import decode_params

MODELS = acp.Models(
    current_model_id="script", available_models=(acp.Model(model_id="script", name="A script; there is no model"),)
)
FLOOD = 100_000_000
LONG_LINE = 40 << 20


class Session:
    """An open session. Closing it ends its connections."""

    def __init__(self, session_id: str, kept: Kept, servers: Servers, stack: AsyncExitStack, telling: Telling) -> None:
        self.id = session_id
        self.kept = kept
        self.servers = servers
        self.telling = telling
        self.aclose = stack.aclose
        self.turn: asyncio.Task[Any] | None = None
        self.is_cancelled = False
        self.is_begun = False
        self.has_summary = False


class DemoAgent:
    """Answers an ACP client. Leaving `serve` ends every session and all that was started for it."""

    def __init__(self, misbehaviour: Misbehaviour, folder: str) -> None:
        """`folder` is where sessions are kept."""
        self._misbehaviour = misbehaviour
        self._folder = folder
        self._keeper = Keeper()
        self._sessions: dict[str, Session] = {}
        self._peer = Peer(self._answer, self._hear)

    async def serve(self) -> None:
        """Serves until the client closes our standard input."""
        async with self._keeper:
            try:
                await self._peer.serve()
            finally:
                for session in self._sessions.values():
                    await session.aclose()

    async def _answer(self, method: str, params: bytes) -> Any:
        match method:
            case acp.INITIALIZE:
                return self._initialize(decode_params(params, acp.Initialize))
            case acp.NEW:
                return await self._new(decode_params(params, acp.NewSession))
            case acp.LOAD:
                return await self._load(decode_params(params, acp.LoadSession))
            case acp.SET_MODEL:
                self._session(decode_params(params, acp.SetModel).session_id)
                return acp.Done()
            case acp.PROMPT:
                return await self._prompt(decode_params(params, acp.Prompt))
        raise RpcError(METHOD_NOT_FOUND, f"no such method: {method}")

    def _hear(self, method: str, params: bytes) -> None:
        if method == acp.CANCEL:
            with contextlib.suppress(RpcError):
                session = self._session(decode_params(params, acp.OfSession).session_id)
                if session.turn is not None:
                    session.is_cancelled = True
                    session.turn.cancel()

    def _initialize(self, asked: acp.Initialize) -> acp.Initialized:
        self._misbehaviour.at_initialize()
        return acp.Initialized(
            protocol_version=min(asked.protocol_version, acp.VERSION),
            agent_capabilities=acp.AgentCapabilities(
                load_session=True,
                prompt_capabilities=acp.PromptCapabilities(embedded_context=True),
                mcp_capabilities=acp.McpCapabilities(http=os.environ.get("BN_DEMO_TRANSPORTS") != "stdio"),
            ),
            agent_info=acp.Implementation(name="bn-demo-agent", title="Binnacle's demo agent", version=__version__),
            auth_methods=(),
        )

    async def _new(self, asked: acp.NewSession) -> acp.Opened:
        session_id = f"demo-{os.urandom(6).hex()}"
        session = await self._open(session_id, asked, Kept(folder=asked.cwd))
        self._keep(session)
        return acp.Opened(session_id=session_id, models=MODELS)

    async def _load(self, asked: acp.LoadSession) -> acp.Opened:
        kept = memory.recall(self._folder, asked.session_id)
        if kept is None:
            raise RpcError(acp.RESOURCE_NOT_FOUND, f"no session {asked.session_id!r} was kept")
        if asked.session_id in self._sessions:
            await self._sessions.pop(asked.session_id).aclose()
        kept.folder = asked.cwd
        await self._open(asked.session_id, asked, kept)
        for exchange in kept.exchanges:
            for chunk in (
                acp.UserChunk(content=acp.text_block(exchange.prompt)),
                acp.MessageChunk(content=acp.text_block(exchange.said)),
            ):
                await self._peer.tell(acp.UPDATE, acp.Notice(session_id=asked.session_id, update=chunk))
        return acp.Opened(models=MODELS)

    async def _open(self, session_id: str, asked: acp.NewSession, kept: Kept) -> Session:
        if not os.path.isabs(asked.cwd) or not os.path.isdir(asked.cwd):
            raise RpcError(INVALID_PARAMS, f"not a folder: {asked.cwd!r}")
        stack = AsyncExitStack()
        try:
            opening = connected(acp.servers_of(asked), keeper=self._keeper, folder=asked.cwd)
            servers = await stack.enter_async_context(opening)
        except BinnacleError as error:
            raise RpcError(INTERNAL_ERROR, error.message) from error
        session = Session(session_id, kept, servers, stack, self._telling(session_id))
        self._sessions[session_id] = session
        return session

    def _telling(self, session_id: str) -> Telling:
        async def send(update: acp.KnownUpdate) -> None:
            await self._peer.tell(acp.UPDATE, acp.Notice(session_id=session_id, update=update))

        async def ask(request: acp.RequestPermission) -> acp.Permission:
            try:
                return decode_params(await self._peer.ask(acp.REQUEST_PERMISSION, request), acp.Permission)
            except RpcError:  # who cannot answer has not allowed it
                return acp.Permission(outcome=acp.Cancelled())

        return Telling(session_id, send, ask)

    def _session(self, session_id: str) -> Session:
        if (found := self._sessions.get(session_id)) is None:
            raise RpcError(INVALID_PARAMS, f"no session {session_id!r} is open here")
        return found

    async def _prompt(self, asked: acp.Prompt) -> acp.Prompted:
        session = self._session(asked.session_id)
        if session.turn is not None:
            raise RpcError(INVALID_REQUEST, f"session {session.id} is in a turn already")
        turn = session.turn = asyncio.current_task()
        assert turn is not None
        session.is_cancelled = False
        session.telling.said = []
        text = "\n".join(_text(block) for block in asked.prompt)
        session.telling.taken += len(text.encode())
        try:
            await self._misbehaviour_at_prompt(session)
            if not self._misbehaviour.asks_for("no-op"):
                await self._turn(session, text)
            reason: acp.StopReason = "end_turn"
        except asyncio.CancelledError:
            if not session.is_cancelled:
                raise
            turn.uncancel()
            reason = "cancelled"
        finally:
            session.turn = None
            session.kept.exchanges.append(Exchange(text, "\n".join(session.telling.said)))
            self._keep(session)
        return acp.Prompted(stop_reason=reason, usage=await session.telling.used())

    async def _turn(self, session: Session, text: str) -> None:
        pace = self._misbehaviour.at_step
        tools = Tools(session.servers, session.telling, pace)
        if self._misbehaviour.asks_for("loop"):
            while True:
                await tools.use("task-update", "task_update", id="bn-ffffffff", status="done")

        def remember(name: str) -> None:
            session.kept.name = name
            self._keep(session)

        turn = Turn(
            text,
            work=Work(tools),
            doing=Doing(
                folder=session.kept.folder, keeper=self._keeper, tools=tools, telling=session.telling, pace=pace
            ),
            telling=session.telling,
            misbehaviour=self._misbehaviour,
            name=session.kept.name,
            remember=remember,
        )
        is_whole = not session.is_begun or any(f"\n## {word}" in text for word in ("Instructions", "Workflow"))
        session.is_begun = True
        await (turn.begin() if is_whole else turn.reply(has_summary=session.has_summary))
        session.has_summary |= turn.has_summary

    def _keep(self, session: Session) -> None:
        memory.keep(self._folder, session.id, session.kept)

    async def _misbehaviour_at_prompt(self, session: Session) -> None:
        self._misbehaviour.next_turn()
        await self._misbehaviour.at_prompt(self._peer.write)
        if flood := self._misbehaviour.asks_for("flood"):
            size = LONG_LINE if flood.argument == "line" else 64 << 10
            chunk = acp.MessageChunk(content=acp.text_block("x" * size))
            for _ in range(1 if flood.argument == "line" else FLOOD // size):
                await self._peer.tell(acp.UPDATE, acp.Notice(session_id=session.id, update=chunk))


def _text(block: acp.Content) -> str:
    """The text in a block of a prompt, also of a file that is embedded."""
    if block.text is not None:
        return block.text
    resource = block.resource if isinstance(block.resource, dict) else {}
    return str(resource.get("text", ""))
