"""Puts a run together: its sessions, the server its agents use, their prompts, and the loop that drives them."""

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from msgspec import Struct

from binnacle.app.mcp_serving import open_mcp_server
from binnacle.app.prompt_templates import with_template
from binnacle.config.child_environment import for_agent
from binnacle.config.clients.run_start import leave_out_binnacle
from binnacle.config.clients.session_server import free_server_name
from binnacle.plan.recipe_limits import limits_of
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_files import bn_command
from binnacle.processes.keeper import Keeper
from binnacle.project.project import Project
from binnacle.project.session_locks import hold_run_lock, hold_session_lock
from binnacle.project.store_opening import open_store
from binnacle.project.tool_catalog import catalog_of
from binnacle.project.workspace import workspace_of
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.permissions import Approve, AskPerson, OwnTools, by_policy
from binnacle.runner.budget import RunBudget, RunSpending
from binnacle.runner.hooks.hook_file import find_hooks
from binnacle.runner.hooks.hook_runner import HookRunner
from binnacle.runner.loop import RunLoop
from binnacle.runner.ports import PLANNING_RECIPE, RunOptions, Worker
from binnacle.runner.prompt_template import PromptTemplate, TemplateValues
from binnacle.runner.run_context import RunContext
from binnacle.runner.run_control import RunControl
from binnacle.runner.run_events import RunEnded, Tell
from binnacle.runner.run_store import RunStore, retry_during_outage
from binnacle.runner.trees.git import Git
from binnacle.runner.trees.run_trees import InPlace, InWorktrees, RunTrees
from binnacle.runner.trees.worktrees import RunWorktrees
from binnacle.server.bearer_tokens import OneToken
from binnacle.server.http_listener import bind, serve_http
from binnacle.server.http_routes import HttpRoutes
from binnacle.server.mcp_over_http import McpOverHttp
from binnacle.serving.shared_upstreams import SharedUpstreams
from binnacle.sessions.planning import PlanWithRecipe, keep_plan, make_plan, session_folder
from binnacle.sessions.run_sessions import RECIPE, RunSessions, open_run, reset_run
from binnacle.sessions.session_request import SessionRequest
from binnacle.tools.tool_search import FINDERS
from binnacle.wire import acp
from binnacle.work.session import SessionTerms

BN_RUN_TIMEOUT_SECONDS = 120.0
"""Seconds that a `bn` command of an agent may take."""


class RunRequest(Struct, frozen=True, kw_only=True):
    """What a person asks of a run."""

    agent: AgentCommand
    name: str
    start: str
    """The folder in which it was started."""

    spec: str = ""
    spec_file: str = ""
    extra: str = ""
    template: PromptTemplate | None = None
    """The template of its prompts, except for the planning; without one, the recipe's prompt is used."""

    recipe: str | None = None
    """If empty, that of the resumed run, or `loop`."""

    discipline: str | None = None
    feature: str | None = None
    budget: RunBudget = RunBudget()
    approve: Approve = "ask"
    auto_commit: bool = False
    is_reset: bool = False
    is_resumed: bool = False
    """Whether there must be a run of that name to resume."""

    workers: int = 1
    has_worktree: bool = False
    servers: tuple[str, ...] = ()
    """MCP servers named on the command line."""

    silence: float = 900
    within: float = 7200


async def run(
    project: Project, wanted: RunRequest, *, control: RunControl, tell: Tell, person: AskPerson | None
) -> RunEnded:
    """Runs agents until the work is done, or returns why it is not. `person` decides if the policy is to ask.

    Raises:
        Refused: a run of that name is already running.
        NotFound: there is none to resume.
    """
    opened = await asyncio.to_thread(_open, project, wanted)
    async with AsyncExitStack() as stack:
        for session in opened.sessions:
            stack.enter_context(hold_run_lock(project, session))
            stack.enter_context(hold_session_lock(project, session))
        cwd = workspace_of(project, wanted.start)
        trees, folders = await _trees(stack, project, wanted, cwd)
        workers = [
            Worker(number=number, session=session, cwd=folder)
            for number, (session, folder) in enumerate(zip(opened.sessions, folders, strict=True), 1)
        ]
        services = await stack.enter_async_context(_open_services(project, wanted, opened, workers))
        keeper = await stack.enter_async_context(Keeper())
        lease = project.settings.number("claim.minutes") * 60
        context = RunContext(
            options=_options(wanted, opened, _agent_of(wanted, cwd, services.server)),
            services=services,
            store=RunStore(lambda: open_store(project), feature=opened.terms.feature, lease=lease),
            hooks=HookRunner(keeper, find_hooks(project.repo), repo=project.repo),
            keeper=keeper,
            control=control,
            tell=tell,
            decide=by_policy(wanted.approve, own=services.own_tools, person=person),
            spent=RunSpending(),
            pending=[],
        )
        return await RunLoop(context, workers, trees, home=cwd, goes_on=opened.goes_on).run()


