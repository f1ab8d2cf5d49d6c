"""Builds the MCP server of a project.

A client starts its server and at once asks what tools it has. The answer is the same every time,
so it is kept; what executes the tools is loaded only when the first one is called, or when the
server has nothing else to do.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from binnacle.app import Project, require_project
from binnacle.app.listing import Listing, fingerprint, keep_listing, kept_listing
from binnacle.app.terms import ServedSession
from binnacle.config.directories import brings_settings, clients_folder, trust_file
from binnacle.config.repository_files import read_inside
from binnacle.errors import BinnacleError, Full, InvalidInput
from binnacle.server.catalog_provider import CatalogProvider, ServedPrompt, ServedResource
from binnacle.server.live_session import ServedProject
from binnacle.server.mcp_server import Changed, McpServer
from binnacle.server.saved_sessions import SavedSessions
from binnacle.server.session_lookup import Sessions
from binnacle.server.upstream_content import ForeignContent, NoForeignContent
from binnacle.tools.caller import Caller
from binnacle.tools.client_facts import ClientFacts
from binnacle.upstream.config import Problem, describe_problem, load_servers, warn_agents
from binnacle.upstream.places import config_files, logins_folder, pins_file
from binnacle.work.actor import Actor
from binnacle.work.session import Agent, Session

if TYPE_CHECKING:
    from binnacle.app.toolbox import Toolbox
    from binnacle.app.upstreams import Upstreams
    from binnacle.tools.outcome import Outcome
    from binnacle.upstream.gateway import Gateway

_log = logging.getLogger(__name__)

IDLE = 0.3
"""Seconds after the list was asked for, when the tools are loaded ahead of their first call."""

MAX_GUIDE_BYTES = 1 << 20
"""An AGENTS.md that agents can read is far shorter."""

LOOK = 1.0
"""Seconds between looks at whether the plan or the store has changed."""

SOON = 0.1
"""Seconds after the start, when upstream servers are connected to."""

TOGETHER = 0.05
"""Seconds in which several servers that come at once are told of as one change."""

STATUS = "binnacle://status"

MAX_PROJECTS = 32
"""Projects that the sessions of one server may be in at once."""

NO_PROJECT = "This server was started outside a project: call binnacle-set_agent with a repository's path first."


class SharedUpstreams:
    """The upstream servers of all sessions of a process, connected to when the first session needs them."""

    def __init__(self, project: Project, flags: Sequence[str]) -> None:
        """`flags` are the servers named on the command line."""
        self._project = project
        self.flags = flags
        self._files = [one.path for one in config_files(project.repo)]
        self._decisions = (trust_file(), pins_file(project.data_dir), logins_folder())
        """What people decide about servers."""

        self._made: Upstreams | None = None
        self._problems: tuple[tuple[int, ...], tuple[Problem, ...]] | None = None
        self._warned: set[Problem] = set()
        """What was said on stderr, and still is so."""

    def state(self) -> tuple[int, ...]:
        """Changes when servers are configured, trusted, signed in to, or their tools accepted."""
        return tuple(map(_modified, (*self._files, *self._decisions)))

    def key(self) -> str:
        """Stands for the servers that are configured; empty if there are none."""
        if not self.are_configured():
            return ""
        return repr((self._project.repo, self.flags, [_modified(path) for path in self._files]))

    def are_configured(self) -> bool:
        return bool(self.flags) or any(map(_modified, self._files))

    def get(self, is_needed: bool = False) -> "Upstreams | None":
        """The way to the servers; None where there are none, unless it `is_needed` for those of a discipline."""
        if self._made is None and (is_needed or self.are_configured()):
            from binnacle.app.upstreams import Upstreams

            self._made = Upstreams(self._project, flags=self.flags)
        return self._made

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the configuration of the servers, which keeps some of them away."""
        if not self.are_configured():
            return ()
        state = self.state()
        if self._problems is None or self._problems[0] != state:
            found = load_servers(self._project.repo, flags=self.flags).problems
            self._problems = (state, found)
        return self._problems[1]

    def warn(self, problems: Sequence[Problem]) -> None:
        """Says on stderr what is wrong, each problem once for as long as it is there."""
        from binnacle.upstream.hygiene import visible

        for one in problems:
            if one not in self._warned:
                hint = f"; {one.hint}" if one.hint else ""
                _log.warning("bn mcp serve: %s", visible(f"{describe_problem(one)}{hint}").replace("\n", " "))
        self._warned = set(problems)

    async def aclose(self) -> None:
        if self._made is not None:
            await self._made.aclose()


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


