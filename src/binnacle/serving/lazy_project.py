"""A project while it is served, whose tools are loaded only when they are needed.

A client starts its server and asks at once for its tools. The answer is the same every time, so it is saved
(`tool_list_cache`). The code that executes the tools (`toolbox`) is loaded with the first call, or when the server is
idle.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any

from binnacle.config.directories import brings_settings
from binnacle.config.repository_files import read_inside
from binnacle.project.project import Project
from binnacle.server.upstream_content import ForeignContent, NoForeignContent
from binnacle.serving.shared_upstreams import SharedUpstreams
from binnacle.serving.tool_list_cache import ToolList, fingerprint, read_or_make_list, save_list
from binnacle.sessions.session_request import SessionRequest
from binnacle.tools.caller import Caller
from binnacle.tools.client_facts import ClientFacts
from binnacle.tools.outcome import Outcome
from binnacle.upstream.configuration.server_config import ConfigProblem, warn_agents
from binnacle.work.session import Agent

if TYPE_CHECKING:
    from binnacle.serving.toolbox import SessionToolbox
    from binnacle.upstream.gateway import Gateway

IDLE_SECONDS = 0.3
"""How long after a request for the list the tools are loaded, before their first call."""

MAX_GUIDE_BYTES = 1 << 20
"""Maximum size of AGENTS.md. One that agents can read is far shorter."""

NO_PROJECT = "This server was started outside a project: call binnacle-set_agent with a repository's path first."

FindUntrusted = Callable[[Project], list[str]]
"""Lists what in a project has no effect because no person has trusted it."""


class LazyProject:
    """A project under a plan, as it is served. Its tools are loaded when needed."""

    def __init__(
        self,
        project: Project,
        session: SessionRequest,
        *,
        timeout: float,
        upstreams: SharedUpstreams,
        find_untrusted: FindUntrusted,
    ) -> None:
        self._project = project
        self._find_untrusted = find_untrusted
        self.repo = project.repo
        self.is_known = project.is_known
        self._with_session: tuple[bytes, bytes] = (b"", b"")
        """The list of tools, and the same list with a `session` parameter for every tool."""

        self._terms = session.terms
        self._session = session
        self._start = session.start
        self._timeout = timeout
        self.upstreams = upstreams
        self.upstreams_seen = upstreams.state()
        """The state of configuration and decisions when the servers were last loaded."""

        self.upstreams_changed = asyncio.Event()
        """Set when an upstream server has connected, disconnected or changed."""

        self._box: SessionToolbox | None = None
        self._shown: ToolList | None = None
        self._seen = fingerprint(self._terms.recipe, project.repo)
        self.updated: Callable[[str], None] = _ignore_update
        """Called with the URI of an upstream server's resource that has changed."""

        self._is_behind = False
        """Whether something has changed that the plan does not include yet."""

    def instructions(self) -> str:
        """Instructions about the tools for a client."""
        said = self._listing().instructions
        found = warn_agents(self._problems())
        return " ".join(filter(None, ("" if self.is_known else NO_PROJECT, said, found)))

    def _problems(self) -> tuple[ConfigProblem, ...]:
        """Problems in the configuration of upstream servers."""
        gateway = self._box.gateway if self._box is not None else None
        return gateway.problems if gateway is not None else self.upstreams.problems()

    def listing(self) -> bytes:
        """The tools of `tools/list`, a JSON array."""
        if self._box is None:
            asyncio.get_running_loop().call_later(IDLE_SECONDS, self.box)
        return self._listing().tools

    def listing_with_session(self) -> bytes:
        """The same with a `session` parameter for every tool."""
        listing = self.listing()
        if listing is not self._with_session[0]:
            self._with_session = (listing, with_session(listing))
        return self._with_session[1]

    def _listing(self) -> ToolList:
        if self._shown is None:
            if self._terms.is_bare and self._box is None:
                upstreams_key = self.upstreams.key()
                self._shown = read_or_make_list(self._seen, self._make_list, upstreams_key=upstreams_key)
            else:
                self._shown = self._make_list()
        return self._shown

    def _make_list(self) -> ToolList:
        box = self.box()
        return ToolList(box.instructions, box.listing)

    def foreign_content(self) -> ForeignContent:
        """What upstream servers have besides tools."""
        return (self._box.content if self._box else None) or NoForeignContent()

    def call(self, name: str, raw: bytes, caller: Caller) -> Awaitable[Outcome]:
        """Calls one tool."""
        return self.box().dispatcher.call(name, raw, caller)

    def box(self) -> "SessionToolbox":
        """The toolbox, loaded if needed."""
        if self._box is None:
            from binnacle.serving.toolbox import SessionToolbox
            from binnacle.sessions.planning import kept_limits

            first = self._session.first
            if first is None and self._session.id is not None:
                first = kept_limits(self._project, self._session.id, self._terms.recipe)
            self._box = SessionToolbox(
                self._project,
                self._terms,
                first=first,
                start=self._start,
                timeout=self._timeout,
                upstreams=self.upstreams.get,
                on_upstream_change=self.upstreams_changed.set,
                updated=self._update,
            )
            self.warn_of_problems()
        return self._box

    @property
    def loaded_box(self) -> "SessionToolbox | None":
        """The toolbox, if it is loaded."""
        return self._box

    def warn_of_problems(self) -> None:
        """Logs problems in the configuration of upstream servers to stderr."""
        self.upstreams.warn(self._problems())

    async def find_agent(
        self, facts: ClientFacts, *, name: str | None, open_here: Collection[str], is_new: bool
    ) -> Agent:
        """The agent of a connection, found by its process or registered; always registered if `is_new`."""
        return await self.box().find_agent(facts, name=name, open_here=open_here, is_new=is_new)

    async def resume_agent(self, facts: ClientFacts, *, open_here: Collection[str]) -> Agent | None:
        """The agent that the same process was before, or None."""
        return await self.box().resume_agent(facts, open_here=open_here)

    async def link_agent(self, agent_id: str, facts: ClientFacts) -> Agent:
        """Makes a registered agent use a connection."""
        return await self.box().link_agent(agent_id, facts)

    async def is_active(self, agent_id: str) -> bool:
        """Whether an agent has not ended."""
        return await self.box().is_active(agent_id)

    async def end_agent(self, agent_id: str, *, reason: str) -> None:
        """Ends an agent and gives back its tasks."""
        await self.box().end_agent(agent_id, reason=reason)

    async def status(self, caller: Caller) -> str:
        """The state of the project and of its upstream servers, as JSON."""
        box = self.box()
        text = await box.status(caller)
        more: dict[str, Any] = {}
        if brings_settings(self._project.repo):
            more["not_trusted"] = await asyncio.to_thread(self._find_untrusted, self._project)
        if box.gateway is not None:
            more["upstreams"] = _describe_servers(box.gateway)
        if problems := self._problems():
            more["upstream_problems"] = list(problems)
        return _add_fields(text, more)

    async def guide(self) -> str | None:
        """AGENTS.md of the repository, if there is one."""
        try:
            return read_inside(self.repo, "AGENTS.md", limit=MAX_GUIDE_BYTES).decode(errors="replace")
        except OSError:
            return None

    def _update(self, uri: str) -> None:
        self.updated(uri)

    def refresh(self, *, is_store_changed: bool) -> None:
        """Makes the plan again if its recipe, an upstream server, or a store that it depends on has changed."""
        written = fingerprint(self._terms.recipe, self._project.repo)
        is_rewritten, self._seen = written != self._seen, written
        self._is_behind |= (
            is_rewritten or self.upstreams_changed.is_set() or (is_store_changed and not self._terms.is_bare)
        )
        self.upstreams_changed.clear()
        if self._is_behind:
            self.box().refresh(reread=is_rewritten)
            self._is_behind = False

    def take_changed_list(self) -> bool:
        """Whether the list of tools differs from the one that clients saw; a new one is saved for the next server."""
        if self._shown is None or self._shown == (made := self._make_list()):
            return False
        self._shown = None
        if self._terms.is_bare:
            save_list(self._seen, made, upstreams_key=self.upstreams.key())
        return True

    async def aclose(self) -> None:
        if self._box is not None:
            await self._box.aclose()


def _ignore_update(uri: str) -> None:
    """The default of `updated`."""


def _add_fields(status: str, more: dict[str, Any]) -> str:
    """A status with additional fields."""
    import msgspec

    return msgspec.json.encode({**msgspec.json.decode(status, type=dict[str, msgspec.Raw]), **more}).decode()


def _describe_servers(gateway: "Gateway") -> list[dict[str, Any]]:
    from binnacle.serving.upstream_connections import describe_servers

    return describe_servers(gateway)


def with_session(listing: bytes) -> bytes:
    """A list of tools with a `session` parameter for each, unless it has one already."""
    import msgspec

    tools = msgspec.json.decode(listing, type=list[dict[str, Any]])
    for tool in tools:
        schema = tool.get("inputSchema", {})
        if isinstance(schema, dict) and isinstance(schema.setdefault("properties", {}), dict):
            schema["properties"].setdefault("session", {"type": "string"})
    return msgspec.json.encode(tools)
