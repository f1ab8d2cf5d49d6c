"""Builds the MCP server of a project.

A client starts its server and at once asks what tools it has. The answer is the same every time,
so it is kept; what executes the tools is loaded only when the first one is called, or when the
server has nothing else to do.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from binnacle.app import Project
from binnacle.app.listing import Listing, fingerprint, keep_listing, kept_listing
from binnacle.app.terms import ServedSession
from binnacle.errors import BinnacleError
from binnacle.server.beside import Beside, Nothing
from binnacle.server.catalog_host import CatalogHost, Prompt, Resource
from binnacle.server.engine import Changed, Engine
from binnacle.tools.caller import Caller
from binnacle.upstream.places import approvals_file, config_files, logins_folder, pins_file
from binnacle.work.actor import Actor

if TYPE_CHECKING:
    from binnacle.app.toolbox import Toolbox
    from binnacle.app.upstreams import Upstreams
    from binnacle.tools.outcome import Outcome
    from binnacle.upstream.gateway import Gateway

_log = logging.getLogger(__name__)

IDLE = 0.3
"""Seconds after the list was asked for, when the tools are loaded ahead of their first call."""

LOOK = 1.0
"""Seconds between looks at whether the plan or the store has changed."""

SOON = 0.1
"""Seconds after the start, when upstream servers are connected to."""

TOGETHER = 0.05
"""Seconds in which several servers that come at once are told of as one change."""

STATUS = "binnacle://status"


class SharedUpstreams:
    """The upstream servers of all sessions of a process, connected to when the first session needs them."""

    def __init__(self, project: Project, flags: Sequence[str]) -> None:
        """`flags` are the servers named on the command line."""
        self._project = project
        self._flags = flags
        self._files = [one.path for one in config_files(project.repo)]
        self._decisions = (approvals_file(), pins_file(project.data_dir), logins_folder())
        """What people decide about servers."""

        self._made: Upstreams | None = None

    def state(self) -> tuple[int, ...]:
        """Changes when servers are configured, approved, signed in to, or their tools accepted."""
        return tuple(map(_modified, (*self._files, *self._decisions)))

    def key(self) -> str:
        """Stands for the servers that are configured; empty if there are none."""
        if not self.are_configured():
            return ""
        return repr((self._project.repo, self._flags, [_modified(path) for path in self._files]))

    def are_configured(self) -> bool:
        return bool(self._flags) or any(map(_modified, self._files))

    def get(self, is_needed: bool = False) -> "Upstreams | None":
        """The way to the servers; None where there are none, unless it `is_needed` for those of a discipline."""
        if self._made is None and (is_needed or self.are_configured()):
            from binnacle.app.upstreams import Upstreams

            self._made = Upstreams(self._project, flags=self._flags)
        return self._made

    async def aclose(self) -> None:
        if self._made is not None:
            await self._made.aclose()


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


class LazyTools:
    """The tools of a session, loaded when needed."""

    def __init__(self, project: Project, session: ServedSession, *, timeout: float, upstreams: SharedUpstreams) -> None:
        self._project = project
        self._terms = session.terms
        self._start = session.start
        self._timeout = timeout
        self._upstreams = upstreams
        self._configured = upstreams.state()
        self._stirred = asyncio.Event()
        """Set when an upstream server has come, gone or changed."""

        self._box: Toolbox | None = None
        self._told: Listing | None = None
        self._seen = fingerprint(self._terms.recipe, project.repo)
        self._content = _content(Nothing())
        """What other servers had when the clients were last told."""

        self.updated: Callable[[str], None] = _nobody
        """Called with the URI of another server's resource that has changed."""

        self._is_behind = False
        """Whether something has changed that the plan does not know of yet."""

    def instructions(self) -> str:
        """What a client is told about the tools."""
        return self._listing().instructions

    def listing(self) -> bytes:
        """The tools as `tools/list` shows them, a JSON array."""
        if self._box is None:
            asyncio.get_running_loop().call_later(IDLE, self.box)
        return self._listing().tools

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

    def beside(self) -> Beside:
        """What other servers have besides tools."""
        return (self._box.content if self._box else None) or Nothing()

    async def call(self, name: str, raw: bytes, caller: Caller) -> "Outcome":
        """Calls one tool."""
        return await self.box().dispatcher.call(name, raw, caller)

    def box(self) -> "Toolbox":
        """What executes the tools."""
        if self._box is None:
            from binnacle.app.toolbox import Toolbox

            self._box = Toolbox(
                self._project,
                self._terms,
                start=self._start,
                timeout=self._timeout,
                upstreams=self._upstreams.get,
                heard=self._stirred.set,
                updated=self._update,
            )
        return self._box

    def _update(self, uri: str) -> None:
        self.updated(uri)

    async def watch(self, engine: Engine) -> None:
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

    def _tell_of_content(self, engine: Engine) -> None:
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


