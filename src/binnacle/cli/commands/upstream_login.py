"""`bn upstream login` and `logout`: who we are to a server that wants to know."""

import sys
from argparse import Namespace

from binnacle.cli.command import CommandAnswer, arg, by_person
from binnacle.cli.commands.upstream import DISCIPLINE, NAME, UPSTREAM, find_server, look_around
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.errors import ConfigError
from binnacle.upstream.configuration.server_config import ServerConfig


class LoginAnswer(CommandAnswer):
    """A server that a person signed in to, and where the login is kept."""

    name: str
    kept: str


class LogoutAnswer(CommandAnswer):
    """A server that a person signed out of."""

    name: str
    was_there: bool
    still_good: str = ""
    """Why its tokens could not be revoked."""


def _show_login(answer: LoginAnswer, screen: Screen) -> None:
    screen.line(f"{screen.styled('✓', 'green')} signed in to {answer.name}; kept {answer.kept}")


@UPSTREAM.command(
    "login",
    "sign in to a server, in a browser on this machine or another",
    "bn upstream login tickets --no-browser",
    NAME,
    arg(
        "--no-browser",
        action="store_true",
        help="only print the address; read the address that the browser ends up at from stdin",
    ),
    arg("--device", action="store_true", help="with a code that you type on another device"),
    DISCIPLINE,
    view=_show_login,
    needs=by_person("sign in to an upstream server"),
)
def login(context: Context, args: Namespace) -> LoginAnswer:
    from binnacle.app.upstream_sign_in import sign_in

    kept = sign_in(
        _config(context, args),
        context.project.repo,
        show=_show_line,
        read_redirect=_read_line if sys.stdin.isatty() or args.no_browser else None,
        open_browser=not args.no_browser,
        device=args.device,
    )
    return LoginAnswer(name=args.name, kept=kept)


def _show_logout(answer: LogoutAnswer, screen: Screen) -> None:
    if not answer.was_there:
        screen.line(f"nobody was signed in to {answer.name}")
        return
    screen.line(f"{screen.styled('✓', 'green')} signed out of {answer.name}: the login is forgotten here")
    if answer.still_good:
        why = printable(answer.still_good)
        screen.line(f"{screen.styled('warning:', 'yellow')} its tokens stay valid until they expire: {why}")
        screen.line("  hint: end the session on the provider's own page, if it matters")


@UPSTREAM.command(
    "logout",
    "revoke the login of a server if possible, and forget it",
    "bn upstream logout tickets",
    NAME,
    DISCIPLINE,
    view=_show_logout,
    needs=by_person("sign out of an upstream server"),
)
def logout(context: Context, args: Namespace) -> LogoutAnswer:
    from binnacle.app.upstream_sign_in import sign_out

    done = sign_out(_config(context, args))
    return LogoutAnswer(name=args.name, was_there=done.was_there, still_good=done.still_good)


def _config(context: Context, args: Namespace) -> ServerConfig:
    server = find_server(look_around(context, args.discipline), args.name, context)
    if server.config is None:
        problem = server.problems[0]
        raise ConfigError(f"{problem.where}: {args.name}: {problem.message}", hint=problem.hint)
    return server.config


def _show_line(text: str) -> None:
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


async def _read_line() -> str:
    """A line that a person types or pastes. Waiting for it can be given up, which a thread that reads could not."""
    import asyncio

    loop = asyncio.get_running_loop()
    is_there = asyncio.Event()
    try:
        loop.add_reader(sys.stdin, is_there.set)
    except OSError:  # a file: always there
        return sys.stdin.readline()
    try:
        await is_there.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()
