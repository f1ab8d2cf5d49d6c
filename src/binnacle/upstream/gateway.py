"""Every upstream server of a project: what they offer together, and the way to each of them."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw

from binnacle.errors import BinnacleError, ConfigError, NotFound, UpstreamError
from binnacle.upstream import bounds, hygiene, steps
from binnacle.upstream.audit import Audit
from binnacle.upstream.calls import Calls, Deadline, Face, Result
from binnacle.upstream.client import Client
from binnacle.upstream.config import Loaded, Problem, ServerConfig, ToolRules
from binnacle.upstream.contents import Contents, gather, is_ours, rank_of
from binnacle.upstream.excerpts import fit_answer
from binnacle.upstream.lists import Lists
from binnacle.upstream.marks import Mark, headers_for, marks_of, wrong_mark
from binnacle.upstream.missing import explain_missing
from binnacle.upstream.naming import collisions, display, public_names
from binnacle.upstream.pins import Pins
from binnacle.upstream.pointers import Pointers
from binnacle.upstream.pool import Pool
from binnacle.upstream.results import mark_unstructured
from binnacle.upstream.server import Tool, Upstream
from binnacle.upstream.sources import changed
from binnacle.upstream.spill import fit, size_of
from binnacle.upstream.trust import why_waiting
from binnacle.wire.jsonrpc import RpcError

Asked = Literal["resources/read", "prompts/get", "completion/complete"]
KINDS: dict[Asked, str] = {"resources/read": "resource", "prompts/get": "prompt", "completion/complete": "completion"}
"""What requests besides calls ask for."""


class Offer(NamedTuple):
    """A tool as it is offered under a plan."""

    name: str
    """Valid everywhere, and nobody else's."""

    server: str
    tool: Tool
    entry: Raw
    """As `tools/list` shows it."""

    marks: tuple[Mark, ...] = ()
    """Arguments that HTTP of the stateless era repeats in headers."""

    is_pinned: bool = False
    """Whether its server's configuration allows it by its very name."""

    promises_structure: bool = False
    """Whether it has a schema that its structured results fit."""