def _content(beside: Beside) -> dict[Changed, tuple[Mapping[str, Any], ...]]:
    return {"prompts": (beside.prompts(),), "resources": (beside.resources(), beside.templates())}


def _nobody(uri: str) -> None:
    """Nobody wants to know."""


@asynccontextmanager
async def open_engine(
    project: Project,
    session: ServedSession,
    *,
    prompts: Callable[[], Iterable[Prompt]],
    timeout: float,
    upstreams: SharedUpstreams,
) -> AsyncGenerator[Engine]:
    """The MCP server of a session. Leaving it ends every process it started and closes the store.

    `prompts` are offered where no recipe was chosen; where one was, its prompt is the only one.
    """
    tools = LazyTools(project, session, timeout=timeout, upstreams=upstreams)
    if session.id is not None:
        tools.box()  # so that what is wrong with the recipe or its subject is said before a client connects
        prompts = partial(_session_prompt, project, session)
    engine = Engine(
        CatalogHost(
            tools,
            actor=_actor(session.id),
            resources=_resources(project, tools),
            prompts=prompts,
            beside=tools.beside,
            session=session.id,
        )
    )
    tools.updated = engine.updated
    loop = asyncio.get_running_loop()
    if upstreams.are_configured():
        loop.call_later(SOON, tools.box)  # once the first questions of a client are answered
    watching = loop.create_task(tools.watch(engine))
    try:
        yield engine
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await tools.aclose()


def _session_prompt(project: Project, session: ServedSession) -> tuple[Prompt]:
    def text() -> str:
        from binnacle.app.planning import prompt_of

        return prompt_of(project, session)

    return (Prompt("session", f"what this session is for ({session.terms.recipe})", text),)


def _with_upstreams(status: str, gateway: "Gateway") -> str:
    import msgspec

    from binnacle.app.upstreams import standings

    found = msgspec.json.decode(status, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({**found, "upstreams": standings(gateway)}).decode()


def _actor(session: str | None) -> Callable[[Mapping[str, Any]], Actor]:
    """Clients act as the agent that started the server, as their session, or each under a name of its own."""
    known = os.environ.get("BN_AGENT_ID", "").strip() or session
    return lambda _: Actor(known or f"mcp-{os.urandom(3).hex()}", "agent")


def _resources(project: Project, tools: LazyTools) -> tuple[Resource, ...]:
    async def status(caller: Caller) -> str:
        box = tools.box()
        text = await box.status(caller)
        return text if box.gateway is None else _with_upstreams(text, box.gateway)

    async def guide(_: Caller) -> str | None:
        try:
            with open(os.path.join(project.repo, "AGENTS.md"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None

    return (
        Resource(STATUS, "status", "Task counts, ready tasks and the queue", "application/json", status),
        Resource("binnacle://agents", "agents", "AGENTS.md of the repository, if there is one", "text/markdown", guide),
    )
