"""Serves the page until it is stopped: alone in a process, or beside a run or an MCP server.

Beside something else, the page has its own thread with its own event loop: what it does holds up no agent, and its
failure ends nothing but the page.
"""

import asyncio
import logging
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

from binnacle.errors import BinnacleError, InvalidInput, UsageError
from binnacle.project.project import Project
from binnacle.server.http_listener import bind, serve_http
from binnacle.serving.shared_upstreams import SharedUpstreams
from binnacle.web.page_files import PageFiles
from binnacle.web.page_projects import PageProjects
from binnacle.web.page_server import HOST, PageServer
from binnacle.web.served_pages import recorded_page
from binnacle.web.sign_in import SignIns

_log = logging.getLogger(__name__)

DEFAULT_PORT = 7427
"""The port of the page, so that its addresses stay the same. Without it, a free one is taken."""

START_SECONDS = 20.0
STOP_SECONDS = 10.0
"""How long the start and the end of a page beside something else are waited for."""


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """What page to serve."""

    projects: Sequence[Project]
    """The first is the one that it was started in."""

    workspace: str
    """The folder where it was started."""

    port: int | None = None
    """None takes the usual one if it is free, and else any other; 0 takes any free one."""

    is_readonly: bool = False
    upstreams: SharedUpstreams | None = None
    """The upstream servers of the sessions of the first project, if this process serves it over MCP."""

    upstreams_loop: asyncio.AbstractEventLoop | None = None
    """The event loop that these belong to."""


OnReady = Callable[[str], None]
"""Told the link that signs in, once the page is served."""


async def serve_page(request: PageRequest, *, on_ready: OnReady, stop: asyncio.Event | None = None) -> None:
    """Serves the page until `stop` is set, or, without it, until SIGTERM or SIGINT."""
    listener = listen(request.port)
    with ExitStack() as stack:
        stack.callback(listener.close)
        port = listener.getsockname()[1]
        projects = stack.enter_context(
            PageProjects(request.projects, is_readonly=request.is_readonly, workspace=request.workspace)
        )
        home = next(iter(projects.shown.values()))
        home.shared_upstreams, home.upstreams_loop = request.upstreams, request.upstreams_loop
        sign_ins = SignIns(port)
        server = PageServer(projects, port=port, files=PageFiles(), sign_ins=sign_ins, is_readonly=request.is_readonly)
        stack.enter_context(recorded_page(port, is_readonly=request.is_readonly))
        try:
            await serve_http(server, listener, on_ready=lambda: on_ready(make_link(port, sign_ins)), stop=stop)
        finally:
            await server.aclose()


def make_link(port: int, sign_ins: SignIns | None = None) -> str:
    """A link that signs a browser in at the page on this port. It works once."""
    return f"http://{HOST}:{port}/?key={(sign_ins or SignIns(port)).make_link_key()}"


def listen(port: int | None) -> socket.socket:
    """A socket for the page.

    Raises:
        InvalidInput: the port is taken.
    """
    if port is not None:
        return bind(HOST, port)
    try:
        return bind(HOST, DEFAULT_PORT)
    except InvalidInput:
        return bind(HOST, 0)


def find_projects(home: Project, folders: Sequence[str]) -> tuple[Project, ...]:
    """The projects of a page, without repetitions.

    Raises:
        UsageError: one of the folders is in no project.
    """
    from binnacle.project.project import require_project

    found = {home.id: home}
    for folder in folders:
        try:
            project = require_project(folder)
        except BinnacleError as error:
            raise UsageError(f"--project: {error.message}", hint=error.next_steps) from error
        found.setdefault(project.id, project)
    return tuple(found.values())


def beside_run(project: Project, workspace: str) -> AbstractAsyncContextManager[str]:
    """The page beside a run, which a person started."""
    return page_beside(PageRequest(projects=[project], workspace=workspace))


class PageBesideServer:
    """The page beside an MCP server, and its link once it is served."""

    def __init__(self, project: Project, workspace: str) -> None:
        self._project = project
        self._workspace = workspace
        self.link = ""

    @asynccontextmanager
    async def serve(self, upstreams: SharedUpstreams) -> AsyncGenerator[None]:
        """Serves it while the block runs. If an agent started the server, the page changes nothing."""
        from binnacle.lifecycle.agent_detection import find_agent_above

        request = PageRequest(
            projects=[self._project],
            workspace=self._workspace,
            is_readonly=find_agent_above() is not None,
            upstreams=upstreams,
            upstreams_loop=asyncio.get_running_loop(),
        )
        async with page_beside(request) as self.link:
            yield


@asynccontextmanager
async def page_beside(request: PageRequest) -> AsyncGenerator[str]:
    """Serves the page in a thread, and yields its link. Leaving the block ends it.

    A page that cannot be served is an empty link, and a warning in the log: what it is beside goes on.
    """
    thread = _PageThread(request)
    thread.start()
    try:
        yield await asyncio.to_thread(thread.wait_ready)
    finally:
        await asyncio.shield(asyncio.to_thread(thread.stop))


class _PageThread(threading.Thread):
    """The page with its own event loop."""

    def __init__(self, request: PageRequest) -> None:
        super().__init__(name="page", daemon=True)
        self._request = request
        self._ready = threading.Event()
        self._link = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 - whatever it is, what the page is beside goes on
            _log.warning("the page is not served: %s", error)
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await serve_page(self._request, on_ready=self._set_ready, stop=self._stopping)

    def _set_ready(self, link: str) -> None:
        self._link = link
        self._ready.set()

    def wait_ready(self) -> str:
        self._ready.wait(START_SECONDS)
        return self._link

    def stop(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._stopping.set)
        self.join(STOP_SECONDS)
