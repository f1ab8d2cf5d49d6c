"""`bn upstream` commands that connect to servers: test, doctor, tools, call. What they start ends with them."""

import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from binnacle.cli.command import READS, CommandAnswer, arg
from binnacle.cli.commands.upstream import DISCIPLINE, UPSTREAM, find_server, look_around, show_problem
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.errors import ConfigError, InvalidInput
from binnacle.upstream.configuration.server_config import ConfigProblem

if TYPE_CHECKING:
    from binnacle.app.upstream_probe import ServerCheckup, ToolSummary, UpstreamProbe
    from binnacle.upstream.configuration.server_overview import ServersOverview

NAMES = arg("names", nargs="*", metavar="NAME", help="the servers; by default all")

Found = TypeVar("Found")


class TestedServersAnswer(CommandAnswer):
    """Servers after a connection was tried."""

    servers: "list[ServerCheckup]"


class UpstreamDoctorAnswer(CommandAnswer):
    """How every server stands, and what is wrong in files without being about one of them."""

    repo: str
    servers: "list[ServerCheckup]"
    problems: tuple[ConfigProblem, ...]


class OfferedToolsAnswer(CommandAnswer):
    """The tools that servers offer, and the servers that are not there."""

    tools: "list[ToolSummary]"
    tokens: int
    missing: "list[ServerCheckup]"
    notes: dict[str, list[str]]
    """What was held back, by server."""


def _connected(
    context: Context,
    overview: "ServersOverview",
    only: Collection[str] | None,
    work: "Callable[[UpstreamProbe], Awaitable[Found]]",
) -> Found:
    """Does something with servers; a person who waits longer than a moment sees how far it is."""
    from binnacle.app.upstream_probe import run_probe
    from binnacle.cli.progress_bar import ProgressBar

    with ProgressBar("connecting", len(overview.servers if only is None else only)) as bar:
        return run_probe(context.project, overview.servers, work, only=only, advance=bar.advance)


def _configured(overview: "ServersOverview", names: Iterable[str]) -> list[str]:
    """These names, every one of which is a server that is configured well."""
    for name in names:
        server = find_server(overview, name)
        if server.config is None:
            problem = server.problems[0]
            raise ConfigError(f"{problem.where}: {name}: {problem.message}", hint=problem.hint)
    return list(dict.fromkeys(names))


def _fail_unless(context: Context, holds: bool) -> None:
    if not holds:
        context.exit_code = 1


def _number(count: int | None) -> str:
    return "" if count is None else str(count)


def _milliseconds(row: "ServerCheckup", milliseconds: float | None) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds is not None and row.state == "ready" else ""


def _show_reasons(rows: "Iterable[ServerCheckup]", screen: Screen) -> None:
    """What is wrong with servers that are not ready, and what to do about it."""
    for row in rows:
        if row.state in ("ready", "broken"):
            continue
        mark = "⊘" if row.state == "disabled" else screen.styled("✗", "red")
        screen.line(f"{mark} {row.standing}")
        if row.reason:
            screen.block(row.reason)
        if row.hint:
            screen.line(f"  hint: {printable(row.hint)}")


def _show_notes(name: str, notes: Iterable[str], screen: Screen) -> None:
    for note in notes:
        screen.line(f"{screen.styled('!', 'yellow')} {name}: {printable(note)}")


def _show_tested(answer: TestedServersAnswer, screen: Screen) -> None:
    rows = [
        (one.name, one.state, one.version or "", _number(one.tools), _milliseconds(one, one.connect_ms))
        for one in answer.servers
    ]
    screen.table(rows, flexible=0, headings=("NAME", "STATE", "VERSION", "TOOLS", "CONNECTED IN"))
    _show_reasons(answer.servers, screen)


@UPSTREAM.command(
    "test",
    "connect to servers and show what they are",
    "bn upstream test database",
    arg("names", nargs="+", metavar="NAME", help="the servers; bn upstream list names them"),
    DISCIPLINE,
    view=_show_tested,
    needs=READS,
)
def test(context: Context, args: Namespace) -> TestedServersAnswer:
    overview = look_around(context, args.discipline)

    async def work(reach: "UpstreamProbe") -> "list[ServerCheckup]":
        return [one.checkup() for one in reach.servers]

    rows = _connected(context, overview, _configured(overview, args.names), work)
    _fail_unless(context, all(row.state == "ready" for row in rows))
    return TestedServersAnswer(servers=rows)


def _show_doctor(answer: UpstreamDoctorAnswer, screen: Screen) -> None:
    servers = answer.servers
    if not servers and not answer.problems:
        screen.line("no upstream servers; add one with: bn upstream add NAME URL")
        return
    rows = [
        (
            one.name,
            one.state,
            one.era or "",
            _milliseconds(one, one.latency_ms),
            _number(one.tools),
            _number(one.tokens),
        )
        for one in servers
    ]
    screen.table(rows, flexible=0, headings=("NAME", "STATE", "ERA", "LATENCY", "TOOLS", "TOKENS"))
    _show_reasons(servers, screen)
    for one in servers:
        _show_notes(one.name, one.notes or (), screen)
    for problem in (*(found for one in servers for found in one.problems or ()), *answer.problems):
        show_problem(problem, screen, answer.repo)


