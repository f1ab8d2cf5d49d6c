"""What a run gives its workers: the MCP server of each session, prompts, and the environment of agents."""

import asyncio
import contextlib
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from binnacle.app.mcp_serving import open_mcp_server
from binnacle.app.prompt_templates import with_template
from binnacle.app.run_request import RunRequest
from binnacle.config.child_environment import for_agent
from binnacle.config.clients.session_server import free_server_name
from binnacle.config.private_files import make_private_folder
from binnacle.errors import Refused
from binnacle.plan.prompt_data import RunSituation
from binnacle.plan.recipe import matching
from binnacle.plan.recipe_limits import limits_of
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_files import bn_command
from binnacle.project.project import Project
from binnacle.project.session_locks import hold_session_lock, is_abandoned
from binnacle.project.store_opening import open_store
from binnacle.project.tool_catalog import catalog_of
from binnacle.runner.agents.permissions import OwnTools
from binnacle.runner.ports import PLANNING_RECIPE, Worker
from binnacle.runner.prompt_template import TemplateValues
from binnacle.runner.run_store import retry_during_outage
from binnacle.server.bearer_tokens import OneToken
from binnacle.server.http_listener import bind, serve_http
from binnacle.server.http_routes import HttpRoutes
from binnacle.server.mcp_over_http import McpOverHttp
from binnacle.serving.shared_upstreams import SharedUpstreams
from binnacle.sessions.planning import PlanWithRecipe, join_session, keep_plan, make_plan, session_folder
from binnacle.sessions.run_sessions import RunSessions
from binnacle.sessions.session_request import SessionRequest
from binnacle.store import sessions
from binnacle.store.reviewer_sessions import REVIEW_RECIPE
from binnacle.tools.tool_search import FINDERS
from binnacle.wire import acp
from binnacle.work.actor import SYSTEM
from binnacle.work.session import SessionTerms

REVIEWERS_FOLDER = "reviewers"
"""The folder, among the data of a project, in which agents that review have an empty folder each."""

BN_RUN_TIMEOUT_SECONDS = 120.0
"""Seconds that a `bn` command of an agent may take."""


