"""In which state each upstream server is, and how we know.

A state comes from one of three sources, and each answer says from which: `live` is that of this process, which serves
sessions over MCP; `tested` is how it stood when a person last tried it on this page; `configured` is all that is known
without connecting.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct

from binnacle.app.upstream_history import find_changed_tools
from binnacle.app.upstream_probe import HINTS
from binnacle.config import trust
from binnacle.config.trust import State
from binnacle.errors import ConfigError
from binnacle.project.project import Project
from binnacle.store.features import list_disciplines
from binnacle.store.transaction import Reader
from binnacle.upstream.configuration.config_paths import lists_folder
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.configuration.server_overview import (
    ConfiguredServer,
    ServerRow,
    ServersOverview,
    find_server,
    read_overview,
    row,
)
from binnacle.upstream.configuration.server_trust import FOREIGN, trust_item_of
from binnacle.upstream.listing.list_cache import ListCache
from binnacle.upstream.server_status import ServerState, describe_state
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.web.page_project import PageProject
from binnacle.web.upstream_tests import TestedServer, upstream_tests_of
from binnacle.wire.hidden_text import make_visible

StateSource = Literal["live", "tested", "configured"]
UpstreamState = ServerState | Literal["broken", "untested"]


class UpstreamEntry(Struct, frozen=True, kw_only=True):
    """A server and its state."""

    server: ServerRow
    disciplines: list[str]
    """The disciplines that bring it; none if it is configured for everyone."""

    state: UpstreamState
    standing: str
    """The state as a sentence."""

    reason: str
    hint: str
    state_from: StateSource
    at: datetime | None
    """When the state was seen; for a live server, since when it is in it."""

    next_retry: datetime | None
    connect_ms: float | None
    latency_ms: float | None
    tools: int | None
    """How many tools it has, or had when it was last connected; None if that is not known."""

    tools_are_old: bool
    """Whether the number is from the last connection, and not from the state that is shown."""

    tokens: int | None
    version: str
    notes: list[str]
    is_testing: bool
    changed_tools: int
    """Tools that are not as they were when they were accepted."""

    trust: State | Literal["not needed"]


class UpstreamsAround(Struct, frozen=True, kw_only=True):
    """What is configured, and which disciplines bring what."""

    overview: ServersOverview
    brought: Mapping[str, Any]
    disciplines: Mapping[str, list[str]]

    def find(self, name: str) -> ConfiguredServer:
        return find_server(self.overview, name)

    def config(self, name: str) -> ServerConfig:
        server = self.find(name)
        if server.config is None:
            problem = server.problems[0]
            raise ConfigError(f"{problem.where}: {name}: {problem.message}", hint=problem.hint)
        return server.config


async def look_around(project: PageProject) -> UpstreamsAround:
    brought, disciplines = await project.read(_find_brought)
    overview = await asyncio.to_thread(read_overview, project.project.repo, discipline=brought or None)
    return UpstreamsAround(overview=overview, brought=brought, disciplines=disciplines)


def _find_brought(tx: Reader) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The servers that disciplines bring, and which bring each."""
    brought: dict[str, Any] = {}
    disciplines: dict[str, list[str]] = {}
    for one in list_disciplines(tx):
        for name, entry in one.upstreams.items():
            brought.setdefault(name, entry)
            disciplines.setdefault(name, []).append(one.name)
    return brought, disciplines


def find_live(project: PageProject, name: str) -> SupervisedServer | None:
    return project.shared_upstreams.find_live(name) if project.shared_upstreams is not None else None