def _open(project: Project, wanted: RunRequest) -> RunSessions:
    if wanted.is_reset:
        reset_run(project, wanted.name)
    where = f"The specification, {wanted.spec_file}:\n\n" if wanted.spec_file else ""
    return open_run(
        project,
        wanted.name,
        SessionTerms(wanted.recipe or RECIPE, wanted.discipline, wanted.feature),
        recipe=wanted.recipe,
        said=f"{where}{wanted.spec}" if wanted.spec else "",
        workers=wanted.workers,
        must_go_on=wanted.is_resumed,
    )


def _agent_of(wanted: RunRequest, cwd: str, server: str) -> AgentCommand:
    """The agent's command, without the Binnacle that its own files configure."""
    added = leave_out_binnacle(wanted.agent.name, cwd, os.environ, server=server)
    return replace(
        wanted.agent,
        argv=(*wanted.agent.argv, *added.arguments),
        env={**wanted.agent.env, **added.env},
        session_meta=added.session_meta,
        servers_variable=added.servers_variable,
    )


def _options(wanted: RunRequest, opened: RunSessions, agent: AgentCommand) -> RunOptions:
    return RunOptions(
        name=wanted.name,
        agent=agent,
        recipe=opened.terms.recipe,
        budget=wanted.budget,
        has_spec=bool(opened.said),
        auto_commit=wanted.auto_commit or wanted.has_worktree or wanted.workers > 1,
        silence=wanted.silence,
        within=wanted.within,
    )


async def _trees(stack: AsyncExitStack, project: Project, wanted: RunRequest, cwd: str) -> tuple[RunTrees, list[str]]:
    """The folders that the workers work in."""
    if not wanted.has_worktree and wanted.workers == 1:
        git = Git(cwd)
        return InPlace(git if await git.root() else None), [cwd]
    folder = os.path.join(project.data_dir, "worktrees")
    trees = InWorktrees(RunWorktrees(cwd, folder, wanted.name, own_branch=wanted.has_worktree))
    stack.push_async_callback(trees.close)
    return trees, await trees.begin(wanted.workers)


class _RunServices:
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
        names = {opened.terms.recipe, PLANNING_RECIPE}
        self._first = {name: limits_of(load_recipe(name, catalog, repo=project.repo)) for name in names}
        """The recipes as they were when the run began: its agents can change the files."""

        self._made: dict[str, PlanWithRecipe] = {}
        """The latest plan of each session."""

    @asynccontextmanager
    async def serve(self, session: str, recipe: str) -> AsyncIterator[Sequence[acp.McpServer]]:
        served = SessionRequest(
            self._terms._replace(recipe=recipe), session, self._cwds[session], first=self._first.get(recipe)
        )
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
                    self._stdio(session, recipe),
                ]

    def _stdio(self, session: str, recipe: str) -> acp.StdioMcpServer:
        """The server for an agent that only supports stdio."""
        words = ("-C", self._cwds[session], "mcp", "serve", "--session", session, "--recipe", recipe)
        env = tuple(
            acp.NameValue(name=name, value=value)
            for name, value in self.environment(session).items()
            if name.startswith(("BN_", "XDG_", "PG"))
        )
        return acp.StdioMcpServer(name=self.server, command=bn_command(), args=words, env=env)

    async def prompt(self, session: str, recipe: str, *, iteration: int, more: str) -> str:
        return await retry_during_outage(lambda: self._prompt(session, recipe, iteration, more))

    def _prompt(self, session: str, recipe: str, iteration: int, more: str) -> str:
        project, wanted = self._project, self._wanted
        terms, catalog = self._terms._replace(recipe=recipe), catalog_of(project)
        extra = "\n\n".join(part for part in (wanted.extra, more) if part)
        with open_store(project) as store, store.read() as tx:
            first = self._first.get(recipe)
            made = make_plan(tx, project, catalog, terms, session=session, said=self._said, extra=extra, first=first)
            plan = made.plan
            if wanted.template is not None and recipe != PLANNING_RECIPE:
                values = TemplateValues(run=wanted.name, session=session, iteration=iteration)
                plan = with_template(tx, project, catalog, wanted.template, made.recipe, plan, values, extra=extra)
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

    def is_busy(self, session: str) -> bool:
        endpoint = self._serving.get(session)
        return endpoint is not None and endpoint.is_busy

    def folder(self, session: str) -> str:
        return session_folder(self._project, session)

    def environment(self, session: str) -> dict[str, str]:
        """Variables by which agents also act as their session in their shells."""
        found = for_agent(os.environ, self._wanted.agent.name)
        return {**found, "BN_SESSION": self._secrets[session], "BN_MCP_SESSION": session}

    async def aclose(self) -> None:
        await self._upstreams.aclose()


@asynccontextmanager
async def _open_services(
    project: Project, wanted: RunRequest, opened: RunSessions, workers: Sequence[Worker]
) -> AsyncIterator[_RunServices]:
    """The services of a run, with a server that accepts connections until the block is left."""
    routes = HttpRoutes()
    listener = bind("127.0.0.1", 0)
    ready, stop = asyncio.Event(), asyncio.Event()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    serving = asyncio.create_task(serve_http(routes, listener, on_ready=ready.set, stop=stop))
    services = _RunServices(project, wanted, opened, workers, url, routes)
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
