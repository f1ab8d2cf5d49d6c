"""Serves a catalog: its tools, resources and prompts."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import DecodeError, Raw
from msgspec.json import decode, encode

from binnacle import __version__
from binnacle.errors import BinnacleError
from binnacle.server.live_session import PREFIX
from binnacle.server.provider import Result
from binnacle.server.request import McpRequest, Peer
from binnacle.server.served_project import ServedProject
from binnacle.server.session_lookup import Sessions
from binnacle.tools.caller import Caller
from binnacle.tools.long_calls import LONG_CALLS
from binnacle.tools.outcome import failed
from binnacle.wire.jsonrpc import INVALID_PARAMS, RpcError
from binnacle.wire.mcp import (
    HEADER_MARK,
    RESOURCE_NOT_FOUND,
    CallParams,
    CompleteParams,
    ListParams,
    PromptParams,
    ReadParams,
)
from binnacle.wire.mcp_tasks import HANDSHAKE_CAPABILITY, HANDSHAKE_VERSION_WITH_TASKS, TOOL_SUPPORT


class ServedResource(NamedTuple):
    """A resource of our own."""

    uri: str
    name: str
    description: str
    mime_type: str
    read: Callable[[ServedProject, Caller], Awaitable[str | None]]
    """Its text in the client's project; None if there is none now."""


class ServedPrompt(NamedTuple):
    """A text for an agent to start with."""

    name: str
    description: str
    text: Callable[[], str]


