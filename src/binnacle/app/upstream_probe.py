"""Connects to upstream servers for one command: to look at them, or to call one. Heavy: loads what connects."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from binnacle.errors import BinnacleError, NotFound, UpstreamDown, did_you_mean
from binnacle.plan.token_count import count
from binnacle.project.project import Project
from binnacle.serving.upstream_connections import UpstreamConnections
from binnacle.upstream.gateway import Gateway
from binnacle.upstream.listing.missing_tools import owners_of
from binnacle.upstream.server_status import ServerStatus, describe_state
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.upstream.toolsets.prefixed import OfferedTool
from binnacle.upstream.toolsets.tool_names import display_name

FIRST_REPORT_SECONDS = 1.0
"""Seconds after which somebody who waits is told how far it is."""

HINTS = {
    "disabled": "bn upstream enable {name}",
    "awaiting_trust": "bn trust server:{name}",
    "needs_login": "bn upstream login {name}",
    "failed": "bn upstream logs {name}",
}
"""What to do about a server that is not ready."""

Row = dict[str, Any]
Advance = Callable[[int, str], None]
"""Told how many servers are known to be connected, or not to be, and what the others wait for."""


class ProbedServer(NamedTuple):
    """A server after it was tried."""

    server: SupervisedServer
    status: ServerStatus
    seconds: float
    """How long it took to find out."""

    @property
    def name(self) -> str:
        return self.server.config.name

    def row(self) -> Row:
        """How it stands, with the next step where it is not ready."""
        state, reason = self.status.state, self.status.reason
        row: Row = {"name": self.name, "state": state, "connect_ms": round(self.seconds * 1000, 1)}
        row["pin"] = self.server.config.pin
        if reason:
            row["reason"] = reason
        if state in HINTS and (state != "failed" or self.server.config.transport == "stdio"):
            row["hint"] = HINTS[state].format(name=self.name)
        if client := self.server.client:
            row |= {"era": client.era, "version": client.link.version, "server": client.server}
            row |= {
                "tools": len(self.server.tools),
                "prompts": len(self.server.lists.prompts),
                "resources": len(self.server.lists.resources),
            }
        return row


class UpstreamProbe(NamedTuple):
    """Servers that were tried, and the gateway to them."""

    gateway: Gateway
    servers: list[ProbedServer]

    async def examine(self) -> dict[str, Row]:
        """How each stands, after a round trip, by name."""
        rows = await asyncio.gather(*(_examined(one) for one in self.servers))
        offers = list(self.gateway.offers().values())
        self.gateway.contents()  # which has notes of its own
        for row in rows:
            if row["state"] == "ready":
                row["tokens"] = sum(_tokens(one) for one in offers if one.server == row["name"])
            row["notes"] = self.gateway.notes.get(row["name"], [])
        return {row["name"]: row for row in rows}

    def describe(self, offer: OfferedTool) -> Row:
        """A tool, for people and programs that look for one."""
        said = msgspec.json.decode(offer.entry).get("description")
        lines = said.splitlines() if isinstance(said, str) else ()
        rename = self.gateway.servers[offer.server].config.tools.rename
        return {
            "name": offer.name,
            "shown": display_name(offer.server, rename.get(offer.tool.name, offer.tool.name)),
            "server": offer.server,
            "tool": offer.tool.name,
            "description": next((line.strip() for line in lines if line.strip()), ""),
            "tokens": _tokens(offer),
        }

    def find(self, name: str) -> OfferedTool:
        """The tool with that name, which is the one that agents call it by, or `server:tool`.

        Raises:
            UpstreamDown: its server is not there.
            NotFound: there is none, or it is held back.
        """
        offers = self.gateway.offers()
        known = {display_name(one.server, one.tool.name): one for one in offers.values()}
        known |= {self.describe(one)["shown"]: one for one in offers.values()} | dict(offers)
        if name in known:
            return known[name]
        self._check_up(name)
        self._check_held(name)
        if error := self.gateway.explain_missing(name):
            raise error
        hint = did_you_mean(name, list(known)) or "bn upstream tools lists them"
        raise NotFound(f"no tool is called {name!r}", hint=hint)

    def _check_up(self, name: str) -> None:
        down = {one.name: one.row() for one in self.servers if one.status.state != "ready"}
        if owners := owners_of(name, down):
            row = down[owners[0]]
            text = describe_state(row["name"], row["state"])
            raise UpstreamDown(f"{text}: {row['reason']}" if row.get("reason") else text, hint=row.get("hint", ""))

    def _check_held(self, name: str) -> None:
        tool = name.partition(":")[2] or name
        for server, notes in self.gateway.notes.items():
            if any(note.startswith(f"{tool}: ") and note.endswith("held back") for note in notes):
                raise NotFound(f"{name} has changed, and is held back", hint=f"bn upstream accept {server} {tool}")


@contextlib.asynccontextmanager
async def probe_servers(
    project: Project, brought: Mapping[str, Any], *, only: Collection[str] | None, advance: Advance
) -> AsyncIterator[UpstreamProbe]:
    """Servers, once each of them is connected or known not to be. Leaving it ends what was started.

    `brought` are those of a discipline. All are tried at once, or `only` those named.
    """
    upstreams = UpstreamConnections(project)
    gateway = upstreams.gateway(lambda: brought, lambda: None, only=only)
    try:
        gateway.start()
        yield UpstreamProbe(gateway, await _settle_all(list(gateway.servers.values()), advance))
    finally:
        await gateway.aclose()
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


async def _examined(one: ProbedServer) -> Row:
    row = one.row()
    if one.status.state == "ready":
        try:
            row["latency_ms"] = round(await one.server.probe() * 1000, 1)
        except BinnacleError as error:
            row |= {"state": "failed", "reason": error.message, "hint": error.hint}
    return row


def _tokens(offer: OfferedTool) -> int:
    return count(bytes(offer.entry).decode(errors="replace"))
