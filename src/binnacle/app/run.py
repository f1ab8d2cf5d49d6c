"""Puts a run together: its sessions, the server its agents use, their prompts, and the loop that drives them."""

import asyncio
import contextlib
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from msgspec import Struct

from binnacle.app.mcp_serving import open_mcp_server
from binnacle.app.prompt_templates import with_template
from binnacle.config.child_environment import for_agent
from binnacle.config.clients.run_start import leave_out_binnacle
from binnacle.config.clients.session_server import free_server_name
from binnacle.config.private_files import make_private_folder
from binnacle.errors import Refused
from binnacle.git.command import Git
from binnacle.plan.prompt_data import RunSituation
from binnacle.plan.recipe import matching
from binnacle.plan.recipe_limits import limits_of
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_files import bn_command
from binnacle.processes.keeper import Keeper
from binnacle.project.check_file import find_trusted_checks
from binnacle.project.project import Project
from binnacle.project.session_locks import hold_run_lock, hold_session_lock, is_abandoned
from binnacle.project.store_opening import open_store
from binnacle.project.tool_catalog import catalog_of
from binnacle.project.workspace import workspace_of
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.allowed_commands import AllowedCommands
from binnacle.runner.agents.permissions import Approve, AskPerson, OwnTools, by_policy, policy_sentences
from binnacle.runner.budget import RunBudget, RunSpending
from binnacle.runner.hooks.hook_file import find_hooks
from binnacle.runner.hooks.hook_runner import HookRunner
from binnacle.runner.loop import RunLoop
from binnacle.runner.permission_requests import PermissionRequests
from binnacle.runner.ports import PLANNING_RECIPE, AgentChoice, RunOptions, Stage, Worker
from binnacle.runner.prompt_template import PromptTemplate, TemplateValues
from binnacle.runner.run_context import Confirm, RunContext
from binnacle.runner.run_control import RunControl, RunStopped
from binnacle.runner.run_events import RunEnded, Tell, WarningReported
from binnacle.runner.run_inbox import RunInbox
from binnacle.runner.run_store import RunStore, retry_during_outage
from binnacle.runner.task_prover import TaskProver
from binnacle.runner.trees.person_changes import PersonChanges
from binnacle.runner.trees.run_trees import InPlace, InWorktrees, RunTrees
from binnacle.server.bearer_tokens import OneToken
from binnacle.server.http_listener import bind, serve_http
from binnacle.server.http_routes import HttpRoutes
from binnacle.server.mcp_over_http import McpOverHttp
from binnacle.serving.shared_upstreams import SharedUpstreams
from binnacle.sessions.planning import PlanWithRecipe, join_session, keep_plan, make_plan, session_folder
from binnacle.sessions.run_sessions import RECIPE, RunSessions, open_run, place_of, reset_run
from binnacle.sessions.session_request import SessionRequest
from binnacle.store import sessions
from binnacle.store.reviewer_sessions import REVIEW_RECIPE
from binnacle.tools.tool_search import FINDERS
from binnacle.wire import acp
from binnacle.work.actor import SYSTEM
from binnacle.work.session import SessionTerms

PERSON_CHANGES_FILE = "person-changes.json"
"""A file of a session: what the person had changed before its run began in their folder."""

REVIEWERS_FOLDER = "reviewers"
"""The folder, among the data of a project, in which agents that review have an empty folder each."""

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
    allows_gaps: bool = False
    """Whether it goes on if an agent cannot be given all of `spec`, or if tasks do not cover all of it."""

    extra: str = ""
    template: PromptTemplate | None = None
    """The template of its prompts, except for the planning; without one, the recipe's prompt is used."""

    recipe: str | None = None
    """If empty, that of the resumed run, or `loop`."""

    discipline: str | None = None
    feature: str | None = None
    tasks: tuple[str, ...] = ()
    """Only these tasks, and their parts."""

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

    agents: tuple[tuple[str, AgentCommand, str], ...] = ()
    """Other agents, each for a stage or a discipline, with a recipe if it has its own."""

    task_budget: RunBudget = RunBudget()
    max_attempts: int = 3
    max_outage: float = 6 * 3600.0
    remote: str = ""
    permission_wait: float = 3600.0
    """Seconds that an agent's request for permission waits for a person."""

    notifies: bool = False
    silence: float = 900
    within: float = 7200


