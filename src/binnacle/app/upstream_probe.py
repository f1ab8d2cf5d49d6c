"""Connects to upstream servers for one command, to examine them or to call one. Heavy imports."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from binnacle.errors import BinnacleError, NotFound, UpstreamDown, did_you_mean
from binnacle.plan.token_count import count
from binnacle.project.project import Project
from binnacle.serving.upstream_connections import UpstreamConnections
from binnacle.upstream.configuration.server_config import ConfigProblem
from binnacle.upstream.configuration.server_overview import ConfiguredServer
from binnacle.upstream.gateway import Gateway
from binnacle.upstream.listing.missing_tools import owners_of
from binnacle.upstream.server_status import ServerState, ServerStatus, describe_state
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.upstream.toolsets.prefixed import OfferedTool
from binnacle.upstream.toolsets.tool_names import display_name

FIRST_REPORT_SECONDS = 1.0
"""Seconds after which the progress is shown."""

HINTS = {
    "disabled": "bn upstream enable {name}",
    "awaiting_trust": "bn trust server:{name}",
    "needs_login": "bn upstream login {name}",
    "failed": "bn upstream logs {name}",
}
"""Next steps for a server that is not ready."""

Found = TypeVar("Found")

Advance = Callable[[int, str], None]
"""Called with the number of servers that are done, and what the others wait for."""


CheckedState = ServerState | Literal["broken"]
"""`broken`: something is wrong with its entry, so that it was not tried."""


class ServerCheckup(Struct, frozen=True, omit_defaults=True):
    """How a server stands, field by field as it is printed."""

    name: str
    state: CheckedState
    connect_ms: float | None = None
    pin: str | None = None
    reason: str = ""
    hint: str = ""
    """The next step where it is not ready."""

    era: str | None = None
    version: str | None = None
    server: Any = None
    """What it says of itself."""

    tools: int | None = None
    prompts: int | None = None
    resources: int | None = None
    latency_ms: float | None = None
    tokens: int | None = None
    notes: list[str] | None = None
    source: str | None = None
    problems: tuple[ConfigProblem, ...] | None = None

    @property
    def standing(self) -> str:
        """How it stands, as a sentence."""
        return describe_state(self.name, self.state)


class ToolSummary(Struct, frozen=True):
    """A tool of a server, for people and programs that look for one."""

    name: str
    shown: str
    server: str
    tool: str
    description: str
    tokens: int


class ProbedServer(NamedTuple):
    """A server after it was tried."""

    server: SupervisedServer
    status: ServerStatus
    seconds: float
    """Seconds that it took."""

    @property
    def name(self) -> str:
        return self.server.config.name

    def checkup(self) -> ServerCheckup:
        """How it stands, with the next step where it is not ready."""
        server, state = self.server, self.status.state
        has_hint = state in HINTS and (state != "failed" or server.config.transport == "stdio")
        found = ServerCheckup(
            name=self.name,
            state=state,
            connect_ms=round(self.seconds * 1000, 1),
            pin=server.config.pin,
            reason=self.status.reason,
            hint=HINTS[state].format(name=self.name) if has_hint else "",
        )
        if (client := server.client) is None:
            return found
        return replace(
            found,
            era=client.era,
            version=client.link.version,
            server=client.server,
            tools=len(server.tools),
            prompts=len(server.lists.prompts),
            resources=len(server.lists.resources),
        )


class UpstreamProbe(NamedTuple):
    """Servers that were tried, and the gateway to them."""

    gateway: Gateway
    servers: list[ProbedServer]

    async def examine(self) -> dict[str, ServerCheckup]:
        """How each stands, after a round trip, by name."""
        found = await asyncio.gather(*(_examine(one) for one in self.servers))
        offers = list(self.gateway.offers().values())
        self.gateway.contents()  # which has notes of its own
        return {
            one.name: replace(
                one,
                tokens=sum(_tokens(offer) for offer in offers if offer.server == one.name)
                if one.state == "ready"
                else None,
                notes=self.gateway.notes.get(one.name, []),
            )
            for one in found
        }

    def describe(self, offer: OfferedTool) -> ToolSummary:
        """A tool of a server that was tried."""
        said = msgspec.json.decode(offer.entry).get("description")
        lines = said.splitlines() if isinstance(said, str) else ()
        rename = self.gateway.servers[offer.server].config.tools.rename
        return ToolSummary(
            name=offer.name,
            shown=display_name(offer.server, rename.get(offer.tool.name, offer.tool.name)),
            server=offer.server,
            tool=offer.tool.name,
            description=next((line.strip() for line in lines if line.strip()), ""),
            tokens=_tokens(offer),
        )

    async def call(
        self, offer: OfferedTool, arguments: bytes, *, who: str, progress: Callable[[Any], None] | None
    ) -> dict[str, Any]:
        """Calls a tool, and returns its result as it came."""
        return await self.gateway.call(offer.name, msgspec.Raw(arguments), None, who=who, progress=progress)

    def find(self, name: str) -> OfferedTool:
        """The tool with that name, as agents call it or as `server:tool`.

        Raises:
            UpstreamDown: its server is down.
            NotFound: there is none, or it is withheld.
        """
        offers = self.gateway.offers()
        known = {display_name(one.server, one.tool.name): one for one in offers.values()}
        known |= {self.describe(one).shown: one for one in offers.values()} | dict(offers)
        if name in known:
            return known[name]
        self._check_up(name)
        self._check_held(name)
        if error := self.gateway.explain_missing(name):
            raise error
        hint = did_you_mean(name, list(known)) or "bn upstream tools lists them"
        raise NotFound(f"no tool is called {name!r}", hint=hint)

    def _check_up(self, name: str) -> None:
        down = {one.name: one.checkup() for one in self.servers if one.status.state != "ready"}
        if owners := owners_of(name, down):
            found = down[owners[0]]
            why = f"{found.standing}: {found.reason}" if found.reason else found.standing
            raise UpstreamDown(why, hint=found.hint)

    def _check_held(self, name: str) -> None:
        tool = name.partition(":")[2] or name
        for server, notes in self.gateway.notes.items():
            if any(note.startswith(f"{tool}: ") and note.endswith("withheld") for note in notes):
                raise NotFound(f"{name} has changed, and is withheld", hint=f"bn upstream accept {server} {tool}")


def run_probe(
    project: Project,
    servers: Mapping[str, ConfiguredServer],
    work: Callable[[UpstreamProbe], Awaitable[Found]],
    *,
    only: Collection[str] | None,
    advance: Advance,
) -> Found:
    """Connects to all servers, or `only` those named, does something with them, and ends what was started."""
    brought = {name: one.entry.data for name, one in servers.items() if one.entry.source.kind == "discipline"}

    async def run() -> Found:
        async with probe_servers(project, brought, only=only, advance=advance) as probe:
            return await work(probe)

    return asyncio.run(run())


@contextlib.asynccontextmanager
async def probe_servers(
    project: Project,
    brought: Mapping[str, Any],
    *,
    only: Collection[str] | None,
    advance: Advance,
    shared: UpstreamConnections | None = None,
) -> AsyncIterator[UpstreamProbe]:
    """Tries servers, and returns when each is connected or has failed. Leaving the block ends what was started.

    `brought` are those of a discipline. Tries all at once, or `only` those named. `shared` are connections that others
    use, too: what they have connected is used, and not ended.
    """
    upstreams = shared or UpstreamConnections(project)
    gateway = upstreams.gateway(lambda: brought, lambda: None, only=only)
    try:
        gateway.start()
        yield UpstreamProbe(gateway, await _settle_all(list(gateway.servers.values()), advance))
    finally:
        await gateway.aclose()
        if shared is None:
            await upstreams.aclose()


async def _settle_all(servers: Sequence[SupervisedServer], advance: Advance) -> list[ProbedServer]:
    tasks = [asyncio.ensure_future(_settle(one)) for one in servers]
    pending, waits = set(tasks), FIRST_REPORT_SECONDS
    try:
        while pending:
            _, pending = await asyncio.wait(pending, timeout=waits)
            waits = 0.2
            if pending:
                launching = [one.config.name for one in servers if one.is_launching]
                advance(
                    len(tasks) - len(pending), f"launchers still working: {', '.join(launching)}" if launching else ""
                )
        return [task.result() for task in tasks]
    finally:
        for task in pending:
            task.cancel()


async def _settle(server: SupervisedServer) -> ProbedServer:
    began = time.perf_counter()
    status = await server.settle()
    return ProbedServer(server, status, time.perf_counter() - began)


async def _examine(one: ProbedServer) -> ServerCheckup:
    found = one.checkup()
    if one.status.state != "ready":
        return found
    try:
        return replace(found, latency_ms=round(await one.server.probe() * 1000, 1))
    except BinnacleError as error:
        return replace(found, state="failed", reason=error.message, hint=error.hint)


def _tokens(offer: OfferedTool) -> int:
    return count(bytes(offer.entry).decode(errors="replace"))