class LazyProject:
    """A project under a plan, as it is served. Its tools are loaded when needed."""

    def __init__(self, project: Project, session: ServedSession, *, timeout: float, upstreams: SharedUpstreams) -> None:
        self._project = project
        self.repo = project.repo
        self.is_known = project.is_known
        self._with_session: tuple[bytes, bytes] = (b"", b"")
        """The list of tools, and the same where every tool takes a handle."""

        self._terms = session.terms
        self._session = session
        self._start = session.start
        self._timeout = timeout
        self._upstreams = upstreams
        self._configured = upstreams.state()
        self._stirred = asyncio.Event()
        """Set when an upstream server has come, gone or changed."""

        self._box: Toolbox | None = None
        self._told: Listing | None = None
        self._seen = fingerprint(self._terms.recipe, project.repo)
        self._content = _content(NoForeignContent())
        """What other servers had when the clients were last told."""

        self.updated: Callable[[str], None] = _nobody
        """Called with the URI of another server's resource that has changed."""

        self._is_behind = False
        """Whether something has changed that the plan does not know of yet."""

    def instructions(self) -> str:
        """What a client is told about the tools."""
        said = self._listing().instructions
        found = warn_agents(self._problems())
        return " ".join(filter(None, ("" if self.is_known else NO_PROJECT, said, found)))

    def _problems(self) -> tuple[Problem, ...]:
        """What is wrong with the configuration of other servers."""
        gateway = self._box.gateway if self._box is not None else None
        return gateway.problems if gateway is not None else self._upstreams.problems()

    def listing(self) -> bytes:
        """The tools as `tools/list` shows them, a JSON array."""
        if self._box is None:
            asyncio.get_running_loop().call_later(IDLE, self.box)
        return self._listing().tools

    def listing_with_session(self) -> bytes:
        """The same, where every tool says that it takes `session`."""
        listing = self.listing()
        if listing is not self._with_session[0]:
            self._with_session = (listing, with_session(listing))
        return self._with_session[1]

    def _listing(self) -> Listing:
        if self._told is None:
            if self._terms.is_bare and self._box is None:
                beside = self._upstreams.key()
                self._told = kept_listing(self._seen, self._made, beside=beside)
            else:
                self._told = self._made()
        return self._told

    def _made(self) -> Listing:
        box = self.box()
        return Listing(box.instructions, box.listing)

    def beside(self) -> ForeignContent:
        """What other servers have besides tools."""
        return (self._box.content if self._box else None) or NoForeignContent()

    async def call(self, name: str, raw: bytes, caller: Caller) -> "Outcome":
        """Calls one tool."""
        return await self.box().dispatcher.call(name, raw, caller)

    def box(self) -> "Toolbox":
        """What executes the tools."""
        if self._box is None:
            from binnacle.app.planning import kept_limits
            from binnacle.app.toolbox import Toolbox

            first = self._session.first
            if first is None and self._session.id is not None:
                first = kept_limits(self._project, self._session.id, self._terms.recipe)
            self._box = Toolbox(
                self._project,
                self._terms,
                first=first,
                start=self._start,
                timeout=self._timeout,
                upstreams=self._upstreams.get,
                heard=self._stirred.set,
                updated=self._update,
            )
            self._upstreams.warn(self._problems())
        return self._box

    async def find_agent(
        self, facts: ClientFacts, *, name: str | None, open_here: Collection[str], is_new: bool
    ) -> Agent:
        """The agent of a connection, found by its process or registered; always registered if `is_new`."""
        return await self.box().find_agent(facts, name=name, open_here=open_here, is_new=is_new)

    async def resume_agent(self, facts: ClientFacts, *, open_here: Collection[str]) -> Agent | None:
        """The agent that the same process was before; None if it was none."""
        return await self.box().resume_agent(facts, open_here=open_here)

    async def link_agent(self, agent_id: str, facts: ClientFacts) -> Agent:
        """Has a registered agent speak through a connection."""
        return await self.box().link_agent(agent_id, facts)

    async def is_active(self, agent_id: str) -> bool:
        """Whether an agent has not ended."""
        return await self.box().is_active(agent_id)

    async def end_agent(self, agent_id: str, *, reason: str) -> None:
        """Ends an agent and gives back what it holds."""
        await self.box().end_agent(agent_id, reason=reason)

    async def status(self, caller: Caller) -> str:
        """How the project stands, and how its upstream servers do, as JSON."""
        box = self.box()
        text = await box.status(caller)
        more: dict[str, Any] = {}
        if brings_settings(self._project.repo):
            more["not_trusted"] = await asyncio.to_thread(_find_waiting, self._project)
        if box.gateway is not None:
            more["upstreams"] = _standings(box.gateway)
        if problems := self._problems():
            more["upstream_problems"] = [one._asdict() for one in problems]
        return _with(text, more)

    async def guide(self) -> str | None:
        """AGENTS.md of the repository, if there is one."""
        try:
            return read_inside(self.repo, "AGENTS.md", limit=MAX_GUIDE_BYTES).decode(errors="replace")
        except OSError:
            return None

    def _update(self, uri: str) -> None:
        self.updated(uri)

    async def watch(self, engine: McpServer) -> None:
        """Tells the clients when their tools have changed, because a recipe or a discipline has, or the store.

        Tells them of other servers' prompts and resources, and those servers of what the clients want to hear.
        """
        said = ""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self._stirred.wait()
                await asyncio.sleep(TOGETHER)
            if self._box is None:
                continue
            try:
                state = self._upstreams.state()
                if state != self._configured or self._box.has_other_upstreams:
                    self._configured = state
                    await self._box.reload_upstreams()
                    self._upstreams.warn(self._problems())
                    self._stirred.set()
                stored = await self._box.has_store_changed()
                if stored or self._stirred.is_set():
                    engine.updated(STATUS)
                self._look(self._box, stored=stored)
                said = ""
            except BinnacleError as error:
                # The session goes on with the tools it has; what is wrong is in the log, once.
                if error.message != said:
                    _log.warning("the plan cannot be made anew: %s", error.message)
                said = error.message
            if self._told is not None and self._told != (made := self._made()):
                self._told = None
                engine.changed("tools")
                if self._terms.is_bare:
                    keep_listing(self._seen, made, beside=self._upstreams.key())
            self._tell_of_content(engine)
            await self.beside().follow(engine.subscriptions())

    def _tell_of_content(self, engine: McpServer) -> None:
        before, self._content = self._content, _content(self.beside())
        for what, now in self._content.items():
            if now != before[what]:
                engine.changed(what)

    def _look(self, box: "Toolbox", *, stored: bool) -> None:
        """Makes the plan anew if its recipe was written anew, or if the store changed and has a say in it."""
        written = fingerprint(self._terms.recipe, self._project.repo)
        reread, self._seen = written != self._seen, written
        self._is_behind |= reread or self._stirred.is_set() or (stored and not self._terms.is_bare)
        self._stirred.clear()
        if self._is_behind:
            box.refresh(reread=reread)
            self._is_behind = False

    async def aclose(self) -> None:
        if self._box is not None:
            await self._box.aclose()


