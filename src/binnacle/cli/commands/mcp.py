"""`bn mcp serve`: the MCP server."""

import gc
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from binnacle.cli.command import READS, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import UsageError
from binnacle.work.session import SessionTerms

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from binnacle.app.project_server import PromptText

MCP = Group("mcp")

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
    project, terms = context.project, SessionTerms(args.recipe or "default", args.discipline, args.feature, args.task)
    from binnacle.app.served_session import open_session

    with open_session(project, terms, recipe=args.recipe, session_id=args.session) as session:
        from binnacle.app.project_server import HttpAddress, ServeOptions, serve_on_http, serve_on_stdio

        options = ServeOptions(timeout, tuple(args.servers), _list_prompts)
        if address is None:
            # Python's own event loop: on two pipes it is as fast as uvloop, and loads sooner.
            asyncio.run(serve_on_stdio(project, session, options))
            return
        where = HttpAddress(*address, None if args.no_auth else _given_token(args), is_open=args.no_auth)
        with asyncio.Runner(loop_factory=_http_loop()) as runner:
            runner.run(serve_on_http(project, session, options, where, partial(_announce, human=context.human)))


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


def _announce(url: str, token: str | None, *, human: bool) -> None:
    """Says where the server is, once it listens."""
    answer = {"url": url, **({"token": token} if token else {})}
    sys.stdout.write(f"{url}\n" if human else msgspec.json.encode(answer).decode() + "\n")
    sys.stdout.flush()
    if human and token:
        sys.stderr.write(f"token: {token}\n")


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


def _list_prompts() -> "Iterator[PromptText]":
    """What `bn system emit` prints, for clients that offer prompts."""
    from binnacle.app.project_server import PromptText
    from binnacle.cli.commands.emit import TEMPLATES, read_template

    for name, (file, about) in TEMPLATES.items():
        if file.endswith(".md"):
            yield PromptText(name, about, partial(read_template, name))