class Gateway:
    """Connects to every server, and keeps at it. Closing it ends every connection and every process."""

    def __init__(
        self,
        load: Callable[[], Loaded],
        pool: Pool,
        *,
        folder: str,
        is_allowed: Callable[[ServerConfig], bool],
        on_change: Callable[[], None],
        clean: Callable[[str], str] = str,
    ) -> None:
        """`folder` is where audit, pins and results too long to pass on are kept; `clean` takes secrets out of text."""
        self._load = load
        self._pool = pool
        self._is_allowed = is_allowed
        self._on_change = on_change
        self._clean = clean
        self._loaded = Loaded({}, ())
        self._servers: dict[str, Upstream] = {}
        self._screened: dict[str, tuple[tuple[Tool, ...], list[tuple[Tool, dict[str, Any]]]]] = {}
        self._remembered: dict[str, tuple[object, ...]] = {}
        self._pins = Pins(folder)
        self._lists = Lists(os.path.join(folder, "lists"))
        self._audit = Audit(os.path.join(folder, "calls.jsonl"))
        self._results = os.path.join(folder, "results")
        self._calls = Calls()
        self._pointers = Pointers()
        self._offers: dict[str, Offer] = {}
        self._stale = True
        self._contents: Contents | None = None
        self.updated: Callable[[str], None] = _nobody
        """Called with the URI of a followed resource that has changed."""

        self.problems: tuple[Problem, ...] = ()
        self._notes: dict[str, list[str]] = {}

    @property
    def servers(self) -> Mapping[str, Upstream]:
        return self._servers

    @property
    def notes(self) -> dict[str, list[str]]:
        """What people should know about what a server offers, by server. Of many notes the first are shown."""
        found = {name: [*map(self._clean, server.held_back)] for name, server in self._servers.items()}
        for name, notes in self._notes.items():
            found[name] = [*found.get(name, ()), *notes]
        return {name: _first_notes(notes) for name, notes in found.items() if notes}

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
        touched = changed(before, self._loaded)
        gone = [self._servers.pop(name, None) for name in (*touched.removed, *touched.changed)]
        await asyncio.gather(*(self._leave(one) for one in gone if one))
        for name in touched.changed:
            self._add(self._loaded.servers[name])
        for server in self._servers.values():
            if server.status.state == "awaiting_trust" and self._is_allowed(server.config):
                self._begin(server)
            elif server.status.state == "needs_login":
                server.retry()
        self._screened.clear()
        self._changed()

    def _add(self, config: ServerConfig) -> None:
        server = self._servers[config.name] = self._pool.take(config, self._changed)
        server.updated.append(self._on_update)
        if not config.enabled:
            server.hold("disabled", f"in {config.source}")
        elif not self._is_allowed(config):
            server.hold("awaiting_trust", why_waiting(config))
        else:
            self._begin(server)

    def _begin(self, server: Upstream) -> None:
        """Lets a server be connected: now, or at its first call if it is lazy and what it offers is known.

        Until it is, it offers what it did when it was last connected: few clients ask for the list a second time.
        """
        if not server.is_known:
            server.recall(self._lists.find(server.config), self._lists.find_notes(server.config))
        if server.config.lazy and server.is_known:
            server.rest()
        else:
            server.start()

    async def _leave(self, server: Upstream) -> None:
        server.updated.remove(self._on_update)
        server.unfollow(self)
        await self._pool.give_back(server, self._changed)

    def _on_update(self, uri: str) -> None:
        self.updated(uri)

    def _changed(self) -> None:
        self._contents = None
        self._stale = True
        self._on_change()

    def offers(self) -> Mapping[str, Offer]:
        """The tools of all servers, by the names they are offered under."""
        if self._stale:
            self._stale = False
            self._offers = self._offered()
        return self._offers

    def explain_missing(self, name: str) -> BinnacleError | None:
        """Why no tool has that name, where it is that of a server's tool: how the server stands."""
        tools: dict[str, list[str]] = {}
        for public, offer in self.offers().items():
            tools.setdefault(offer.server, []).extend((public, display(offer.server, offer.tool.name)))
        error = explain_missing(name, self._servers, self.problems, tools=tools, notes=self.notes)
        return self._told(error, name, "") if error else None

    def contents(self) -> Contents:
        """The resources, templates and prompts of all servers."""
        if self._contents is None:
            self.offers()  # which begins the notes anew
            self._contents = gather(server for server in self._servers.values() if server.is_offered)
            for name, note in self._contents.notes:
                self._note(name, note)
        return self._contents

    def owners(self, uri: str) -> tuple[str, ...]:
        """The servers that may have a resource, to be asked in this order."""
        if is_ours(uri):
            return ()
        told_by = self._pointers.owner(uri)
        return self.contents().owners(uri, told_by if told_by in self._servers else None)

    async def follow(self, uris: frozenset[str]) -> None:
        """Has the servers tell of changes to these resources, each of its own."""
        owners = {uri: self.owners(uri) for uri in uris}
        owned = {name: frozenset(uri for uri in uris if name in owners[uri][:1]) for name in self._servers}
        await asyncio.gather(*(self._servers[name].follow(self, some) for name, some in owned.items()))

    def _offered(self) -> dict[str, Offer]:
        found: dict[tuple[str, str], tuple[Tool, dict[str, Any]]] = {}
        for name, server in self._servers.items():
            self._remember(server)
            for tool, entry in self._allowed(server) if server.is_offered else ():
                called = server.config.tools.rename.get(tool.name, tool.name)
                if (name, called) in found:
                    self._note(name, f"{tool.name}: not offered, because another tool is called {called}")
                else:
                    found[name, called] = (tool, entry)
        for public, owners in collisions(found).items():
            for name, called in owners:
                self._note(name, f"{called}: several tools would be called {public}, so its name has a hash")
        return {public: self._offer(public, owner[0], *found[owner]) for public, owner in public_names(found).items()}

    def _offer(self, public: str, server: str, tool: Tool, entry: dict[str, Any]) -> Offer:
        marks = marks_of(entry["inputSchema"]) if self._servers[server].config.transport == "http" else ()
        is_pinned = tool.name in self._servers[server].config.tools.allow
        shown = Raw(msgspec.json.encode({**entry, "name": public}))
        return Offer(public, server, tool, shown, marks, is_pinned, "outputSchema" in entry)

    def _allowed(self, server: Upstream) -> list[tuple[Tool, dict[str, Any]]]:
        """The tools of a server that its rules let through, cleaned, and as they were when they were first seen."""
        name = server.config.name
        known = self._screened.get(name)
        if known is None or known[0] is not server.tools:
            self._notes[name] = []
            known = self._screened[name] = (server.tools, self._screen(server))
        return known[1]

    def _remember(self, server: Upstream) -> None:
        """Keeps what a server offers, if that is something else than before."""
        now = (server, server.tools, server.prompts, server.resources, server.templates, server.held_back)
        if server.client is not None and self._remembered.get(server.config.name) != now:
            self._remembered[server.config.name] = now
            self._lists.keep(server.config, server.offered, server.held_back[: bounds.MAX_NOTES])

    def _note(self, name: str, *notes: str) -> None:
        known = self._notes.setdefault(name, [])
        there = set(known)
        known += (text for text in dict.fromkeys(map(self._clean, notes)) if text not in there)

    def _screen(self, server: Upstream) -> list[tuple[Tool, dict[str, Any]]]:
        rules, name = server.config.tools, server.config.name
        by_name = {tool.name: tool for tool in server.tools}
        screened = hygiene.screen([hygiene.decode_entry(tool.entry) for tool in server.tools])
        self._note(name, *(f"{one.tool}: {one.what}" for one in (*screened.cleaned, *screened.refused)))
        try:
            changes = self._pins.check(name, screened.tools, mode=server.config.pin)
        except ConfigError as error:
            self._note(name, f"its tools cannot be compared with those seen before: {error.message}")
            return []
        held = {one.tool for one in changes if one.held}
        if server.config.transport == "http":
            marked = {one["name"]: wrong_mark(one["inputSchema"]) for one in screened.tools}
            held |= {tool for tool, wrong in marked.items() if wrong}
            self._note(name, *(f"{tool}: not offered, {wrong}" for tool, wrong in marked.items() if wrong))
        self._note(name, *(f"{one.tool}: {one.kind}{', held back' if one.held else ''}" for one in changes))
        return [
            (by_name[entry["name"]], entry)
            for entry in screened.tools
            if entry["name"] not in held and _lets_through(rules, entry["name"])
        ]

    async def call(
        self, name: str, arguments: Raw, face: Face | None, *, who: str, progress: Callable[[Raw], None] | None = None
    ) -> Result:
        """Calls a tool by the name it is offered under.

        Raises:
            UpstreamError: it cannot be called now, and why.
            TimedOut: it took too long.
        """
        offer = self.offers().get(name)
        if offer is None:
            raise self.explain_missing(name) or NotFound(f"no tool {name!r}", hint="tools/list names those there are")
        server = self._servers[offer.server]
        shown = display(offer.server, offer.tool.name)
        began = time.perf_counter()
        outcome, size = "cancelled", 0
        try:
            params = {"name": offer.tool.name, "arguments": arguments}
            headers = headers_for(offer.marks, arguments) if offer.marks else ()
            async with server.gate:
                whole = await self._exchange(
                    server, "tools/call", params, face, progress, offer.tool.is_repeatable, headers
                )
            self._pointers.note(offer.server, whole.get("content"), rank=rank_of(server.config))
            outcome = _outcome(whole)
            cut = partial(fit, promises_structure=offer.promises_structure)
            result, size = await self._fitted(whole, server.config.limits.result_bytes, shown, cut)
            if offer.promises_structure:
                result = mark_unstructured(result)
        except (BinnacleError, RpcError) as error:
            told = self._told(error, shown, offer.server)
            outcome = told.code
            raise told from error
        else:
            return result
        finally:
            spent = round((time.perf_counter() - began) * 1000, 1)
            self._audit.write(who=who, tool=shown, outcome=outcome, bytes=size, ms=spent)

    def _told(self, error: BinnacleError | RpcError, what: str, server: str) -> BinnacleError:
        """An error in words that hold no secret."""
        if isinstance(error, RpcError):
            return UpstreamError(
                self._clean(f"{what}: {error.message}"), hint="check the arguments", details={"server": server}
            )
        hint = tuple(self._clean(step) if isinstance(step, str) else step for step in error.next_steps)
        return type(error)(self._clean(error.message), hint=hint, details=error.details)

    async def _fitted(
        self, whole: Result, limit: int, shown: str, cut: Callable[..., tuple[Result, int]] = fit
    ) -> tuple[Result, int]:
        if (size := size_of(whole)) <= limit or not limit:
            return whole, size
        return await asyncio.to_thread(cut, whole, limit, self._results, name=shown)

    async def _exchange(
        self,
        server: Upstream,
        method: str,
        params: Mapping[str, Any],
        face: Face | None,
        progress: Callable[[Raw], None] | None,
        is_repeatable: bool,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Result:
        deadline = Deadline(server.config.timeout, extends=server.config.limits.progress_extends)
        allowance = bounds.Allowance(bounds.PROGRESS_AT_ONCE, bounds.PROGRESS_PER_SECOND)

        def on_progress(told: Raw) -> None:
            if allowance.take(time.monotonic()):
                deadline.extend()
                if progress is not None:
                    progress(told)

        async def work(client: Client) -> Result:
            what = display(server.config.name, str(params.get("name", method)))
            made = self._calls.make(client, method, params, face, on_progress=on_progress, headers=headers)
            return await deadline.within(made, what=what)

        return await server.call(work, is_repeatable=is_repeatable)

    async def ask(
        self,
        name: str,
        method: Asked,
        params: Mapping[str, Any],
        face: Face | None,
        *,
        who: str,
        progress: Callable[[Raw], None] | None = None,
    ) -> Result:
        """Asks one server something that changes nothing: a resource, a prompt, a completion.

        Raises:
            RpcError: the server's own error.
            UpstreamError: it cannot be asked now, and why.
            TimedOut: it took too long.
        """
        server = self._servers.get(name)
        if server is None:
            raise NotFound(f"no upstream server {name!r}", hint=steps.LIST_SERVERS)
        kind, shown = self._recorded_as(name, method, params)
        began = time.perf_counter()
        outcome, size = "cancelled", 0
        try:
            async with server.gate:
                whole = await self._exchange(server, method, params, face, progress, is_repeatable=True)
            self._pointers.note(name, whole.get("messages"), rank=rank_of(server.config))
            limit = server.config.limits.result_bytes
            result, size = await self._fitted(whole, limit, shown, partial(fit_answer, method=method))
            outcome = _outcome(result)
        except (BinnacleError, RpcError) as error:
            told = self._told(error, name, name)
            outcome = told.code
            if isinstance(error, RpcError):
                raise RpcError(error.code, self._clean(error.message), error.data) from error
            raise told from error
        else:
            return result
        finally:
            spent = round((time.perf_counter() - began) * 1000, 1)
            self._audit.write(**{"who": who, kind: shown, "outcome": outcome, "bytes": size, "ms": spent})

    def _recorded_as(self, server: str, method: Asked, params: Mapping[str, Any]) -> tuple[str, str]:
        """Under which key a request is on record, and as what."""
        about = params.get("ref", params)
        return KINDS[method], self._clean(display(server, about.get("name") or about.get("uri", "")))

    async def aclose(self) -> None:
        self._calls.close()
        with contextlib.suppress(BinnacleError):
            await asyncio.gather(*(self._leave(one) for one in self._servers.values()))
        self._audit.close()


def _first_notes(notes: list[str]) -> list[str]:
    more = len(notes) - bounds.MAX_NOTES
    return [*notes[: bounds.MAX_NOTES], f"… and {more} more notes"] if more > 0 else notes


def _nobody(uri: str) -> None:
    """Nobody wants to know."""


def _lets_through(rules: ToolRules, name: str) -> bool:
    allowed = not rules.allow or any(fnmatchcase(name, pattern) for pattern in rules.allow)
    return allowed and not any(fnmatchcase(name, pattern) for pattern in rules.deny)


def _outcome(result: Result) -> str:
    """What came of a call, in a word."""
    if "inputRequests" in result:
        return "asked"
    return "failed" if result.get("isError") == Raw(b"true") else "ok"
