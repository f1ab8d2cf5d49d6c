"""`bn mcp token`: named tokens for clients of the HTTP server, and the token of a planned session."""

from argparse import Namespace
from datetime import datetime

from binnacle.cli.command import READS, CommandAnswer, arg, by_person
from binnacle.cli.commands.mcp import MCP
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import Refused, UsageError


class NewTokenAnswer(CommandAnswer, kw_only=True):
    """A token that was made, for a name or for a session."""

    name: str | None = None
    session: str | None = None
    token: str


class ListedToken(CommandAnswer):
    """A named token, without its secret."""

    name: str
    created_at: datetime


class TokenListAnswer(CommandAnswer):
    """The named tokens of a project."""

    tokens: list[ListedToken]


class RevokedTokenAnswer(CommandAnswer):
    """The name whose token is void."""

    revoked: str


def _check_person(context: Context) -> None:
    if context.actor.kind == "agent":
        raise Refused("only people give tokens, not agents", hint="ask the person you work for")


def _show_added(answer: NewTokenAnswer, screen: Screen) -> None:
    screen.line(answer.token)
    screen.line("This is shown once. Clients send it as: Authorization: Bearer TOKEN")


def _show_list(answer: TokenListAnswer, screen: Screen) -> None:
    from binnacle.cli.views import ago

    if not answer.tokens:
        screen.line("no named tokens; give one to a client with: bn mcp token add NAME")
        return
    rows = ((one.name, ago(one.created_at)) for one in answer.tokens)
    screen.table(rows, flexible=0, headings=("NAME", "CREATED"))


def _show_revoked(answer: RevokedTokenAnswer, screen: Screen) -> None:
    screen.line(f"Revoked {answer.revoked}. Running servers refuse it within a second.")


@MCP.command(
    "token add",
    "make a token for one client of /mcp, or for the endpoint of one session; shown once",
    "bn mcp token add laptop-claude",
    arg("name", nargs="?", help="who it is for; changes of the client are recorded under this name"),
    arg("--session", metavar="ID", help="for /mcp/ID, the endpoint of a planned session; revokes the one before"),
    view=_show_added,
    needs=by_person("make a token"),
)
def add(context: Context, args: Namespace) -> NewTokenAnswer:
    if (args.name is None) == (args.session is None):
        raise UsageError("bn mcp token add: a name or --session is needed", hint="bn mcp token add laptop-claude")
    _check_person(context)
    if args.name is not None:
        from binnacle.app.client_tokens import add_token

        return NewTokenAnswer(name=args.name, token=add_token(context.project, args.name))
    from binnacle.store import sessions

    with context.writing() as tx:
        return NewTokenAnswer(session=args.session, token=sessions.issue_secret(tx, args.session))


@MCP.command("token list", "the named tokens of this project", "bn mcp token list", view=_show_list, needs=READS)
def list_tokens(context: Context, args: Namespace) -> TokenListAnswer:  # noqa: ARG001
    from binnacle.app import client_tokens

    known = client_tokens.list_tokens(context.project)
    listed = [ListedToken(name=name, created_at=token.created_at) for name, token in sorted(known.items())]
    return TokenListAnswer(tokens=listed)


@MCP.command(
    "token revoke",
    "revoke a named token",
    "bn mcp token revoke laptop-claude",
    arg("name", help="as bn mcp token list shows it"),
    view=_show_revoked,
    needs=by_person("revoke a token"),
)
def revoke(context: Context, args: Namespace) -> RevokedTokenAnswer:
    _check_person(context)
    from binnacle.app.client_tokens import revoke_token

    revoke_token(context.project, args.name)
    return RevokedTokenAnswer(revoked=args.name)
