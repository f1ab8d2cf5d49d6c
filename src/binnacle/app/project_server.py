"""Serves a project over MCP until its client is gone or it is told to end: on stdio to one client, on HTTP to many.

On HTTP the sessions that were planned before have an endpoint each, below the common one, for who has their secret.
"""

import gc
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial
from typing import NamedTuple

from binnacle.app.mcp_serving import open_mcp_server
from binnacle.project.project import Project
from binnacle.server.catalog_provider import ServedPrompt
from binnacle.server.mcp_server import McpServer
from binnacle.serving.shared_upstreams import SharedUpstreams
from binnacle.sessions.session_request import SessionRequest

PATH = "/mcp"
"""Where HTTP clients find the server, and below it each planned session by its id."""

OpenServer = Callable[[SessionRequest], AbstractAsyncContextManager[McpServer]]


class PromptText(NamedTuple):
    """A prompt that clients may offer to people."""

    name: str
    about: str
    read: Callable[[], str]


class ServeOptions(NamedTuple):
    """What a person asks of a server."""

    timeout: float
    """Seconds a `bn_run` may take."""

    servers: tuple[str, ...]
    """MCP servers named on the command line."""

    prompts: Callable[[], Iterable[PromptText]]


class HttpAddress(NamedTuple):
    """Where to listen, and what clients must show."""

    host: str
    port: int
    """0 takes a free one."""

    token: str | None
    """None makes one up."""

    is_open: bool = False
    """Whether clients need no token."""


Announce = Callable[[str, str | None], None]
"""Told the URL and the token once the server listens."""


async def serve_on_stdio(project: Project, session: SessionRequest, options: ServeOptions) -> None:
    """Serves the one client that is connected to our standard input and output."""
    from binnacle.server.mcp_over_stdio import McpOverStdio, take_stdio

    source, sink = take_stdio()
    agent_id = os.environ.get("BN_AGENT_ID", "").strip() or None
    async with _servers(project, options, agent_id) as open_server, open_server(session) as mcp_server:
        _collect_garbage()
        await McpOverStdio(mcp_server, source=source, sink=sink).serve()


Beside = Callable[[SharedUpstreams], AbstractAsyncContextManager[object]]
"""Serves something else in the same process, as long as the server runs; it may look at the upstream servers."""


async def serve_on_http(
    project: Project,
    session: SessionRequest,
    options: ServeOptions,
    address: HttpAddress,
    announce: Announce,
    *,
    beside: Beside | None = None,
) -> None:
    """Serves every client that shows a token of the project."""
    import secrets

    from binnacle.project.session_locks import hold_session_lock
    from binnacle.server.bearer_tokens import EitherTokens, NamedTokens, OneToken, ProvenTokens
    from binnacle.server.http_listener import bind, serve_http
    from binnacle.server.mcp_over_http import LOCAL, McpOverHttp
    from binnacle.server.session_endpoints import SessionEndpoints
    from binnacle.sessions.planning import check_secret, resume_session

    token = None if address.is_open else address.token or secrets.token_urlsafe(24)
    tokens = EitherTokens(OneToken(token), NamedTokens(project.data_dir)) if token else None
    listener = bind(address.host, address.port)
    shown = f"[{address.host}]" if ":" in address.host else address.host
    url = f"http://{shown}:{listener.getsockname()[1]}{PATH}"
    hosts = LOCAL | {shown.lower()}

    async def open_endpoint(stack: AsyncExitStack, name: str, path: str, secret: str) -> McpOverHttp:
        """The endpoint of a session that was planned before, for who has its secret."""
        check = partial(check_secret, project, name)
        if not address.is_open:
            check(secret)
        served = SessionRequest(resume_session(project, name), name)
        stack.enter_context(hold_session_lock(project, name))
        mcp_server = await stack.enter_async_context(open_server(served))
        return McpOverHttp(mcp_server, tokens=None if address.is_open else ProvenTokens(check), hosts=hosts, path=path)

    # Many clients come, and none of them is the agent in whose shell the server was started.
    async with _servers(project, options, None, beside) as open_server, open_server(session) as mcp_server:
        _collect_garbage()
        endpoints = SessionEndpoints(
            McpOverHttp(mcp_server, tokens=tokens, hosts=hosts, path=PATH), PATH, open_endpoint
        )
        try:
            await serve_http(endpoints, listener, on_ready=partial(announce, url, token))
        finally:
            await endpoints.aclose()


@asynccontextmanager
async def _servers(
    project: Project, options: ServeOptions, agent_id: str | None, beside: Beside | None = None
) -> AsyncIterator[OpenServer]:
    """Opens the MCP servers of sessions, which share their upstream servers. Leaving it ends those."""
    upstreams = SharedUpstreams(project, options.servers)
    try:
        async with beside(upstreams) if beside else nullcontext():
            yield partial(
                open_mcp_server,
                project,
                prompts=partial(_serve_prompts, options.prompts),
                timeout=options.timeout,
                upstreams=upstreams,
                agent_id=agent_id,
            )
    finally:
        await upstreams.aclose()


def _serve_prompts(prompts: Callable[[], Iterable[PromptText]]) -> tuple[ServedPrompt, ...]:
    return tuple(ServedPrompt(one.name, one.about, one.read) for one in prompts())


def _collect_garbage() -> None:
    """Begins to collect garbage, except what is loaded by now: that stays, and would be looked at every time."""
    gc.freeze()
    gc.enable()
