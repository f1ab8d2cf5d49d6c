"""Puts the MCP server of a project together."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from binnacle.config.directories import clients_folder
from binnacle.project.project import Project
from binnacle.server.catalog_provider import CatalogProvider, ServedPrompt, ServedResource
from binnacle.server.mcp_server import McpServer
from binnacle.server.saved_sessions import SavedSessions
from binnacle.server.served_project import ServedProject
from binnacle.server.session_lookup import Sessions
from binnacle.serving.lazy_project import LazyProject
from binnacle.serving.open_projects import OpenProjects
from binnacle.serving.refreshing import STATUS_URI, keep_fresh
from binnacle.serving.shared_upstreams import SharedUpstreams
from binnacle.sessions.session_request import SessionRequest
from binnacle.tools.caller import Caller
from binnacle.work.actor import Actor
from binnacle.work.session import Session

CONNECT_AFTER_SECONDS = 0.1
"""Seconds after the start until we connect to upstream servers."""


@asynccontextmanager
async def open_mcp_server(
    project: Project,
    session: SessionRequest,
    *,
    prompts: Callable[[], Iterable[ServedPrompt]],
    timeout: float,
    upstreams: SharedUpstreams,
    agent_id: str | None = None,
) -> AsyncGenerator[McpServer]:
    """The MCP server of a session. Leaving it ends every process it started and closes the store.

    `agent_id` is the agent of its only client; a server of many clients has none. `prompts` are offered without a
    recipe; with one, its prompt is the only one.
    """

    def make_served(other: Project, stack: AsyncExitStack) -> LazyProject:
        shared = SharedUpstreams(other, upstreams.flags)
        stack.push_async_callback(shared.aclose)
        return LazyProject(other, session, timeout=timeout, upstreams=shared, find_untrusted=_find_untrusted)

    home = LazyProject(project, session, timeout=timeout, upstreams=upstreams, find_untrusted=_find_untrusted)
    if session.id is not None:
        home.box()  # so that a mistake in the recipe is reported before a client connects
        prompts = partial(_session_prompt, project, session)
    projects = OpenProjects(home, make_served)
    sessions = Sessions(
        home,
        projects.open,
        planned=_planned_session(project, session),
        terms=session.terms,
        agent_id=agent_id,
        saved=SavedSessions(clients_folder()),
    )
    mcp_server = McpServer(CatalogProvider(sessions, resources=_RESOURCES, prompts=prompts))
    sessions.on_change = partial(mcp_server.changed, "tools")
    projects.announce_to(mcp_server)
    if upstreams.are_configured():
        asyncio.get_running_loop().call_later(CONNECT_AFTER_SECONDS, home.box)  # after the first requests of a client
    async with keep_fresh(home, mcp_server):
        try:
            yield mcp_server
        finally:
            await mcp_server.aclose()
            await sessions.aclose()
            await projects.aclose()


def _planned_session(project: Project, served: SessionRequest) -> Session | None:
    """The planned session that all clients of the server share, if there is one."""
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


def _session_prompt(project: Project, session: SessionRequest) -> tuple[ServedPrompt]:
    def text() -> str:
        from binnacle.sessions.planning import prompt_of

        return prompt_of(project, session)

    return (ServedPrompt("session", f"what this session is for ({session.terms.recipe})", text),)


async def _read_status(project: ServedProject, caller: Caller) -> str:
    return await project.status(caller)


async def _read_guide(project: ServedProject, _: Caller) -> str | None:
    return await project.guide()


_RESOURCES = (
    ServedResource(STATUS_URI, "status", "Task counts, ready tasks and the queue", "application/json", _read_status),
    ServedResource(
        "binnacle://agents", "agents", "AGENTS.md of the repository, if there is one", "text/markdown", _read_guide
    ),
)


def _find_untrusted(project: Project) -> list[str]:
    from binnacle.app.trust_review import find_waiting

    return find_waiting(project)