class CatalogProvider:
    """What `bn mcp serve` offers."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        resources: tuple[ServedResource, ...] = (),
        prompts: Callable[[], Iterable[ServedPrompt]] = tuple,
    ) -> None:
        """`sessions` find the session and project of a call, and so the tools it may call."""
        self.sessions = sessions
        self._resources = {one.uri: one for one in resources}
        self._find_prompts = prompts
        self._marked: tuple[bytes, dict[str, dict[str, Any]]] = (b"", {})
        """The list of tools that was searched for marks, and their schemas."""

        self._with_tasks = (b"", b"")
        """A list of tools, and the same list with those that may become tasks."""

        self.info: dict[str, Any] = {"name": "binnacle", "title": "Binnacle", "version": __version__}
        self.capabilities: dict[str, Any] = {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
            **HANDSHAKE_CAPABILITY,
        }

    @property
    def instructions(self) -> str:
        return self.sessions.home.instructions()

    def marked_schema(self, tool: str) -> Mapping[str, Any]:
        listing = self.sessions.home.listing()
        if listing is not self._marked[0]:
            found = decode(listing) if HEADER_MARK.encode() in listing else ()
            self._marked = (listing, {one["name"]: one["inputSchema"] for one in found})
        return self._marked[1].get(tool, {})

    async def list_tools(self, call: McpRequest, params: ListParams) -> Result:
        if params.cursor is not None:
            raise RpcError(INVALID_PARAMS, f"no such page: {params.cursor!r}")
        project = self.sessions.look(call)
        listing = project.listing_with_session() if self.sessions.needs_handle(call) else project.listing()
        if call.era == "handshake" and call.peer.version == HANDSHAKE_VERSION_WITH_TASKS:
            if listing is not self._with_tasks[0]:
                self._with_tasks = (listing, _with_task_support(listing))
            listing = self._with_tasks[1]
        return {"tools": Raw(listing)}

    def is_long(self, tool: str) -> bool:
        return tool in LONG_CALLS

    async def call_tool(self, call: McpRequest, params: CallParams) -> Result:
        raw = bytes(params.arguments)
        handle, raw = take_handle(params.name, raw) if SESSION_KEY in raw else (None, raw)
        try:
            session, caller = await self.sessions.find(call, handle)
        except BinnacleError as error:
            return failed(error, seconds=0, prefix=True, hint=error.hint).to_mcp()
        return (await session.project.call(params.name, raw, caller)).to_mcp()

    async def leave(self, peer: Peer) -> None:
        await self.sessions.end(peer, reason="the client closed its connection")

    async def list_resources(self, call: McpRequest, params: ListParams) -> Result:  # noqa: ARG002
        foreign = self.sessions.look(call).foreign_content()
        own = [
            {"uri": one.uri, "name": one.name, "description": one.description, "mimeType": one.mime_type}
            for one in self._resources.values()
        ]
        others = (entry for uri, entry in foreign.resources().items() if uri not in self._resources)
        return {"resources": [*own, *others]}

    async def list_templates(self, call: McpRequest, params: ListParams) -> Result:  # noqa: ARG002
        return {"resourceTemplates": list(self.sessions.look(call).foreign_content().templates().values())}

    async def read_resource(self, call: McpRequest, params: ReadParams) -> Result:
        found = self._resources.get(params.uri)
        session, caller = await self.sessions.find(call)
        project = session.project
        if found is None and (result := await project.foreign_content().read(params.uri, caller)) is not None:
            return result
        text = await found.read(project, caller) if found else None
        if found is None or text is None:
            code = INVALID_PARAMS if call.era == "stateless" else RESOURCE_NOT_FOUND
            raise RpcError(code, f"no resource {params.uri!r}", {"uri": params.uri})
        return {"contents": [{"uri": found.uri, "mimeType": found.mime_type, "text": text}]}

    async def list_prompts(self, call: McpRequest, params: ListParams) -> Result:  # noqa: ARG002
        own = ({"name": one.name, "description": one.description} for one in self._find_prompts())
        return {"prompts": [*own, *self.sessions.look(call).foreign_content().prompts().values()]}

    async def get_prompt(self, call: McpRequest, params: PromptParams) -> Result:
        prompts = {one.name: one for one in self._find_prompts()}
        found = prompts.get(params.name)
        if found is None:
            session, caller = await self.sessions.find(call)
            result = await session.project.foreign_content().prompt(params.name, params.arguments, caller)
            if result is not None:
                return result
            raise RpcError(INVALID_PARAMS, f"no prompt {params.name!r}; one of: {', '.join(prompts)}")
        message = {"role": "user", "content": {"type": "text", "text": found.text()}}
        return {"description": found.description, "messages": [message]}

    async def complete(self, call: McpRequest, params: CompleteParams) -> Result:
        """Names of our prompts and resources that begin with the typed text, or an upstream server's completion."""
        session, caller = await self.sessions.find(call)
        if (result := await session.project.foreign_content().complete(params, caller)) is not None:
            return result
        prompts = params.ref.type == "ref/prompt"
        names = [one.name for one in self._find_prompts()] if prompts else list(self._resources)
        found = [name for name in names if name.startswith(params.argument.value)][:100]
        return {"completion": {"values": found, "total": len(found), "hasMore": False}}

    async def follow(self, uris: frozenset[str]) -> None:
        await self.sessions.home.foreign_content().follow(uris)


def _with_task_support(listing: bytes) -> bytes:
    """A list of tools in which those whose calls may become tasks say so, as 2025-11-25 has it."""
    tools = decode(listing, type=list[dict[str, Raw]])
    return encode([{**one, **TOOL_SUPPORT} if decode(one["name"]) in LONG_CALLS else one for one in tools])


SESSION_KEY = b'"session"'


def take_handle(tool: str, raw: bytes) -> tuple[str | None, bytes]:
    """The handle among the arguments of a call, and the arguments without it.

    An upstream tool may have its own parameter `session`: there, only one of our handles counts. Some models fill in
    optional parameters, so an empty handle counts as none.
    """
    try:
        arguments = decode(raw, type=dict[str, Raw])
        handle = decode(arguments.pop("session"), type=str | None)
    except (DecodeError, KeyError):
        return None, raw
    is_foreign = tool.startswith("mcp_") or ":" in tool
    if is_foreign and not (handle or "").startswith(PREFIX):
        return None, raw
    return handle or None, encode(arguments)
