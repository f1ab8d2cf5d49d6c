"""`bn upstream`: the MCP servers whose tools come through Binnacle. What needs no connection to them."""

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, CommandAnswer, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.errors import NotFound, Refused
from binnacle.store.features import get_discipline, list_disciplines
from binnacle.upstream.configuration.server_config import ConfigProblem

if TYPE_CHECKING:
    from binnacle.upstream.configuration.server_overview import ConfiguredServer, ServerRow, ServersOverview

UPSTREAM = Group("upstream")

NAME = arg("name", metavar="NAME", help="the server; bn upstream list names them")
DISCIPLINE = arg("--discipline", completes="discipline", metavar="NAME", help="with the servers of this discipline")


class ServerListAnswer(CommandAnswer):
    """All servers, and what is wrong in files without being about one of them."""

    repo: str
    servers: "list[ServerRow]"
    problems: tuple[ConfigProblem, ...]


def find_server(found: "ServersOverview", name: str, context: Context | None = None) -> "ConfiguredServer":
    """The server of that name, as it was written. Given the context, it is said if only a discipline has it.

    Raises:
        NotFound: there is none, and no file that might have it is broken.
        ConfigError: a file cannot be read.
    """
    from binnacle.upstream.configuration import server_overview

    try:
        return server_overview.find_server(found, name)
    except NotFound as error:
        if context is not None and (disciplines := _bringing(context, name)):
            hint = f"it belongs to a discipline; add: --discipline {' or '.join(disciplines)}"
            raise NotFound(error.message, hint=hint) from error
        raise


def _bringing(context: Context, name: str) -> list[str]:
    """The disciplines that bring a server of that name."""

    try:
        with context.reading() as tx:
            return [one.name for one in list_disciplines(tx) if name in one.upstreams]
    except NotFound:  # there is no store yet
        return []


def look_around(context: Context, discipline: str | None = None) -> "ServersOverview":
    """Everything that is configured for the project, and for a discipline if one is named."""
    from binnacle.upstream.configuration.server_overview import read_overview

    servers = None
    if discipline:
        with context.reading() as tx:
            servers = get_discipline(tx, discipline).upstreams
    return read_overview(context.project.repo, discipline=servers)


def refuse_agents(context: Context, what: str, instead: str) -> None:
    """Some decisions are a person's."""
    if context.actor.kind == "agent":
        raise Refused(f"only a person can {what}", hint=f"ask someone to run: {instead}")


def short(path: str, repo: str) -> str:
    """A path as a person would write it in the project."""
    home = os.path.expanduser("~")
    if path.startswith(repo + os.sep):
        return path.removeprefix(repo + os.sep)
    return "~" + path.removeprefix(home) if path.startswith(home + os.sep) else path


def _show_list(answer: ServerListAnswer, screen: Screen) -> None:
    servers = answer.servers
    if not servers and not answer.problems:
        screen.line("no upstream servers; add one with: bn upstream add NAME URL")
        return
    if servers:
        rows = [
            (one.name, _state(one), one.transport or "?", one.target, short(one.source, answer.repo)) for one in servers
        ]
        screen.table(rows, flexible=3, headings=("NAME", "STATE", "TRANSPORT", "TARGET", "FROM"))
    for name, note in ((one.name, note) for one in servers for note in one.held_back):
        screen.line(f"{screen.styled('!', 'yellow')} {name}: {printable(note)}")
    for problem in (*(problem for one in servers for problem in one.problems), *answer.problems):
        show_problem(problem, screen, answer.repo)
    if waiting := [one.name for one in servers if one.enabled and not one.trusted]:
        screen.line(f"review and trust them: bn trust {' '.join(f'server:{name}' for name in waiting)}")


def show_problem(problem: ConfigProblem, screen: Screen, repo: str) -> None:
    """Something wrong in the configuration, with the next step."""
    name = f"{problem.server}: " if problem.server else ""
    text = f"{short(problem.where, repo)}: {name}{problem.message}"
    screen.line(f"{screen.styled('✗', 'red')} {printable(text)}")
    if problem.hint:
        screen.line(f"  hint: {printable(problem.hint)}")


def _state(row: "ServerRow") -> str:
    if not row.transport:
        return "broken"
    if not row.enabled:
        return "disabled"
    return "enabled" if row.trusted else "not trusted"


@UPSTREAM.command(
    "list",
    "all servers: their addresses, where they are configured, and their problems",
    "bn upstream list -H",
    DISCIPLINE,
    view=_show_list,
    needs=READS,
)
def list_servers(context: Context, args: Namespace) -> ServerListAnswer:
    from binnacle.upstream.configuration.server_overview import row

    repo = context.project.repo
    found = look_around(context, args.discipline)
    return ServerListAnswer(
        repo=repo,
        servers=[row(server, repo, data_dir=context.project.data_dir) for server in found.servers.values()],
        problems=found.problems,
    )