class RunServices:
    """Serves the sessions of a run on one port, each at its own path and with its own token."""

    def __init__(
        self,
        project: Project,
        wanted: RunRequest,
        opened: RunSessions,
        workers: Sequence[Worker],
        url: str,
        routes: HttpRoutes,
    ) -> None:
        self._project = project
        self._wanted = wanted
        self._terms = opened.terms
        self._said = opened.said
        self._secrets = opened.secrets
        self._cwds = {worker.session: worker.cwd for worker in workers}
        self._url = url
        self._routes = routes
        self._upstreams = SharedUpstreams(project, wanted.servers)
        self._serving: dict[str, McpOverHttp] = {}
        self.server = free_server_name(workers[0].cwd)
        """The name of the session's server in agents."""

        catalog = catalog_of(project)
        reviews = wanted.review_recipe
        names = {opened.terms.recipe, PLANNING_RECIPE, reviews, *(one for _, _, one in wanted.agents if one)}
        self._first = {name: limits_of(load_recipe(name, catalog, repo=project.repo)) for name in names}
        """The recipes as they were when the run began: its agents can change the files."""

        if matching((rule.name for rule in self._first[reviews].tools), ("review_verdict",)) is None:
            hint = f"name one with review_verdict, or leave it out for {REVIEW_RECIPE}"
            raise Refused(f"the recipe {reviews!r} of the stage review has no tool for a verdict", hint=hint)
        self._reviewers: set[str] = set()
        """The sessions of agents that review. They are not told what the run was asked for, only their change."""

        self._made: dict[str, PlanWithRecipe] = {}
        """The latest plan of each session."""

    def terms(self, recipe: str, *, discipline: str | None = None, task: str | None = None) -> SessionTerms:
        return self._terms._replace(recipe=recipe, discipline=discipline or self._terms.discipline, task=task)

    @asynccontextmanager
    async def serve(self, session: str, terms: SessionTerms, agent: str) -> AsyncIterator[Sequence[acp.McpServer]]:
        served = SessionRequest(terms, session, self._cwds[session], first=self._first.get(terms.recipe))
        path = f"/mcp/{session}"
        token = secrets.token_urlsafe(24)
        async with open_mcp_server(
            self._project, served, prompts=tuple, timeout=BN_RUN_TIMEOUT_SECONDS, upstreams=self._upstreams
        ) as mcp_server:
            self._serving[session] = endpoint = McpOverHttp(mcp_server, tokens=OneToken(token), path=path)
            with self._routes.shown(path, endpoint):
                yield [
                    acp.HttpMcpServer(
                        name=self.server,
                        url=f"{self._url}{path}",
                        headers=(acp.NameValue(name="Authorization", value=f"Bearer {token}"),),
                    ),
                    self._stdio(session, terms.recipe, agent),
                ]

    def _stdio(self, session: str, recipe: str, agent: str) -> acp.StdioMcpServer:
        """The server for an agent that only supports stdio."""
        words = ("-C", self._cwds[session], "mcp", "serve", "--session", session, "--recipe", recipe)
        env = tuple(
            acp.NameValue(name=name, value=value)
            for name, value in self.environment(session, agent).items()
            if name.startswith(("BN_", "XDG_", "PG"))
        )
        return acp.StdioMcpServer(name=self.server, command=bn_command(), args=words, env=env)

    @asynccontextmanager
    async def open_reviewer(self, session: str) -> AsyncIterator[str]:
        folder = os.path.join(self._project.data_dir, REVIEWERS_FOLDER, session)
        with hold_session_lock(self._project, session):
            self._secrets[session] = await retry_during_outage(lambda: self._join(session))
            self._cwds[session] = self._project.repo
            self._reviewers.add(session)
            await asyncio.to_thread(_remove_abandoned, self._project)
            await asyncio.to_thread(make_private_folder, folder)
            try:
                yield folder
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _join(self, session: str) -> str:
        """Registers the agent of a session, and returns the secret of it."""
        with open_store(self._project) as store, store.write(by=SYSTEM) as tx:
            join_session(tx, session, name=self._wanted.name)
            return sessions.issue_secret(tx, session)

    async def prompt(
        self, session: str, terms: SessionTerms, *, iteration: int, more: str, situation: RunSituation | None
    ) -> str:
        return await retry_during_outage(lambda: self._prompt(session, terms, iteration, more, situation))

    def _prompt(
        self, session: str, terms: SessionTerms, iteration: int, more: str, situation: RunSituation | None
    ) -> str:
        project, wanted, catalog = self._project, self._wanted, catalog_of(self._project)
        is_reviewer = session in self._reviewers
        said, asked = ("", "") if is_reviewer else (self._said, wanted.extra)
        extra = "\n\n".join(part for part in (asked, more) if part)
        with open_store(project) as store, store.read() as tx:
            made = make_plan(
                tx, project, catalog, terms, session=session, said=said, extra=extra, run=situation,
                first=self._first.get(terms.recipe),
            )  # fmt: skip
            plan = made.plan
            if wanted.template is not None and terms.recipe != PLANNING_RECIPE and not is_reviewer:
                values = TemplateValues(run=wanted.name, session=session, iteration=iteration)
                plan = with_template(
                    tx, project, catalog, wanted.template, made.recipe, plan, values, extra=extra, run=situation
                )
        keep_plan(project, plan)
        self._made[session] = made
        return plan.prompt.text

    def own_tools(self) -> OwnTools:
        """The tools that the agents of this run may always call: those that their plans list."""
        made = list(self._made.values())  # plans are made in other threads
        has_upstreams = any(one.recipe.upstreams for one in made)
        tools = {tool.name for one in made for tool in one.plan.tools}
        return OwnTools(
            server=self.server, tools=tools.union(FINDERS if has_upstreams else ()), has_upstreams=has_upstreams
        )

    def tool_names(self, session: str) -> dict[str, str]:
        made = self._made.get(session)
        return {tool.tool: tool.name for tool in made.plan.tools} if made else {}

    def is_busy(self, session: str) -> bool:
        endpoint = self._serving.get(session)
        return endpoint is not None and endpoint.is_busy

    def folder(self, session: str) -> str:
        return session_folder(self._project, session)

    def environment(self, session: str, agent: str) -> dict[str, str]:
        """Variables by which agents also act as their session in their shells."""
        found = for_agent(os.environ, agent)
        return {**found, "BN_SESSION": self._secrets[session], "BN_MCP_SESSION": session}

    async def aclose(self) -> None:
        await self._upstreams.aclose()


def _remove_abandoned(project: Project) -> None:
    """Removes the folders of reviewers whose run was killed."""
    folder = os.path.join(project.data_dir, REVIEWERS_FOLDER)
    for session in os.listdir(folder) if os.path.isdir(folder) else ():
        if is_abandoned(project, session):
            shutil.rmtree(os.path.join(folder, session), ignore_errors=True)


@asynccontextmanager
async def open_services(
    project: Project, wanted: RunRequest, opened: RunSessions, workers: Sequence[Worker]
) -> AsyncIterator[RunServices]:
    """The services of a run, with a server that accepts connections until the block is left."""
    routes = HttpRoutes()
    listener = bind("127.0.0.1", 0)
    ready, stop = asyncio.Event(), asyncio.Event()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    serving = asyncio.create_task(serve_http(routes, listener, on_ready=ready.set, stop=stop))
    services = RunServices(project, wanted, opened, workers, url, routes)
    try:
        await _either(ready, serving)
        yield services
    finally:
        stop.set()
        await services.aclose()
        with contextlib.suppress(asyncio.CancelledError):
            await serving


async def _either(ready: asyncio.Event, serving: "asyncio.Task[None]") -> None:
    """Waits until the server is ready, or raises its error."""
    waiting = asyncio.create_task(ready.wait())
    try:
        await asyncio.wait({waiting, serving}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
