"""The tools of a project and what executes them. Heavy: imported when the first tool is called, not at start-up."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from binnacle.errors import BinnacleError
from binnacle.passthrough.command_runner import CommandRunner
from binnacle.plan.recipe import Recipe
from binnacle.plan.recipe_limits import limits_of, narrow
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_plan import SessionSubject, bind, choose, finders, introduction, shown_names, subject
from binnacle.plan.tool_budget import fit_tools
from binnacle.plan.tool_limits import task_check
from binnacle.project.project import Project
from binnacle.project.script_provider import ScriptProvider
from binnacle.project.store_opening import open_store
from binnacle.project.tool_catalog import open_access, own_tools
from binnacle.proving.background_closing import BackgroundClosing
from binnacle.serving.upstream_connections import UpstreamConnections
from binnacle.store import agents, tasks
from binnacle.store.transaction import Reader, Writer
from binnacle.store.views import overview
from binnacle.tools.agent_identity import find_or_register, find_resumed, link, register_new
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.client_facts import ClientFacts
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.outcome import ToolReply
from binnacle.tools.recent_tools import RecentTools
from binnacle.tools.tool_search import FINDERS, ToolFinder, ToolIndex
from binnacle.tools.tool_spec import ToolSpec
from binnacle.tools.upstream_tools import upstream_tools
from binnacle.upstream.configuration.config_paths import upstream_folder
from binnacle.upstream.gateway import Gateway
from binnacle.upstream.toolsets.prefixed import OfferedTool
from binnacle.work.feature import Discipline
from binnacle.work.session import Agent, SessionTerms
from binnacle.work.task import brief

if TYPE_CHECKING:
    from binnacle.tools.permitted_content import PermittedContent


class SessionToolbox:
    """Dispatcher and providers of one session. Closing it ends every process it started and closes the store."""

    def __init__(
        self,
        project: Project,
        terms: SessionTerms,
        *,
        first: Recipe | None,
        start: str | None,
        timeout: float,
        upstreams: Callable[[bool], UpstreamConnections | None],
        on_upstream_change: Callable[[], None],
        updated: Callable[[str], None],
    ) -> None:
        """`first` is the most that the session may have, by default what its recipe says now.

        `start` is the folder in which the session's agent works. `upstreams` returns the connections to upstream
        servers; its argument says whether the session has servers of its discipline. `on_upstream_change` is called
        when an upstream server has connected, disconnected or changed, `updated` when a resource of one has changed.
        """
        self._project = project
        self._terms = terms
        self._first = first
        workspace = start or project.repo
        self._access = open_access(project, workspace=workspace, is_served=True)
        self._closing = BackgroundClosing(
            project,
            self._access,
            workspace=workspace,
            patience=project.settings.number("checks.answer_seconds"),
        )
        self._access.done_requests = self._closing
        self._runner = CommandRunner()
        finder = ToolFinder(self._search_index, self._reply)
        self._built_in = own_tools(self._access, self._runner, finder, timeout=timeout)
        self._scripts = ScriptProvider(project, start=start)
        self._index: ToolIndex | None = None
        self._recent = RecentTools(os.path.join(upstream_folder(project.data_dir), "recent.json"))
        self._upstreams = upstreams
        self._on_upstream_change = on_upstream_change
        self._updated = updated
        self._brought: Mapping[str, Any] = {}
        self.has_other_upstreams = False
        """Whether the discipline has other upstream servers now than those that were loaded."""

        self.gateway: Gateway | None = None
        self._denied: tuple[str, ...] = ()
        self._made_of: tuple[Recipe, Discipline | None, Mapping[str, OfferedTool]] | None = None
        try:
            if not terms.is_bare:
                self._access.watch()  # before the plan is made, so that later changes refresh it
            self.refresh(reread=True)
        except BinnacleError:
            self._access.close()
            raise

    def refresh(self, *, reread: bool) -> None:
        """Computes the current tools of the session. With `reread`, recipe and scripts are read again."""
        if reread:
            self._own = [*self._built_in, *self._scripts.specs(self._built_in)]
            self._made_of = None
            written = load_recipe(self._terms.recipe, Catalog(self._own), repo=self._project.repo)
            self._recipe = narrow(written, self._first, Catalog(self._own))
            self._first = self._first or limits_of(written)
        recipe, about = self._recipe, self._subject()
        self._denied = about.discipline.denied_tools if about.discipline else ()
        self._connect(recipe, about.discipline)
        offers = self.gateway.offers() if self.gateway else {}
        if self._made_of == (recipe, about.discipline, offers):
            return
        catalog = Catalog([*self._own, *self._foreign()])
        rules, _ = choose(recipe, catalog, about.discipline)
        check = task_check(self._access, about.task.id if about.task else None)
        exposed = bind(recipe, rules, catalog, about, check=check)
        first = [*self._recent.names, *(offer.name for offer in offers.values() if offer.is_pinned)]
        exposed, entries = fit_tools(recipe, exposed, finders(recipe, catalog, about), first=first)
        self.dispatcher = Dispatcher(
            catalog, exposed=exposed, instead=recipe.instead, explain_missing=self._explain_missing
        )
        self.instructions = introduction(shown_names(exposed))
        self.listing = b"[%b]" % b",".join(entries)
        self._index = None
        self._made_of = (recipe, about.discipline, offers)

    async def _reply(self, caller: Caller, name: str, raw: bytes) -> ToolReply:
        return await self.dispatcher.reply(caller, name, raw)

    def _explain_missing(self, name: str) -> BinnacleError | None:
        return self.gateway.explain_missing(name) if self.gateway is not None else None

    def _search_index(self) -> ToolIndex:
        """The search index of the session's tools."""
        if self._index is None:
            found = (one.entry() for one in self.dispatcher.exposed if one.spec.name not in FINDERS)
            self._index = ToolIndex(found)
        return self._index

    def _connect(self, recipe: Recipe, discipline: Discipline | None) -> None:
        """Starts connecting to the upstream servers, if the session may use them."""
        brought = discipline.upstreams if discipline else {}
        if brought != self._brought and self.gateway is not None:
            self.has_other_upstreams = True
            self._on_upstream_change()
        self._brought = brought
        if self.gateway is None and recipe.upstreams and (upstreams := self._upstreams(bool(brought))):
            self.gateway = upstreams.gateway(lambda: self._brought, self._on_upstream_change)
            self.gateway.updated = self._updated
            self.gateway.start()

    @property
    def content(self) -> "PermittedContent | None":
        """What upstream servers have besides tools, if the session may use it."""
        if self.gateway is None or not self._recipe.upstreams:
            return None
        from binnacle.tools.permitted_content import PermittedContent

        return PermittedContent(self.gateway, self._denied)

    async def reload_upstreams(self) -> None:
        """Reads the configuration of the upstream servers again."""
        self.has_other_upstreams = False
        if self.gateway is not None:
            await self.gateway.reload()

    def _foreign(self) -> Iterable[ToolSpec]:
        """The tools of upstream servers. Without servers, no code for them is loaded."""
        if self.gateway is None:
            return ()

        return upstream_tools(self.gateway, self._recent.note)

    def _subject(self) -> SessionSubject:
        if self._terms.is_bare:
            return SessionSubject()
        with open_store(self._project, create=False) as store, store.read() as tx:
            return subject(tx, self._terms.discipline, self._terms.feature, self._terms.task)

    async def has_store_changed(self) -> bool:
        """Whether the store has changed since the last call."""
        return await self._access.has_changed()

    async def find_agent(
        self, facts: ClientFacts, *, name: str | None, open_here: Collection[str], is_new: bool
    ) -> Agent:
        """The agent of a connection, found by its process or registered; always registered if `is_new`."""
        if is_new:
            return await self._access.change(lambda tx: register_new(tx, facts, name=name))
        return await self._access.change(lambda tx: find_or_register(tx, facts, name=name, open_here=open_here))

    async def resume_agent(self, facts: ClientFacts, *, open_here: Collection[str]) -> Agent | None:
        """The agent that the same process was before, or None."""
        return await self._access.look(lambda tx: find_resumed(tx, facts, open_here=open_here))

    async def link_agent(self, agent_id: str, facts: ClientFacts) -> Agent:
        """Makes a registered agent use a connection."""
        return await self._access.change(lambda tx: link(tx, agents.get_active(tx, agent_id), facts))

    async def is_active(self, agent_id: str) -> bool:
        """Whether an agent has not ended."""
        return await self._access.look(lambda tx: agents.get(tx, agent_id).ended_at is None)

    async def end_agent(self, agent_id: str, *, reason: str) -> None:
        """Ends an agent and gives back its tasks."""
        await self._access.change(lambda tx: _end_agent(tx, agent_id, reason))

    async def status(self, caller: Caller) -> str:
        """The state of the project, as JSON."""
        return await self._access.run(caller, _status, writes=False)

    async def aclose(self) -> None:
        if self.gateway is not None:
            await self.gateway.aclose()
        self._recent.close()
        await self._closing.aclose()
        await self._scripts.aclose()
        await self._runner.aclose()
        self._access.close()


def _end_agent(tx: Writer, agent_id: str, reason: str) -> None:
    if agents.get(tx, agent_id).ended_at is None:
        agents.end(tx, agent_id, reason=reason)


def _status(tx: Reader) -> str:
    ready, _ = tasks.list_ready(tx, limit=10)
    found = {"overview": overview.load_overview(tx), "ready": [brief(task) for task in ready]}
    return msgspec.json.encode(found).decode()
