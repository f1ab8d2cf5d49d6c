"""`bn upstream` commands about what is kept of servers: what they wrote, and what their tools were."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, CommandAnswer, arg, by_person
from binnacle.cli.commands.upstream import DISCIPLINE, NAME, UPSTREAM, find_server, look_around, refuse_agents
from binnacle.cli.context import Context
from binnacle.cli.paging import limit_arg
from binnacle.cli.screen import Screen, printable
from binnacle.errors import UsageError

if TYPE_CHECKING:
    from binnacle.upstream.listing.pins import PinChange

DEFAULT_LOG_LINES = 100
"""Lines of a log that are shown, if nobody says otherwise."""


class ServerLogAnswer(CommandAnswer):
    """The last lines that a server wrote."""

    name: str
    file: str
    lines: list[str]


class ChangedToolAnswer(CommandAnswer):
    """A tool that is not as it was when it was first seen."""

    kind: str
    tool: str
    was: str
    diff: str


class AcceptedToolsAnswer(CommandAnswer):
    """The tools of a server that changed, and those that were accepted."""

    name: str
    accepted: list[str]
    changes: list[ChangedToolAnswer]


def _show_log(answer: ServerLogAnswer, screen: Screen) -> None:
    for line in answer.lines:
        screen.line(printable(line))
    if not answer.lines:
        screen.line(f"{answer.name} wrote nothing yet")


@UPSTREAM.command(
    "logs",
    "the standard error of a server that is a local command",
    "bn upstream logs database -n 20",
    NAME,
    limit_arg(DEFAULT_LOG_LINES, what="how many lines, from the end"),
    DISCIPLINE,
    view=_show_log,
    needs=READS,
)
def logs(context: Context, args: Namespace) -> ServerLogAnswer:
    from binnacle.app.upstream_history import read_log

    server = find_server(look_around(context, args.discipline), args.name, context)
    found = read_log(context.project, server, lines=args.limit)
    return ServerLogAnswer(name=args.name, file=found.file, lines=found.lines)


def _show_accepted(answer: AcceptedToolsAnswer, screen: Screen) -> None:
    if not answer.changes:
        screen.line(f"nothing of {answer.name} waits to be accepted")
    elif answer.accepted:
        screen.line(f"{screen.styled('✓', 'green')} accepted: {printable(', '.join(answer.accepted))}")
    else:
        screen.line(f"⊘ {answer.name} stays as it was")


@UPSTREAM.command(
    "accept",
    "accept tools that changed since they were first seen; shows the changes and asks",
    "bn upstream accept database query",
    NAME,
    arg("tool", nargs="?", metavar="TOOL", help="one tool, by its server's name for it; by default all that changed"),
    arg("-y", "--yes", action="store_true", help="ask nothing; the answer lists what is accepted"),
    view=_show_accepted,
    needs=by_person("accept changed tools"),
)
def accept(context: Context, args: Namespace) -> AcceptedToolsAnswer:
    refuse_agents(context, "accept changed tools", f"bn upstream accept {args.name}")
    from binnacle.app.upstream_history import accept_tools, find_changed_tools

    if not find_changed_tools(context.project, args.name):
        find_server(look_around(context), args.name)
    shown = find_changed_tools(context.project, args.name, args.tool)
    changes = [ChangedToolAnswer(kind=one.kind, tool=one.tool, was=one.was, diff=one.diff()) for one in shown]
    is_accepted = shown and _confirmed(args, shown)
    accepted = accept_tools(context.project, args.name, args.tool, shown=shown) if is_accepted else []
    return AcceptedToolsAnswer(name=args.name, accepted=accepted, changes=changes)


def _confirmed(args: Namespace, changes: "Sequence[PinChange]") -> bool:
    """Shows the changes on the terminal and asks. The answer must be typed: there is no default but no."""
    if args.yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        hint = f"on a terminal: bn upstream accept {args.name}; without looking: --yes"
        raise UsageError("there is no terminal to ask on", hint=hint)
    screen = Screen(sys.stderr)
    for change in changes:
        screen.heading(
            f"{printable(change.tool)} {change.kind}{f', was {printable(change.was)}' if change.was else ''}"
        )
        screen.block(change.diff())
    sys.stderr.write("Accept? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
