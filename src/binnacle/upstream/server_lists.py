"""The lists of one server: read again when it announces a change, and kept while it is disconnected."""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw, Struct

from binnacle.errors import UpstreamError
from binnacle.upstream.listing.entry_checks import parse_entries
from binnacle.upstream.listing.list_cache import OfferedLists
from binnacle.upstream.mcp_client import LIST_METHODS, McpClient
from binnacle.upstream.server_bounds import MAX_LIST_SECONDS, NOT_OFFERED, ListedEntries, ListKind
from binnacle.wire.jsonrpc import METHOD_NOT_FOUND, UNREADABLE, RpcError

CHANGEABLE_LISTS = frozenset({"tools", "prompts", "resources"})
"""Lists whose changes a server announces. Templates come with resources."""


class ServerTool(Struct, frozen=True):
    """A tool as its server describes it."""

    name: str
    entry: Raw
    """Its entry in the server's list, untouched."""

    is_repeatable: bool
    """Whether calling it twice does no more than calling it once."""


class _Hints(Struct):
    read_only: bool = msgspec.field(name="readOnlyHint", default=False)
    idempotent: bool = msgspec.field(name="idempotentHint", default=False)


class _Entry(Struct):
    name: str
    annotations: _Hints | None = None


class ServerLists:
    """The lists of one server, as they were last read."""

    def __init__(self) -> None:
        self.tools: tuple[ServerTool, ...] = ()
        """The same object until the tools change: caches compare it by identity."""

        self.prompts: tuple[Raw, ...] = ()
        self.resources: tuple[Raw, ...] = ()
        self.templates: tuple[Raw, ...] = ()
        self._held_back: dict[ListKind, tuple[str, ...]] = {}

    @property
    def offered(self) -> OfferedLists:
        """Everything the server has, as it lists it."""
        return OfferedLists(tuple(tool.entry for tool in self.tools), self.prompts, self.resources, self.templates)

    @property
    def held_back(self) -> tuple[str, ...]:
        """Entries that are not offered, then entries that were changed, each with the reason."""
        notes = (note for notes in self._held_back.values() for note in notes)
        return tuple(sorted(notes, key=lambda note: NOT_OFFERED not in note))

    @property
    def is_known(self) -> bool:
        """Whether the lists are known, from this or an earlier connection."""
        return any((self.tools, self.prompts, self.resources, self.templates))

    def recall(self, offered: OfferedLists, notes: Sequence[str]) -> None:
        """Restores what the server offered when it was last connected; `notes` say what was left out then."""
        self._held_back = {"tools": tuple(notes)}
        self.tools = tools_of(offered.tools)
        self.prompts, self.resources, self.templates = offered.prompts, offered.resources, offered.templates

    async def read(self, client: McpClient, changed: set[str], *, connect_seconds: float) -> bool:
        """Reads the lists that have changed. Returns whether they really differ."""
        before = self.offered, self.held_back
        until = asyncio.get_running_loop().time() + min(MAX_LIST_SECONDS, connect_seconds / 2)
        if "tools" in changed:
            entries = await self._read(client, "tools", until)
            if entries != before[0].tools:
                self.tools = tools_of(entries)
        if "prompts" in changed:
            self.prompts = await self._read(client, "prompts", until)
        if "resources" in changed:
            self.resources = await self._read(client, "resources", until)
            self.templates = await self._read(client, "templates", until)
        return (self.offered, self.held_back) != before

    async def _read(self, client: McpClient, kind: ListKind, until: float) -> tuple[Raw, ...]:
        listed = await _entries(client, kind, until=until)
        parsed = parse_entries(kind, listed.entries)
        self._held_back[kind] = (*listed.notes, *parsed.notes)
        return parsed.entries


async def _entries(client: McpClient, kind: ListKind, *, until: float) -> ListedEntries:
    """A list of the server; empty if it has none of that kind."""
    if ("resources" if kind == "templates" else kind) not in client.capabilities:
        return ListedEntries(())
    method = LIST_METHODS[kind][0]
    try:
        return await client.entries(kind, until=until)
    except RpcError as error:
        if error.code == METHOD_NOT_FOUND:
            return ListedEntries(())
        raise UpstreamError(
            f"{client.name} answered {method} with an error: {error.message}", hint="its log may say more"
        ) from error
    except UNREADABLE as error:
        raise UpstreamError(
            f"{client.name} answered {method} with nonsense: {error}", hint="is it an MCP server? its log may say more"
        ) from error


def tools_of(entries: Iterable[Raw]) -> tuple[ServerTool, ...]:
    """The tools that the entries of a list describe."""
    found: list[ServerTool] = []
    for entry in entries:
        try:
            known = msgspec.json.decode(entry, type=_Entry)
        except UNREADABLE:
            continue
        hints = known.annotations or _Hints()
        found.append(ServerTool(known.name, entry, hints.read_only or hints.idempotent))
    return tuple(found)
