"""`bn mcp serve`: the MCP server."""

import gc
import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import NotReady, PersonNeeded, UsageError
from binnacle.sessions.session_request import SessionRequest
from binnacle.work.session import SessionTerms

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from binnacle.server.catalog_provider import ServedPrompt
    from binnacle.server.mcp_server import McpServer

MCP = Group("mcp")

PATH = "/mcp"
"""Where HTTP clients find the server, and below it each planned session by its id."""

OpenEngine = Callable[[SessionRequest], "AbstractAsyncContextManager[McpServer]"]

MAX_TOKEN_CHARACTERS = 4096
"""Read of a file that should have a token and nothing else."""

BN_RUN_TIMEOUT_SECONDS = 30.0
"""Seconds a `bn_run` may take, if nobody says otherwise."""


def _nothing(answer: None, screen: Screen) -> None:
    """Serving prints what it has to say by itself."""


@MCP.command(
    "serve",
    "serve this project over MCP, on stdio or on HTTP",
    "bn mcp serve --http 127.0.0.1:0",
    arg("--http", metavar="[HOST:]PORT", help="on HTTP; port 0 takes a free one; the URL is printed once it listens"),
    arg("--token-file", metavar="FILE", help="has the bearer token clients must send; /dev/fd/3 reads a descriptor"),
    arg("--token", help="the token itself, which others of this machine can see; made up when left out (BN_MCP_TOKEN)"),
    arg("--no-auth", action="store_true", help="no token, on a loopback address only"),
    arg("--timeout", type=float, metavar="S", help="seconds a bn_run may take (30, BN_MCP_TIMEOUT)"),
    arg(
        "--mcp-server",
        dest="servers",
        action="append",
        default=[],
        metavar="NAME=…",
        help="another MCP server whose tools join: a URL, or a command; may be repeated",
    ),
    arg("--recipe", completes="recipe", help="what kind of session this is: its tools and limits"),
    arg("--discipline", completes="discipline", help="who works in it: without the tools that are denied to them"),
    arg("--feature", completes="feature", help="the feature it is about"),
    arg("--task", completes="task", help="the task it is about"),
    arg("--session", metavar="ID", help="serve a session that was planned before, with: bn plan launch"),
    view=_nothing,
    needs=READS,
)
def serve(context: Context, args: Namespace) -> None:
    # Taken at once: nothing that is started from here on has it.
    in_environment = os.environ.pop("BN_MCP_TOKEN", None)
    args.token = args.token or in_environment
    # What is imported stays; collecting garbage in between only costs time.
    gc.disable()
    import asyncio

    timeout = args.timeout if args.timeout is not None else _timeout_from_environment()
    if not 0 < timeout <= 86400:
        raise UsageError(f"bn mcp serve: not a timeout: {timeout:g}", hint="seconds, more than 0")
    address = _address(args) if args.http is not None else None
    with _session(context, args) as session:
        if address is None:
            # Python's own event loop: on two pipes it is as fast as uvloop, and loads sooner.
            asyncio.run(_serve_stdio(context, args, session, timeout))
            return
        with asyncio.Runner(loop_factory=_http_loop()) as runner:
            runner.run(_serve_http(context, args, session, address, timeout))


@contextmanager
def _session(context: Context, args: Namespace) -> Iterator[SessionRequest]:
    """The session to be served. One that begins with the server also ends with it."""
    terms = SessionTerms(args.recipe or "default", args.discipline, args.feature, args.task)
    is_chosen = args.recipe is not None or not terms.is_bare
    if (own := _session_above(context, is_chosen=is_chosen or args.session is not None)) is not None:
        _check_own(context, args, own)
        args.session = own
    if args.session is not None:
        if not terms.is_bare:
            raise UsageError("bn mcp serve: --session brings its own subject", hint="leave out the others")
        from binnacle.project.session_locks import present
        from binnacle.sessions.planning import resume_session

        terms = resume_session(context.project, args.session)
        terms = terms._replace(recipe=args.recipe or terms.recipe)
        with present(context.project, args.session):
            yield SessionRequest(terms, args.session)
    elif not is_chosen:
        yield SessionRequest()
    else:
        from binnacle.sessions.planning import serving_session

        with serving_session(context.project, terms) as session:
            yield SessionRequest(terms, session)


def _session_above(context: Context, *, is_chosen: bool) -> str | None:
    """The session whose agent started this server: it gets its own plan, however its client is configured."""
    from binnacle.lifecycle.process import ancestors, variable_of

    secret = os.environ.get("BN_SESSION", "").strip()
    found = secret or next(filter(None, (variable_of(one.pid, "BN_SESSION").strip() for one in ancestors())), "")
    if not found:
        return None
    from binnacle.config.access_tokens import id_of
    from binnacle.sessions.planning import check_secret

    try:
        check_secret(context.project, id_of(found), found)
    except NotReady:
        if secret and not is_chosen:
            raise
        return None  # it has ended, and what is asked for is another
    return id_of(found)


def _check_own(context: Context, args: Namespace, own: str) -> None:
    """Refuses a server of another session, or with more than was planned, to the agent of a session."""
    from binnacle.runner.ports import PLANNING_RECIPE
    from binnacle.sessions.planning import planned_recipes

    if args.session not in (None, own):
        raise PersonNeeded("only a person may serve another session", hint="leave out --session")
    if args.recipe is not None and args.recipe not in (PLANNING_RECIPE, *planned_recipes(context.project, own)):
        raise PersonNeeded("only a person may serve a session with another recipe", hint="leave out --recipe")