@UPSTREAM.command(
    "doctor",
    "connect to all servers at once, make a round trip to each, and show problems",
    "bn upstream doctor -H",
    NAMES,
    DISCIPLINE,
    view=_show_doctor,
    needs=READS,
)
def doctor(context: Context, args: Namespace) -> UpstreamDoctorAnswer:
    from binnacle.app.upstream_probe import ServerCheckup

    overview = look_around(context, args.discipline)
    for name in args.names:
        find_server(overview, name)
    chosen = {name: one for name, one in overview.servers.items() if not args.names or name in args.names}

    async def work(reach: "UpstreamProbe") -> "dict[str, ServerCheckup]":
        return await reach.examine()

    found = _connected(context, overview, [name for name, one in chosen.items() if one.config], work)
    rows = [
        replace(
            found.get(name) or ServerCheckup(name=name, state="broken"),
            source=str(one.entry.source),
            problems=one.problems,
        )
        for name, one in chosen.items()
    ]
    is_well = all(row.state in ("ready", "disabled") and not row.problems for row in rows)
    _fail_unless(context, is_well and not overview.problems)
    return UpstreamDoctorAnswer(repo=context.project.repo, servers=rows, problems=overview.problems)


def _show_tools(answer: OfferedToolsAnswer, screen: Screen) -> None:
    rows = [(one.name, one.shown, str(one.tokens), one.description) for one in answer.tools]
    if rows:
        screen.table(rows, flexible=3, headings=("CALL", "SHOWN AS", "TOKENS", "WHAT IT DOES"))
        screen.line(screen.styled(f"{len(rows)} tools, {answer.tokens} tokens", "dim"))
    else:
        screen.line("no tools")
    _show_reasons(answer.missing, screen)
    for name, notes in answer.notes.items():
        _show_notes(name, notes, screen)


@UPSTREAM.command(
    "tools",
    "the tools of servers, by the names to call and to show",
    "bn upstream tools database -H",
    NAMES,
    DISCIPLINE,
    view=_show_tools,
    needs=READS,
)
def tools(context: Context, args: Namespace) -> OfferedToolsAnswer:
    from binnacle.upstream.toolsets.tool_names import may_share

    overview = look_around(context, args.discipline)
    names = _configured(overview, args.names)

    async def work(reach: "UpstreamProbe") -> OfferedToolsAnswer:
        wanted = [one for one in reach.servers if not names or one.name in names]
        offers = reach.gateway.offers().values()
        rows = [reach.describe(one) for one in offers if not names or one.server in names]
        notes = {one.name: reach.gateway.notes.get(one.name) for one in wanted}
        return OfferedToolsAnswer(
            tools=rows,
            tokens=sum(row.tokens for row in rows),
            missing=[one.checkup() for one in wanted if one.status.state not in ("ready", "disabled")],
            notes={name: found for name, found in notes.items() if found},
        )

    # Where two tools would have the same name, both are called by another.
    neighbours = [one for one in overview.servers if any(may_share(one, name) for name in names)]
    answer = _connected(context, overview, neighbours if names else None, work)
    _fail_unless(context, not names or not answer.missing)
    return answer


def _show_result(answer: dict[str, Any], screen: Screen) -> None:
    import msgspec

    result = msgspec.json.decode(msgspec.json.encode(answer))
    for block in result.get("content") or ():
        text = block.get("text") or (block.get("resource") or {}).get("text")
        if text is not None:
            screen.block(text, indent=0)
        else:
            what = (block.get("type"), block.get("mimeType") or block.get("uri"))
            screen.line(printable(f"({' '.join(str(one) for one in what if one)})"))
    if not result.get("content"):
        screen.block(msgspec.json.format(msgspec.json.encode(result), indent=2).decode(), indent=0)


@UPSTREAM.command(
    "call",
    "call a tool of a server, and print its result unchanged",
    'bn upstream call database:query \'{"sql": "select 1"}\'',
    arg("tool", metavar="TOOL", help="SERVER:TOOL, or the name that agents use (mcp_…)"),
    arg("arguments", nargs="?", default="{}", metavar="ARGS", help="its arguments as JSON; - reads them from stdin"),
    DISCIPLINE,
    view=_show_result,
    needs=READS,
)
def call(context: Context, args: Namespace) -> dict[str, Any]:
    from msgspec import Raw

    from binnacle.upstream.toolsets.tool_names import may_own

    raw = _arguments(context.read_input("-") if args.arguments == "-" else args.arguments)
    if context.rights is None:
        context.check_at_home()
    overview = look_around(context, args.discipline)
    server, is_pair, _ = args.tool.partition(":")

    async def work(reach: "UpstreamProbe") -> dict[str, Any]:
        offer = reach.find(args.tool)
        if (rights := context.rights) is not None:
            rights.check_foreign(offer.name)
        return await reach.call(offer, raw, who=context.actor.name, progress=_teller(context))

    owners = [name for name in overview.servers if may_own(name, args.tool)]
    result = _connected(context, overview, _configured(overview, [server]) if is_pair else owners, work)
    _fail_unless(context, result.get("isError") != Raw(b"true"))
    return result


def _arguments(text: str) -> bytes:
    import msgspec

    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return text.encode()
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InvalidInput(f"not an object of arguments: {error}", hint='\'{"name": "value"}\'') from error


def _teller(context: Context) -> Callable[[Any], None] | None:
    """Tells a person what a tool says of its progress."""
    if not (context.human and sys.stderr.isatty()):
        return None

    def tell(told: Any) -> None:
        import msgspec

        params = msgspec.json.decode(told)
        done = "/".join(str(params[key]) for key in ("progress", "total") if params.get(key) is not None)
        sys.stderr.write(printable(f"{done} {params.get('message') or ''}") + "\n")

    return tell