def _content(beside: ForeignContent) -> dict[Changed, tuple[Mapping[str, Any], ...]]:
    return {"prompts": (beside.prompts(),), "resources": (beside.resources(), beside.templates())}


def _nobody(uri: str) -> None:
    """Nobody wants to know."""


class _Projects:
    """The projects that the sessions of one server are in. Leaving it closes them."""

    def __init__(self, session: ServedSession, *, timeout: float, flags: Sequence[str]) -> None:
        self._session = session
        self._timeout = timeout
        self._flags = flags
        self._open: dict[str, LazyProject] = {}
        self._stack = AsyncExitStack()
        self._engine: McpServer | None = None

    def adopt(self, project: LazyProject) -> None:
        """Makes known what somebody else closes."""
        self._open[project.repo] = project

    def start(self, engine: McpServer) -> None:
        self._engine = engine

    async def open(self, path: str) -> LazyProject:
        """The project at a path, opened if it is not.

        Raises:
            NoProject: there is none.
            InvalidInput: it is no folder, or not named from the root.
            Full: too many are open.
        """
        if not os.path.isabs(path) or not os.path.isdir(path):
            raise InvalidInput(f"not a directory: {path!r}", hint="give the absolute path of the repository")
        project = require_project(path)
        if project.repo not in self._open:
            if len(self._open) >= MAX_PROJECTS:
                raise Full(f"{MAX_PROJECTS} projects are open on this server", hint="start another server for it")
            self._open[project.repo] = await self._opened(project)
        return self._open[project.repo]

    async def _opened(self, project: Project) -> LazyProject:
        upstreams = SharedUpstreams(project, self._flags)
        self._stack.push_async_callback(upstreams.aclose)
        made = LazyProject(project, self._session, timeout=self._timeout, upstreams=upstreams)
        assert self._engine is not None
        await self._stack.enter_async_context(_watched(made, self._engine))
        return made

    async def aclose(self) -> None:
        await self._stack.aclose()