def describe_upstream(project: PageProject, around: UpstreamsAround, server: ConfiguredServer) -> UpstreamEntry:
    place = project.project
    name = server.entry.name
    shown = row(server, place.repo, data_dir=place.data_dir)
    live, tested = find_live(project, name), upstream_tests_of(project).find(name)
    seen = _see(shown, server, live, tested)
    known = seen.tools if seen.tools is not None else _count_known_tools(place, server.config)
    return UpstreamEntry(
        server=shown,
        disciplines=around.disciplines.get(name, []) if server.entry.source.kind == "discipline" else [],
        state=seen.state,
        standing=_say(name, seen.state),
        reason=make_visible(seen.reason),
        hint=make_visible(seen.hint),
        state_from=seen.state_from,
        at=seen.at,
        next_retry=seen.next_retry,
        connect_ms=tested.checkup.connect_ms if tested and seen.state_from == "tested" else None,
        latency_ms=seen.latency_ms,
        tools=known,
        tools_are_old=seen.tools is None and known is not None,
        tokens=tested.checkup.tokens if tested and seen.state_from == "tested" else None,
        version=seen.version,
        notes=[make_visible(note) for note in (*seen.notes, *shown.held_back)],
        is_testing=upstream_tests_of(project).is_running(name),
        changed_tools=len(find_changed_tools(place, name)),
        trust=_trust_state(place, server),
    )


class _Seen(Struct, frozen=True, kw_only=True):
    """In which state a server is, and how we know."""

    state: UpstreamState
    state_from: StateSource = "configured"
    reason: str = ""
    hint: str = ""
    at: datetime | None = None
    next_retry: datetime | None = None
    latency_ms: float | None = None
    tools: int | None = None
    version: str = ""
    notes: tuple[str, ...] = ()


def _see(
    shown: ServerRow, server: ConfiguredServer, live: SupervisedServer | None, tested: TestedServer | None
) -> _Seen:
    """What is certain from the configuration counts first, then what is live, then the last test."""
    if server.config is None:
        problem = server.problems[0]
        return _Seen(state="broken", reason=problem.message, hint=problem.hint)
    if not shown.enabled:
        return _Seen(state="disabled", reason=f"in {shown.source}", hint=_hint(shown.name, "disabled"))
    if not shown.trusted:
        return _Seen(state="awaiting_trust", hint=_hint(shown.name, "awaiting_trust"))
    if live is not None:
        return _see_live(live)
    if tested is not None:
        return _see_tested(tested)
    return _Seen(state="untested")


def _see_live(live: SupervisedServer) -> _Seen:
    status, is_up = live.status, live.client is not None
    return _Seen(
        state=status.state,
        state_from="live",
        reason=status.reason,
        hint=_hint(live.config.name, status.state),
        at=datetime.fromtimestamp(status.since, UTC),
        next_retry=datetime.fromtimestamp(status.next_retry, UTC) if status.next_retry else None,
        latency_ms=round(live.latency * 1000, 1) if live.latency is not None else None,
        tools=len(live.tools) if is_up else None,
        version=live.client.link.version if live.client is not None else "",
    )


def _see_tested(tested: TestedServer) -> _Seen:
    found = tested.checkup
    return _Seen(
        state=found.state,
        state_from="tested",
        reason=found.reason,
        hint=found.hint,
        at=tested.at,
        latency_ms=found.latency_ms,
        tools=found.tools,
        version=found.version or "",
        notes=tuple(found.notes or ()),
    )


def _hint(name: str, state: str) -> str:
    return HINTS[state].format(name=name) if state in HINTS else ""


def _say(name: str, state: str) -> str:
    words = {"untested": f"{name} is not connected here", "broken": f"{name} is not configured well"}
    return words.get(state) or describe_state(name, state)


def _trust_state(project: Project, server: ConfiguredServer) -> State | Literal["not needed"]:
    if server.config is None or server.config.source.kind not in FOREIGN:
        return "not needed"
    return trust.state_of(trust_item_of(server.config), trust.find_trusted(project.repo))


def _count_known_tools(project: Project, config: ServerConfig | None) -> int | None:
    """How many tools a server listed when it was last connected."""
    found = ListCache(lists_folder(project.data_dir)).find(config) if config else None
    return len(found.tools) if found is not None and found.tools else None