async def run(
    project: Project,
    wanted: RunRequest,
    *,
    control: RunControl,
    tell: Tell,
    person: AskPerson | None,
    confirm: Confirm | None = None,
) -> RunEnded:
    """Runs agents until the work is done, or returns why it is not.

    `person` decides if the policy is to ask, unless somebody else answers first, from elsewhere; `confirm` asks the
    person a question about the run.

    Raises:
        Refused: a run of that name is already running.
        NotFound: there is none to resume.
    """
    checks = _find_checks(project, tell)  # as they are now: agents of the run can change the file
    opened = await asyncio.to_thread(_open, project, wanted)
    async with AsyncExitStack() as stack:
        for session in opened.sessions:
            stack.enter_context(hold_run_lock(project, session))
            stack.enter_context(hold_session_lock(project, session))
        cwd = workspace_of(project, wanted.start)
        lease = project.settings.number("claim.minutes") * 60
        store = RunStore(
            lambda: open_store(project, workspace=cwd), run=opened.run.id, feature=opened.terms.feature, lease=lease
        )
        base = await Git(cwd).head() or ""
        inbox = await stack.enter_async_context(RunInbox(store, control, opened.sessions, tell=tell))
        trees = await _open_trees(stack, project, wanted, opened, cwd, store, control)
        await store.note_origin(base, trees.branch, wanted.budget.limits)
        workers = [
            Worker(number=number, session=session, cwd=trees.folder(number))
            for number, session in enumerate(opened.sessions, 1)
        ]
        services = await stack.enter_async_context(_open_services(project, wanted, opened, workers))
        keeper = await stack.enter_async_context(Keeper())
        asking = PermissionRequests(store, inbox, at_terminal=person, within=wanted.permission_wait, tell=tell)
        context = RunContext(
            options=_options(
                wanted, opened, cwd, services.server, checks, place=place_of(project), has_trees=bool(trees.branch)
            ),
            services=services,
            store=store,
            hooks=HookRunner(keeper, find_hooks(project.repo), repo=project.repo),
            keeper=keeper,
            control=control,
            tell=tell,
            prover=TaskProver(project, store, keeper, control=control, tell=tell),
            decide=by_policy(
                wanted.approve, own=services.own_tools, person=asking.ask, is_check=AllowedCommands(checks).has
            ),
            decide_review=by_policy("none", own=services.own_tools),
            confirm=confirm,
            spent=RunSpending(),
            pending=[],
        )
        loop = RunLoop(context, workers, trees, home=cwd, goes_on=opened.goes_on, change=opened.change)
        return await loop.run()


def _find_checks(project: Project, tell: Tell) -> tuple[str, ...]:
    """The commands of the checks that a person has trusted. Says which have no effect.

    Raises:
        ConfigError: the file of the checks is not as it should be.
    """
    trusted, ignored = find_trusted_checks(project.repo)
    if ignored:
        names = ", ".join(repr(one.name) for one in ignored)
        hint = "review them, and let agents run them: bn trust check"
        tell(WarningReported(message=f"nobody has trusted these checks as they are now: {names}", hint=hint))
    return tuple(dict.fromkeys(one.command for one in trusted))


def _open(project: Project, wanted: RunRequest) -> RunSessions:
    if wanted.is_reset:
        reset_run(project, wanted.name)
    return open_run(
        project,
        wanted.name,
        SessionTerms(wanted.recipe or RECIPE, wanted.discipline, wanted.feature),
        recipe=wanted.recipe,
        asked=wanted.spec,
        asked_file=wanted.spec_file,
        selected=wanted.tasks,
        remote=wanted.remote,
        workers=wanted.workers,
        must_go_on=wanted.is_resumed,
    )


