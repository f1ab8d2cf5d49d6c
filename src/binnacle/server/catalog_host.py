"""Serves a catalog: its tools, a few resources, and prompts."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from msgspec import Raw
from msgspec.json import decode

from binnacle import __version__
from binnacle.server.beside import Beside, Nothing
from binnacle.server.call import Call
from binnacle.server.host import Result
from binnacle.tools.caller import Caller
from binnacle.tools.outcome import Outcome
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
from binnacle.work.actor import Actor


class Tools(Protocol):
    """The tools a host offers: as many as an agent can pay for, so that they fit on one page."""

    def instructions(self) -> str:
        """What a client is told about them when it connects."""

    def listing(self) -> bytes:
        """As `tools/list` shows them, a JSON array."""

    async def call(self, name: str, raw: bytes, caller: Caller) -> Outcome:
        """Calls one of them."""


class Resource(NamedTuple):
    """Something that can be read."""

    uri: str
    name: str
    description: str
    mime_type: str
    read: Callable[[Caller], Awaitable[str | None]]
    """Its text; None when there is none now."""


class Prompt(NamedTuple):
    """A text for an agent to begin with."""

    name: str
    description: str
    text: Callable[[], str]


class CatalogHost:
    """What `bn mcp serve` offers."""

    def __init__(
        self,
        tools: Tools,
        *,
        actor: Callable[[Mapping[str, Any]], Actor],
        resources: tuple[Resource, ...] = (),
        prompts: Callable[[], Iterable[Prompt]] = tuple,
        beside: Callable[[], Beside] = Nothing,
        session: str | None = None,
    ) -> None:
        """`actor` says in whose name a client acts, from what it says of itself; changes belong to `session`.

        `beside` gives what other servers have at the moment.
        """
        self._tools = tools
        self._actor = actor
        self._resources = {one.uri: one for one in resources}
        self._find_prompts = prompts
        self._beside = beside
        self._marked: tuple[bytes, dict[str, dict[str, Any]]] = (b"", {})
        """The list of tools that was looked into, and what was found."""

        self.info: dict[str, Any] = {"name": "binnacle", "title": "Binnacle", "version": __version__}
        self._session = session
        self.capabilities: dict[str, Any] = {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
        }

    @property
    def instructions(self) -> str:
        return self._tools.instructions()

    def caller(self, call: Call) -> Caller:
        """The client behind a request, as the catalog knows it."""
        state = call.peer.state
        if "actor" not in state:
            state["actor"] = self._actor(call.client)
        return Caller(actor=state["actor"], session=self._session, state=state, progress=call.progress, client=call)

    def marked_schema(self, tool: str) -> Mapping[str, Any]:
        listing = self._tools.listing()
        if listing is not self._marked[0]:
            found = decode(listing) if HEADER_MARK.encode() in listing else ()
            self._marked = (listing, {one["name"]: one["inputSchema"] for one in found})
        return self._marked[1].get(tool, {})

    async def list_tools(self, call: Call, params: ListParams) -> Result:  # noqa: ARG002
        if params.cursor is not None:
            raise RpcError(INVALID_PARAMS, f"no such page: {params.cursor!r}")
        return {"tools": Raw(self._tools.listing())}

    async def call_tool(self, call: Call, params: CallParams) -> Result:
        outcome = await self._tools.call(params.name, bytes(params.arguments), self.caller(call))
        return outcome.to_mcp()

    async def list_resources(self, call: Call, params: ListParams) -> Result:  # noqa: ARG002
        own = [
            {"uri": one.uri, "name": one.name, "description": one.description, "mimeType": one.mime_type}
            for one in self._resources.values()
        ]
        others = (entry for uri, entry in self._beside().resources().items() if uri not in self._resources)
        return {"resources": [*own, *others]}

    async def list_templates(self, call: Call, params: ListParams) -> Result:  # noqa: ARG002
        return {"resourceTemplates": list(self._beside().templates().values())}

    async def read_resource(self, call: Call, params: ReadParams) -> Result:
        found, caller = self._resources.get(params.uri), self.caller(call)
        if found is None and (result := await self._beside().read(params.uri, caller)) is not None:
            return result
        text = await found.read(caller) if found else None
        if found is None or text is None:
            code = INVALID_PARAMS if call.era == "stateless" else RESOURCE_NOT_FOUND
            raise RpcError(code, f"no resource {params.uri!r}", {"uri": params.uri})
        return {"contents": [{"uri": found.uri, "mimeType": found.mime_type, "text": text}]}

    async def list_prompts(self, call: Call, params: ListParams) -> Result:  # noqa: ARG002
        own = ({"name": one.name, "description": one.description} for one in self._find_prompts())
        return {"prompts": [*own, *self._beside().prompts().values()]}

    async def get_prompt(self, call: Call, params: PromptParams) -> Result:
        prompts = {one.name: one for one in self._find_prompts()}
        found = prompts.get(params.name)
        if found is None:
            result = await self._beside().prompt(params.name, params.arguments, self.caller(call))
            if result is not None:
                return result
            raise RpcError(INVALID_PARAMS, f"no prompt {params.name!r}; one of: {', '.join(prompts)}")
        message = {"role": "user", "content": {"type": "text", "text": found.text()}}
        return {"description": found.description, "messages": [message]}

    async def complete(self, call: Call, params: CompleteParams) -> Result:
        """Names of prompts and resources that begin with what was typed; what other servers say about theirs."""
        if (result := await self._beside().complete(params, self.caller(call))) is not None:
            return result
        prompts = params.ref.type == "ref/prompt"
        names = [one.name for one in self._find_prompts()] if prompts else list(self._resources)
        found = [name for name in names if name.startswith(params.argument.value)][:100]
        return {"completion": {"values": found, "total": len(found), "hasMore": False}}

    async def follow(self, uris: frozenset[str]) -> None:
        await self._beside().follow(uris)