def _http_loop() -> "Callable[[], AbstractEventLoop] | None":
    """The faster event loop where it is installed; Python's own elsewhere."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _timeout_from_environment() -> float:
    given = os.environ.get("BN_MCP_TIMEOUT", "")
    try:
        return float(given) if given else BN_RUN_TIMEOUT_SECONDS
    except ValueError:
        raise UsageError(f"BN_MCP_TIMEOUT is not a number: {given!r}", hint="seconds, such as 30") from None


@asynccontextmanager
async def _mcp_servers(context: Context, args: Namespace, timeout: float) -> AsyncIterator[OpenEngine]:
    """Opens the MCP servers of sessions, which share their upstream servers. Leaving it ends those."""
    from binnacle.app.mcp_serving import open_mcp_server
    from binnacle.serving.shared_upstreams import SharedUpstreams

    upstreams = SharedUpstreams(context.project, args.servers)
    try:
        # On HTTP many clients come, and none of them is the agent in whose shell the server was started.
        agent_id = os.environ.get("BN_AGENT_ID", "").strip() or None if args.http is None else None
        yield partial(
            open_mcp_server, context.project, prompts=_prompts, timeout=timeout, upstreams=upstreams, agent_id=agent_id
        )
    finally:
        await upstreams.aclose()


def _collect_garbage() -> None:
    """Begins to collect garbage, but for what was loaded until now: that stays, and would be looked at every time."""
    gc.freeze()
    gc.enable()


async def _serve_stdio(context: Context, args: Namespace, session: SessionRequest, timeout: float) -> None:
    from binnacle.server.mcp_over_stdio import McpOverStdio, take_stdio

    source, sink = take_stdio()
    async with _mcp_servers(context, args, timeout) as open_mcp_server, open_mcp_server(session) as mcp_server:
        _collect_garbage()
        await McpOverStdio(mcp_server, source=source, sink=sink).serve()


async def _serve_http(
    context: Context, args: Namespace, session: SessionRequest, address: tuple[str, int], timeout: float
) -> None:
    import secrets

    from binnacle.server.bearer_tokens import EitherTokens, NamedTokens, OneToken, ProvenTokens
    from binnacle.server.http_listener import bind, serve_http
    from binnacle.server.mcp_over_http import LOCAL, McpOverHttp
    from binnacle.server.session_endpoints import SessionEndpoints

    host, port = address
    token = None if args.no_auth else _given_token(args) or secrets.token_urlsafe(24)
    tokens = EitherTokens(OneToken(token), NamedTokens(context.project.data_dir)) if token else None
    listener = bind(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listener.getsockname()[1]}{PATH}"

    def announce() -> None:
        answer = {"url": url, **({"token": token} if token else {})}
        import msgspec

        sys.stdout.write(f"{url}\n" if context.human else msgspec.json.encode(answer).decode() + "\n")
        sys.stdout.flush()
        if context.human and token:
            sys.stderr.write(f"token: {token}\n")

    async def open_endpoint(stack: AsyncExitStack, name: str, path: str, secret: str) -> McpOverHttp:
        """The endpoint of a session that was planned before, for who has its secret."""
        from binnacle.project.session_locks import present
        from binnacle.sessions.planning import check_secret, resume_session

        check = partial(check_secret, context.project, name)
        if not args.no_auth:
            check(secret)
        served = SessionRequest(resume_session(context.project, name), name)
        stack.enter_context(present(context.project, name))
        mcp_server = await stack.enter_async_context(open_mcp_server(served))
        return McpOverHttp(mcp_server, tokens=None if args.no_auth else ProvenTokens(check), hosts=hosts, path=path)

    hosts = LOCAL | {shown.lower()}
    async with _mcp_servers(context, args, timeout) as open_mcp_server, open_mcp_server(session) as mcp_server:
        _collect_garbage()
        endpoints = SessionEndpoints(
            McpOverHttp(mcp_server, tokens=tokens, hosts=hosts, path=PATH), PATH, open_endpoint
        )
        try:
            await serve_http(endpoints, listener, on_ready=announce)
        finally:
            await endpoints.aclose()


def _given_token(args: Namespace) -> str | None:
    """The token that the server is given. A file wins: whoever names one has read what the others are good for.

    Raises:
        UsageError: there is none in the file.
    """
    if args.token_file is None:
        return args.token or None
    try:
        with open(args.token_file, encoding="utf-8") as file:
            token = file.read(MAX_TOKEN_CHARACTERS).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        hint = "name a file that has the token and nothing else"
        raise UsageError(f"cannot read the token from {args.token_file}: {reason}", hint=hint) from error
    if not token:
        raise UsageError(f"there is no token in {args.token_file}", hint="write it there, or leave out --token-file")
    return token


def _address(args: Namespace) -> tuple[str, int]:
    name, _, port = args.http.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"not an address: {args.http!r}", hint="PORT or HOST:PORT; port 0 takes a free one")
    host = name.strip("[]") or "127.0.0.1"
    if args.no_auth and host not in ("127.0.0.1", "localhost", "::1"):
        raise UsageError(f"--no-auth only on a loopback address, not {host}", hint="leave out --no-auth")
    return host, int(port)


def _prompts() -> "tuple[ServedPrompt, ...]":
    """What `bn system emit` prints, for clients that offer prompts."""
    from binnacle.cli.commands.emit import TEMPLATES, read_template
    from binnacle.server.catalog_provider import ServedPrompt

    texts = {name: about for name, (file, about) in TEMPLATES.items() if file.endswith(".md")}
    return tuple(ServedPrompt(name, about, partial(read_template, name)) for name, about in texts.items())