def _without_binnacle(agent: AgentCommand, cwd: str, server: str) -> AgentCommand:
    """An agent's command, without the Binnacle that its own files configure."""
    added = leave_out_binnacle(agent.name, cwd, os.environ, server=server)
    return replace(
        agent,
        argv=(*agent.argv, *added.arguments),
        env={**agent.env, **added.env},
        session_meta=added.session_meta,
        servers_variable=added.servers_variable,
    )


def _options(
    wanted: RunRequest,
    opened: RunSessions,
    cwd: str,
    server: str,
    checks: tuple[str, ...],
    *,
    place: str,
    has_trees: bool,
) -> RunOptions:
    agent = _without_binnacle(wanted.agent, cwd, server)
    others = {who: (_without_binnacle(one, cwd, server), recipe) for who, one, recipe in wanted.agents}

    def choose(stage: Stage, discipline: str | None) -> AgentChoice:
        """By the stage, else by the discipline, else the agent of the run. A recipe is for attempts at tasks.

        Reviewers have that of their stage.
        """
        recipe = others.get(discipline or "", (agent, ""))[1] or opened.terms.recipe
        if stage == "review":
            recipe = _review_recipe(wanted)
        for who in (stage if stage != "do" else "", discipline or "", stage):
            if who in others:
                return AgentChoice(others[who][0], recipe)
        return AgentChoice(agent, recipe)

    return RunOptions(
        name=wanted.name,
        place=place,
        agent=agent,
        recipe=opened.terms.recipe,
        choose=choose,
        budget=wanted.budget,
        task_budget=wanted.task_budget,
        max_attempts=wanted.max_attempts,
        max_outage=wanted.max_outage,
        has_spec=bool(opened.run.asked),
        allows_gaps=wanted.allows_gaps,
        may=policy_sentences(wanted.approve, has_checks=bool(checks), commits=has_trees or wanted.auto_commit),
        checks=() if wanted.approve == "none" else checks,
        notifies=wanted.notifies,
        silence=wanted.silence,
        within=wanted.within,
    )


async def _open_trees(
    stack: AsyncExitStack,
    project: Project,
    wanted: RunRequest,
    opened: RunSessions,
    cwd: str,
    store: RunStore,
    control: RunControl,
) -> RunTrees:
    """The folders that the workers work in."""
    if not wanted.has_worktree and wanted.workers == 1 and not wanted.remote:
        git = Git(cwd)
        if not await git.root():
            return InPlace(cwd, None)
        person = PersonChanges(git, os.path.join(session_folder(project, opened.sessions[0]), PERSON_CHANGES_FILE))
        await person.note(again=not opened.goes_on)
        return InPlace(cwd, git, person=person if wanted.auto_commit else None)
    folder = os.path.join(project.data_dir, "worktrees")
    trees = InWorktrees(
        start=cwd,
        folder=folder,
        name=wanted.name,
        remote=wanted.remote,
        lease=(lambda: store.hold_lease(f"merge {store.run}", control)) if wanted.remote else None,
        moves_checkout=not wanted.has_worktree,
    )
    try:
        await trees.begin()
    except RunStopped as error:
        raise Refused("the run was stopped before it began", hint="start it again with the same command") from error
    stack.push_async_callback(trees.close)
    return trees


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
        reviews = _review_recipe(wanted)
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


def _review_recipe(wanted: RunRequest) -> str:
    """The recipe of agents that review."""
    return next((one for who, _, one in reversed(wanted.agents) if who == "review" and one), REVIEW_RECIPE)


def _remove_abandoned(project: Project) -> None:
    """Removes the folders of reviewers whose run was killed."""
    folder = os.path.join(project.data_dir, REVIEWERS_FOLDER)
    for session in os.listdir(folder) if os.path.isdir(folder) else ():
        if is_abandoned(project, session):
            shutil.rmtree(os.path.join(folder, session), ignore_errors=True)


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
