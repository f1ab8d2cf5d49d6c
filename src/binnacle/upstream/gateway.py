"""Every upstream server of a project: what they offer together, and the way to each of them."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from binnacle.errors import BinnacleError, NotFound, UpstreamError
from binnacle.upstream import hygiene
from binnacle.upstream.audit import Audit
from binnacle.upstream.calls import Calls, Deadline, Face, Result
from binnacle.upstream.client import Client
from binnacle.upstream.config import Loaded, Problem, ServerConfig, ToolRules
from binnacle.upstream.naming import display, public_names
from binnacle.upstream.pins import Pins
from binnacle.upstream.pool import Pool
from binnacle.upstream.rate import Gate
from binnacle.upstream.server import Tool, Upstream
from binnacle.upstream.spill import fit
from binnacle.wire.jsonrpc import RpcError


class Offer(NamedTuple):
    """A tool as it is offered under a plan."""

    name: str
    """Valid everywhere, and nobody else's."""

    server: str
    tool: Tool
    entry: Raw
    """As `tools/list` shows it."""


class Gateway:
    """Connects to every server, and keeps at it. Closing it ends every connection and every process."""

    def __init__(
        self,
        load: Callable[[], Loaded],
        pool: Pool,
        *,
        folder: str,
        is_approved: Callable[[ServerConfig], bool],
        on_change: Callable[[], None],
    ) -> None:
        """`folder` is where audit, pins and results too long to pass on are kept."""
        self._load = load
        self._pool = pool
        self._is_approved = is_approved
        self._on_change = on_change
        self._servers: dict[str, Upstream] = {}
        self._gates: dict[str, Gate] = {}
        self._pins = Pins(folder)
        self._audit = Audit(os.path.join(folder, "calls.jsonl"))
        self._results = os.path.join(folder, "results")
        self._calls = Calls()
        self._offers: dict[str, Offer] = {}
        self._stale = True
        self.problems: tuple[Problem, ...] = ()
        self.notes: dict[str, list[str]] = {}
        """What people should know about a server's tools, by server."""

    @property
    def servers(self) -> Mapping[str, Upstream]:
        return self._servers

    async def start(self) -> None:
        """Begins to connect to all of them; returns at once."""
        await self.reload()

    async def reload(self) -> None:
        """Reads the configuration anew. Only servers whose configuration changed are touched."""
        loaded = self._load()
        self.problems = loaded.problems
        for name, known in list(self._servers.items()):
            if loaded.servers.get(name) != known.config:
                del self._servers[name]
                await self._pool.give_back(known, self._changed)
        for name, config in loaded.servers.items():
            if name not in self._servers:
                self._add(config)
        self._changed()

    def _add(self, config: ServerConfig) -> None:
        server = self._servers[config.name] = self._pool.take(config, self._changed)
        self._gates[config.name] = Gate(config.limits.concurrency, config.limits.per_minute)
        if not config.enabled:
            server.hold("disabled", f"in {config.source}")
        elif not self._is_approved(config):
            server.hold("awaiting_approval", f"{config.command} is started by {config.source}")
        elif not config.lazy:
            server.start()

    def _changed(self) -> None:
        self._stale = True
        self._on_change()

    def offers(self) -> Mapping[str, Offer]:
        """The tools of all servers, by the names they are offered under."""
        if self._stale:
            self._stale = False
            self._offers = self._offered()
        return self._offers

    def _offered(self) -> dict[str, Offer]:
        found: dict[tuple[str, str], tuple[Tool, dict[str, Any]]] = {}
        for name, server in self._servers.items():
            if server.is_offered:
                for tool, entry in self._allowed(server):
                    found[name, server.config.tools.rename.get(tool.name, tool.name)] = (tool, entry)
        return {
            public: Offer(public, owner[0], tool, Raw(msgspec.json.encode({**entry, "name": public})))
            for public, owner in public_names(found).items()
            for tool, entry in [found[owner]]
        }

    def _allowed(self, server: Upstream) -> list[tuple[Tool, dict[str, Any]]]:
        """The tools of a server that its rules let through, cleaned, and as they were when they were first seen."""
        rules, name = server.config.tools, server.config.name
        by_name = {tool.name: tool for tool in server.tools}
        screened = hygiene.screen([msgspec.json.decode(tool.entry) for tool in server.tools])
        changes = self._pins.check(name, screened.tools, mode=server.config.pin)
        held = {one.tool for one in changes if one.held}
        self.notes[name] = [
            *(f"{one.tool}: {one.what}" for one in (*screened.cleaned, *screened.refused)),
            *(f"{one.tool}: {one.kind}{', held back' if one.held else ''}" for one in changes),
        ]
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
            raise NotFound(f"no upstream tool {name!r}", hint="tools/list names those there are")
        server = self._servers[offer.server]
        shown = display(offer.server, offer.tool.name)
        began = time.perf_counter()
        ok, size = False, 0
        try:
            params = {"name": offer.tool.name, "arguments": arguments}
            async with self._gates[offer.server]:
                result = await self._exchange(server, "tools/call", params, face, progress, offer.tool.is_repeatable)
            result, size = fit(result, limit=server.config.limits.result_bytes, folder=self._results, name=shown)
            ok = result.get("isError") != Raw(b"true")
        except RpcError as error:
            raise UpstreamError(
                f"{shown}: {error.message}", hint="check the arguments", details={"server": offer.server}
            ) from error
        else:
            return result
        finally:
            self._audit.write(who=who, tool=shown, ok=ok, bytes=size, ms=round((time.perf_counter() - began) * 1000, 1))

    async def _exchange(
        self,
        server: Upstream,
        method: str,
        params: Mapping[str, Any],
        face: Face | None,
        progress: Callable[[Raw], None] | None,
        is_repeatable: bool,
    ) -> Result:
        deadline = Deadline(server.config.timeout, extends=server.config.limits.progress_extends)

        def on_progress(told: Raw) -> None:
            deadline.extend()
            if progress is not None:
                progress(told)

        async def work(client: Client) -> Result:
            what = display(server.config.name, str(params.get("name", method)))
            made = self._calls.make(client, method, params, face, on_progress=on_progress)
            return await deadline.within(made, what=what)

        return await server.call(work, is_repeatable=is_repeatable)

    async def ask(self, name: str, method: str, params: Mapping[str, Any], face: Face | None) -> Result:
        """Asks one server something that changes nothing: a resource, a prompt, a completion."""
        server = self._servers.get(name)
        if server is None:
            raise NotFound(f"no upstream server {name!r}", hint="see: bn upstream list")
        return await self._exchange(server, method, params, face, None, is_repeatable=True)

    async def aclose(self) -> None:
        self._calls.close()
        with contextlib.suppress(BinnacleError):
            await asyncio.gather(*(self._pool.give_back(one, self._changed) for one in self._servers.values()))
        self._audit.close()


def _lets_through(rules: ToolRules, name: str) -> bool:
    allowed = not rules.allow or any(fnmatchcase(name, pattern) for pattern in rules.allow)
    return allowed and not any(fnmatchcase(name, pattern) for pattern in rules.deny)
