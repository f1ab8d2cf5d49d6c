"""An agent written with the official Python SDK, which is strict about what it is sent. Its prompt says what to do."""

import asyncio
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    Agent,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    plan_entry,
    run_agent,
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)
from acp.schema import (
    AgentCapabilities,
    LoadSessionResponse,
    McpCapabilities,
    PermissionOption,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SetSessionConfigOptionResponse,
    ToolCallUpdate,
)


class Official(Agent):
    """Follows the specification."""

    def __init__(self) -> None:
        self._cancelled = asyncio.Event()
        self._model = "small"
        self._servers: list[Any] = []

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, **_: Any) -> InitializeResponse:
        capabilities = AgentCapabilities(load_session=True, mcp_capabilities=McpCapabilities(http=True))
        return InitializeResponse(protocol_version=PROTOCOL_VERSION, agent_capabilities=capabilities)

    def _options(self) -> list[Any]:
        models = [SessionConfigSelectOption(value=name, name=name) for name in ("small", "large")]
        option = {"id": "model", "name": "Model", "category": "model", "type": "select"}
        return [SessionConfigOptionSelect(**option, current_value=self._model, options=models)]

    async def new_session(self, mcp_servers: list[Any] | None = None, **_: Any) -> NewSessionResponse:
        self._servers = mcp_servers or []
        return NewSessionResponse(session_id="official", config_options=self._options())

    async def load_session(self, session_id: str, **_: Any) -> LoadSessionResponse:
        await self._say(session_id, "replayed")
        return LoadSessionResponse()

    async def set_config_option(self, value: Any, **_: Any) -> SetSessionConfigOptionResponse:
        self._model = value
        return SetSessionConfigOptionResponse(config_options=self._options())

    async def cancel(self, **_: Any) -> None:
        self._cancelled.set()

    async def _say(self, session_id: str, text: str) -> None:
        await self._client.session_update(session_id, update_agent_message_text(text))

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        await getattr(self, f"do_{prompt[0].text}")(session_id)
        stop_reason = "cancelled" if self._cancelled.is_set() else "end_turn"
        self._cancelled.clear()
        return PromptResponse(stop_reason=stop_reason)

    async def do_work(self, session_id: str) -> None:
        for update in (
            update_agent_thought_text("hm"),
            update_plan([plan_entry("one", status="in_progress")]),
            start_tool_call("c1", "Edit x", kind="edit", status="pending"),
        ):
            await self._client.session_update(session_id, update)
        call = ToolCallUpdate(tool_call_id="c1")
        options = [
            PermissionOption(option_id="y", name="Yes", kind="allow_once"),
            PermissionOption(option_id="n", name="No", kind="reject_once"),
        ]
        answer = await self._client.request_permission(session_id=session_id, tool_call=call, options=options)
        await self._client.session_update(session_id, update_tool_call("c1", status="completed"))
        servers = [(server.name, server.url, len(server.headers)) for server in self._servers]
        await self._say(session_id, f"{answer.outcome} {self._model} {servers}")

    async def do_wait(self, session_id: str) -> None:
        await self._say(session_id, "waiting")
        await self._cancelled.wait()


asyncio.run(run_agent(Official()))
