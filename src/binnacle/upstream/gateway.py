"""Every upstream server of a project: what they offer together, and requests to each of them."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal

from msgspec import Raw

from binnacle.errors import BinnacleError, NotFound, UpstreamError
from binnacle.upstream import upstream_steps
from binnacle.upstream.answers.resource_links import ResourceLinks
from binnacle.upstream.configuration.server_config import ConfigProblem, LoadedServers, ServerConfig
from binnacle.upstream.configuration.server_loader import find_changes
from binnacle.upstream.configuration.server_trust import describe_waiting
from binnacle.upstream.listing.content_index import ContentIndex, gather_content, is_ours
from binnacle.upstream.listing.list_cache import ListCache
from binnacle.upstream.listing.missing_tools import explain_missing
from binnacle.upstream.listing.pins import Pins
from binnacle.upstream.pool import ServerPool
from binnacle.upstream.request_relay import RequestRelay
from binnacle.upstream.server_bounds import MAX_NOTES
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.upstream.toolsets.audited import AuditLog
from binnacle.upstream.toolsets.chain import SharedParts, ToolsetChain, wrap_server
from binnacle.upstream.toolsets.prefixed import OfferedTool, prefix_tools
from binnacle.upstream.toolsets.tool_names import display_name
from binnacle.upstream.toolsets.toolset import RequestKind, Result, UpstreamRequest
from binnacle.wire.jsonrpc import RpcError
from binnacle.wire.mcp import CallingClient

ContentMethod = Literal["resources/read", "prompts/get", "completion/complete"]
CONTENT_KINDS: dict[ContentMethod, RequestKind] = {
    "resources/read": "resource",
    "prompts/get": "prompt",
    "completion/complete": "completion",
}
"""What requests besides calls ask for."""


class Gateway:
    """Connects to every server, again and again. Closing it ends every connection and every process."""

    def __init__(
        self,
        load: Callable[[], LoadedServers],
        pool: ServerPool,
        *,
        folder: str,
        is_allowed: Callable[[ServerConfig], bool],
        on_change: Callable[[], None],
        clean: Callable[[str], str] = str,
    ) -> None:
        """`folder` keeps audit, pins and oversized results; `clean` removes secrets from text."""
        self._load = load
        self._pool = pool
        self._is_allowed = is_allowed
        self._on_change = on_change
        self._clean = clean
        self._loaded = LoadedServers({}, ())
        self._servers: dict[str, SupervisedServer] = {}
        self._toolsets: dict[str, ToolsetChain] = {}
        self._list_cache = ListCache(os.path.join(folder, "lists"))
        self._parts = SharedParts(
            pins=Pins(folder),
            audit=AuditLog(os.path.join(folder, "calls.jsonl")),
            relay=RequestRelay(),
            results_folder=os.path.join(folder, "results"),
        )
        self._links = ResourceLinks()
        self._offers: dict[str, OfferedTool] | None = None
        """None when it has to be computed again, like `_contents`."""

        self._contents: ContentIndex | None = None
        self._notes: dict[str, list[str]] = {}
        """What people should know about the tools of each server."""

        self._content_notes: dict[str, list[str]] = {}
        """The same about resources, templates and prompts."""

        self.updated: Callable[[str], None] = _ignore_update
        """Called with the URI of a followed resource that has changed."""

        self.problems: tuple[ConfigProblem, ...] = ()

    @property
    def servers(self) -> Mapping[str, SupervisedServer]:
        return self._servers

    @property
    def notes(self) -> dict[str, list[str]]:
        """Notes for people about what a server offers, by server; of many, the first."""
        found: dict[str, list[str]] = {}
        for name, server in self._servers.items():
            known = (self._notes.get(name, ()), self._content_notes.get(name, ()))
            notes = [*map(self._clean, server.lists.held_back), *dict.fromkeys(note for some in known for note in some)]
            if notes:
                found[name] = _first_notes(notes)
        return found

    def start(self) -> None:
        """Begins to connect to all of them; returns at once."""
        self._loaded = self._load()
        self.problems = self._loaded.problems
        for config in self._loaded.servers.values():
            self._add(config)

    async def reload(self) -> None:
        """Looks again at the configuration, what is trusted, pins and logins.

        Only servers whose configuration changed are touched; one that waited for a person is tried again.
        """
        before, self._loaded = self._loaded, self._load()
        self.problems = self._loaded.problems
        touched = find_changes(before, self._loaded)
        gone = [self._servers.pop(name, None) for name in (*touched.removed, *touched.changed)]
        for name in touched.removed:
            self._toolsets.pop(name, None)
        self._contents = self._offers = None  # they must not be used while they end
        await asyncio.gather(*(self._leave(one) for one in gone if one))
        for name in touched.changed:
            self._add(self._loaded.servers[name])
        for server in self._servers.values():
            if server.status.state == "awaiting_trust" and self._is_allowed(server.config):
                self._begin(server)
            elif server.status.state == "needs_login":
                server.retry()
        for toolset in self._toolsets.values():
            toolset.listing.forget()  # a person may have accepted what was withheld
        self._changed()

    def _add(self, config: ServerConfig) -> None:
        server = self._servers[config.name] = self._pool.take(config, self._changed)
        self._toolsets[config.name] = wrap_server(server, self._parts)
        server.updates.listeners.append(self._on_update)
        if not config.enabled:
            server.hold("disabled", f"in {config.source}")
        elif not self._is_allowed(config):
            server.hold("awaiting_trust", describe_waiting(config))
        else:
            self._begin(server)

    def _begin(self, server: SupervisedServer) -> None:
        """Connects a server: now, or at its first call if it is lazy and its lists are known.

        Until then it offers what it offered last: few clients ask for the list a second time.
        """
        if not server.lists.is_known:
            server.recall(self._list_cache.find(server.config), self._list_cache.find_notes(server.config))
        if server.config.lazy and server.lists.is_known:
            server.rest()
        else:
            server.start()

    async def _leave(self, server: SupervisedServer) -> None:
        server.updates.listeners.remove(self._on_update)
        server.updates.unfollow(self)
        await self._pool.give_back(server, self._changed)

    def _on_update(self, uri: str) -> None:
        self.updated(uri)

    def _changed(self) -> None:
        self._contents = self._offers = None
        self._on_change()

    def offers(self) -> Mapping[str, OfferedTool]:
        """The tools of all servers, by the names they are offered under."""
        if self._offers is None:
            self._offers = self._find_offers()
        return self._offers

    def _find_offers(self) -> dict[str, OfferedTool]:
        listings = {}
        for name, server in self._servers.items():
            if server.client is not None:
                self._list_cache.keep_changes(server.config, server.lists.offered, server.lists.held_back[:MAX_NOTES])
            if server.is_offered:
                listings[name] = self._toolsets[name].listing.list_tools()
        named = prefix_tools({name: listing.tools for name, listing in listings.items()})
        for name, listing in listings.items():
            self._notes[name] = [*map(self._clean, (*listing.notes, *named.notes.get(name, ())))]
        return named.offers

    def explain_missing(self, name: str) -> BinnacleError | None:
        """Why there is no tool of that name, if the name belongs to a server: the state of the server."""
        tools: dict[str, list[str]] = {}
        for public, offer in self.offers().items():
            tools.setdefault(offer.server, []).extend((public, offer.subject))
        error = explain_missing(name, self._servers, self.problems, tools=tools, notes=self.notes)
        return self._redact(error) if error else None

    def contents(self) -> ContentIndex:
        """The resources, templates and prompts of all servers."""
        if self._contents is None:
            self._contents = gather_content(server for server in self._servers.values() if server.is_offered)
            self._content_notes = {}
            for name, note in self._contents.notes:
                self._content_notes.setdefault(name, []).append(self._clean(note))
        return self._contents

    def owners(self, uri: str) -> tuple[str, ...]:
        """The servers that may have a resource, in the order in which to ask them."""
        if is_ours(uri):
            return ()
        linked_by = self._links.owner(uri)
        return self.contents().owners(uri, linked_by if linked_by in self._servers else None)

    async def follow(self, uris: frozenset[str]) -> None:
        """Subscribes to these resources, each at its server."""
        owners = {uri: self.owners(uri) for uri in uris}
        owned = {name: frozenset(uri for uri in uris if name in owners[uri][:1]) for name in self._servers}
        await asyncio.gather(*(self._servers[name].follow(self, some) for name, some in owned.items()))

    def call(
        self,
        name: str,
        arguments: Raw,
        client: CallingClient | None,
        *,
        who: str,
        progress: Callable[[Raw], None] | None = None,
    ) -> Coroutine[Any, Any, Result]:
        """Calls a tool by the name it is offered under.

        Raises:
            UpstreamError: it cannot be called now; the message says why.
            TimedOut: it took too long.
        """
        offer = self.offers().get(name)
        if offer is None:
            raise self.explain_missing(name) or NotFound(f"no tool {name!r}", hint="tools/list names those there are")
        request = UpstreamRequest(
            kind="tool",
            subject=offer.subject,
            method="tools/call",
            params={"name": offer.tool.name, "arguments": arguments},
            client=client,
            who=who,
            on_progress=progress,
            is_repeatable=offer.tool.is_repeatable,
            promises_structure=offer.promises_structure,
        )
        return self._send(offer.server, request)

    def ask(
        self,
        name: str,
        method: ContentMethod,
        params: Mapping[str, Any],
        client: CallingClient | None,
        *,
        who: str,
        progress: Callable[[Raw], None] | None = None,
    ) -> Coroutine[Any, Any, Result]:
        """Asks one server something that changes nothing: a resource, a prompt, a completion.

        Raises:
            RpcError: the server's own error.
            UpstreamError: it cannot be asked now; the message says why.
            TimedOut: it took too long.
        """
        if name not in self._servers:
            raise NotFound(f"no upstream server {name!r}", hint=upstream_steps.LIST_SERVERS)
        about = params.get("ref", params)
        request = UpstreamRequest(
            kind=CONTENT_KINDS[method],
            subject=self._clean(display_name(name, about.get("name") or about.get("uri", ""))),
            method=method,
            params=params,
            client=client,
            who=who,
            on_progress=progress,
            is_repeatable=True,
        )
        return self._send(name, request)

    async def _send(self, name: str, request: UpstreamRequest) -> Result:
        """Asks a server, and notes which resources its answer links to."""
        toolset = self._toolsets[name]
        try:
            answer = await toolset.calls.send(request)
        except RpcError as error:
            raise self._redact_rpc(error, name, request) from error
        except BinnacleError as error:
            raise self._redact(error) from error
        parts = answer.complete.get("content" if request.kind == "tool" else "messages")
        if parts is not None:
            self._links.note(name, parts, rank=toolset.rank)
        return answer.result

    def _redact_rpc(self, error: RpcError, server: str, request: UpstreamRequest) -> BinnacleError | RpcError:
        """A server's error without secrets. For a tool it becomes an error of ours, whose text clients show."""
        if request.kind != "tool":
            return RpcError(error.code, self._clean(error.message), error.data)
        text = self._clean(f"{request.subject}: {error.message}")
        return UpstreamError(text, hint="check the arguments", details={"server": server})

    def _redact(self, error: BinnacleError) -> BinnacleError:
        """An error without secrets."""
        hint = tuple(self._clean(step) if isinstance(step, str) else step for step in error.next_steps)
        return type(error)(self._clean(error.message), hint=hint, details=error.details)

    async def aclose(self) -> None:
        self._parts.relay.close()
        with contextlib.suppress(BinnacleError):
            await asyncio.gather(*(self._leave(one) for one in self._servers.values()))
        self._parts.audit.close()


def _first_notes(notes: list[str]) -> list[str]:
    more = len(notes) - MAX_NOTES
    return [*notes[:MAX_NOTES], f"… and {more} more notes"] if more > 0 else notes


def _ignore_update(uri: str) -> None:
    """Does nothing: no session follows a resource."""