@asynccontextmanager
async def _watched(project: LazyProject, engine: McpServer) -> AsyncGenerator[None]:
    """Tells clients of changes in a project. Leaving it ends every process it started and closes the store."""
    project.updated = engine.updated
    watching = asyncio.get_running_loop().create_task(project.watch(engine))
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await project.aclose()


@asynccontextmanager
async def open_engine(
    project: Project,
    session: ServedSession,
    *,
    prompts: Callable[[], Iterable[ServedPrompt]],
    timeout: float,
    upstreams: SharedUpstreams,
    agent_id: str | None = None,
) -> AsyncGenerator[McpServer]:
    """The MCP server of a session. Leaving it ends every process it started and closes the store.

    `agent_id` is the agent that its only client is; a server of many clients has none.
    `prompts` are offered where no recipe was chosen; where one was, its prompt is the only one.
    """
    home = LazyProject(project, session, timeout=timeout, upstreams=upstreams)
    if session.id is not None:
        home.box()  # so that what is wrong with the recipe or its subject is said before a client connects
        prompts = partial(_session_prompt, project, session)
    projects = _Projects(session, timeout=timeout, flags=upstreams.flags)
    projects.adopt(home)
    sessions = Sessions(
        home,
        projects.open,
        planned=_planned(project, session),
        terms=session.terms,
        agent_id=agent_id,
        saved=SavedSessions(clients_folder()),
    )
    engine = McpServer(CatalogProvider(sessions, resources=_RESOURCES, prompts=prompts))
    sessions.on_change = partial(engine.changed, "tools")
    projects.start(engine)
    if upstreams.are_configured():
        asyncio.get_running_loop().call_later(SOON, home.box)  # once the first questions of a client are answered
    async with _watched(home, engine):
        try:
            yield engine
        finally:
            await sessions.aclose()
            await projects.aclose()


def _planned(project: Project, served: ServedSession) -> Session | None:
    """The session that all clients of the server are in, where one was planned for it."""
    if served.id is None:
        return None
    name = os.environ.get("BN_AGENT_ID", "").strip() or served.id
    return Session(
        id=served.id,
        actor=Actor(name, "agent"),
        repo=project.repo,
        cwd=served.start or project.repo,
        terms=served.terms,
        proof="secret",
    )


def _session_prompt(project: Project, session: ServedSession) -> tuple[ServedPrompt]:
    def text() -> str:
        from binnacle.app.planning import prompt_of

        return prompt_of(project, session)

    return (ServedPrompt("session", f"what this session is for ({session.terms.recipe})", text),)


def _with(status: str, more: dict[str, Any]) -> str:
    """A status with more in it."""
    import msgspec

    return msgspec.json.encode({**msgspec.json.decode(status, type=dict[str, msgspec.Raw]), **more}).decode()


def _standings(gateway: "Gateway") -> list[dict[str, Any]]:
    from binnacle.app.upstreams import standings

    return standings(gateway)


def _find_waiting(project: Project) -> list[str]:
    """What of the project has no effect, as nobody has trusted it."""
    from binnacle.app.trust import find_waiting

    return find_waiting(project)


async def _read_status(project: ServedProject, caller: Caller) -> str:
    return await project.status(caller)


async def _read_guide(project: ServedProject, _: Caller) -> str | None:
    return await project.guide()


_RESOURCES = (
    ServedResource(STATUS, "status", "Task counts, ready tasks and the queue", "application/json", _read_status),
    ServedResource(
        "binnacle://agents", "agents", "AGENTS.md of the repository, if there is one", "text/markdown", _read_guide
    ),
)


def with_session(listing: bytes) -> bytes:
    """A list of tools in which each says that it takes a handle, unless it has a parameter of that name."""
    import msgspec

    tools = msgspec.json.decode(listing, type=list[dict[str, Any]])
    for tool in tools:
        schema = tool.get("inputSchema", {})
        if isinstance(schema, dict) and isinstance(schema.setdefault("properties", {}), dict):
            schema["properties"].setdefault("session", {"type": "string"})
    return msgspec.json.encode(tools)
