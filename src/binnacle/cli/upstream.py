"""`bn upstream`: the MCP servers whose tools come through Binnacle. What needs no connection to them."""

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from binnacle.cli.command import Group, arg
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.errors import ConfigError, NotFound, Refused, UsageError, did_you_mean

if TYPE_CHECKING:
    from binnacle.upstream.overview import Overview, Server

UPSTREAM = Group("upstream")

NAME = arg("name", metavar="NAME", help="the server; bn upstream list names them")
DISCIPLINE = arg("--discipline", completes="discipline", metavar="NAME", help="with the servers of this discipline")


def find_server(found: "Overview", name: str, context: Context | None = None) -> "Server":
    """The server of that name, as it was written. Given the context, it is said if only a discipline has it.

    Raises:
        NotFound: there is none, and no file that might have it is broken.
        ConfigError: a file cannot be read.
    """
    if name in found.servers:
        return found.servers[name]
    for problem in found.problems:
        if not problem.server:
            raise ConfigError(f"{problem.where}: {problem.message}", hint=problem.hint)
    hint = did_you_mean(name, list(found.servers)) or "bn upstream list names them; bn upstream add adds one"
    if context is not None and (disciplines := _bringing(context, name)):
        hint = f"it comes with a discipline; add: --discipline {' or '.join(disciplines)}"
    raise NotFound(f"no server is called {name!r}", hint=hint)


def _bringing(context: Context, name: str) -> list[str]:
    """The disciplines that bring a server of that name."""
    from binnacle.store.features import listed_disciplines

    try:
        with context.reading() as tx:
            return [one.name for one in listed_disciplines(tx) if name in one.upstreams]
    except NotFound:  # there is no store yet
        return []


def look_around(context: Context, discipline: str | None = None) -> "Overview":
    """Everything that is configured for the project, and for a discipline if one is named."""
    from binnacle.upstream.overview import look

    servers = None
    if discipline:
        from binnacle.store.features import get_discipline

        with context.reading() as tx:
            servers = get_discipline(tx, discipline).upstreams
    return look(context.project.repo, discipline=servers)


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


def _show_list(answer: Any, screen: Screen) -> None:
    servers = answer["servers"]
    if not servers and not answer["problems"]:
        screen.line("no upstream servers; add one with: bn upstream add NAME URL")
        return
    if servers:
        rows = [
            (one.name, _state(one), one.transport or "?", one.target, short(one.source, answer["repo"]))
            for one in servers
        ]
        screen.table(rows, flexible=3, headings=("NAME", "STATE", "TRANSPORT", "TARGET", "FROM"))
    problems = [problem for one in servers for problem in one.problems] + answer["problems"]
    for problem in problems:
        show_problem(problem, screen, answer["repo"])
    if waiting := [one.name for one in servers if one.enabled and not one.approved]:
        screen.line(f"look at them and let them in: bn upstream approve {' '.join(waiting)}")


def show_problem(problem: dict[str, str], screen: Screen, repo: str) -> None:
    """Something wrong in the configuration, with the next step."""
    name = f"{problem['server']}: " if problem["server"] else ""
    text = f"{short(problem['where'], repo)}: {name}{problem['message']}"
    screen.line(f"{screen.styled('✗', 'red')} {printable(text)}")
    if problem["hint"]:
        screen.line(f"  hint: {printable(problem['hint'])}")


def _state(row: Any) -> str:
    if not row.transport:
        return "broken"
    if not row.enabled:
        return "disabled"
    return "enabled" if row.approved else "not approved"


@UPSTREAM.command(
    "list",
    "all servers: where they are, where they are configured, what is wrong with them",
    "bn upstream list -H",
    DISCIPLINE,
    view=_show_list,
)
def list_servers(context: Context, args: Namespace) -> Any:
    from binnacle.upstream.overview import row

    repo = context.project.repo
    found = look_around(context, args.discipline)
    return {
        "repo": repo,
        "servers": [row(server, repo) for server in found.servers.values()],
        "problems": [problem._asdict() for problem in found.problems],
    }


def _show_approved(answer: Any, screen: Screen) -> None:
    for one in answer["approved"]:
        allowed = "started" if one["command"] else "connected to"
        screen.line(f"{screen.styled('✓', 'green')} {one['name']} may be {allowed}")
    for name in answer["declined"]:
        screen.line(f"⊘ {name} is not approved: it is neither started nor connected to")
    for name in answer["unchanged"]:
        screen.line(f"✓ {name}: nothing to approve")
    if answer["approved"]:
        screen.line("sessions that are being served have their tools in a moment")
    if any(one["source"] == "discipline" for one in answer["approved"]):
        screen.line("files of sessions that were planned before do not name them yet: bn plan renew SESSION")
    if not any(answer[key] for key in ("approved", "declined", "unchanged")):
        screen.line("nothing waits for approval")


@UPSTREAM.command(
    "approve",
    "let the project start a local command, or send a server something secret; shows it and asks",
    "bn upstream approve database",
    arg("names", nargs="*", metavar="NAME", help="the servers; all that wait, one by one, when left out"),
    arg("--all", action="store_true", help="all that wait"),
    arg("-y", "--yes", action="store_true", help="ask nothing, for CI; the servers must be named, or --all"),
    DISCIPLINE,
    view=_show_approved,
)
def approve(context: Context, args: Namespace) -> Any:
    from binnacle.upstream.approvals import approve as keep
    from binnacle.upstream.approvals import is_approved
    from binnacle.upstream.overview import seen

    refuse_agents(context, "approve servers", "bn upstream approve")
    if args.names and args.all:
        raise UsageError("names and --all exclude each other", hint="give one of the two")
    if args.yes and not args.names and not args.all:
        raise UsageError("--yes needs to know what it approves", hint="name the servers, or give --all")
    found = look_around(context, args.discipline)
    repo = context.project.repo
    answer: dict[str, list[Any]] = {"approved": [], "declined": [], "unchanged": []}
    for server in _named(context, found, args.names):
        if is_approved(server.config, repo):
            answer["unchanged"] += [server.entry.name] if args.names else []
            continue
        shown = _described(server, repo)
        if args.yes or _confirm(shown):
            keep(server.config, repo, seen(server), by=context.actor.name, is_agent=context.actor.kind == "agent")
            answer["approved"].append(shown)
        else:
            answer["declined"].append(server.entry.name)
    return answer


def _named(context: Context, found: "Overview", names: list[str]) -> list[Any]:
    """The servers with these names, all of them configured well; without names, those that are."""
    if not names:
        return [server for server in found.servers.values() if server.config]
    servers = [find_server(found, name, context) for name in dict.fromkeys(names)]
    for server in servers:
        if server.config is None:
            problem = server.problems[0]
            raise ConfigError(f"{problem.where}: {problem.server}: {problem.message}", hint=problem.hint)
    return servers


def _described(server: "Server", repo: str) -> dict[str, Any]:
    """What will run, or what will be sent where, and what changed since it was approved."""
    from binnacle.upstream.approvals import differences, find_approval
    from binnacle.upstream.overview import seen

    shown = seen(server)
    described: dict[str, Any] = {
        "name": server.entry.name,
        "source": str(server.entry.source),
        "command": list(shown.words),
        **({"cwd": shown.cwd or repo} if shown.words else {}),
        "env": list(shown.env),
        **({"url": shown.url, "headers": list(shown.headers)} if shown.url else {}),
        **({"file": shown.file} if shown.file else {}),
    }
    before = find_approval(server.entry.name, repo)
    return described | ({"changed": differences(before, shown)} if before else {})


def _confirm(shown: dict[str, Any]) -> bool:
    """Shows a server on the terminal and asks. The answer must be typed: there is no default but no."""
    heading, *lines = _sent(shown) if "url" in shown else _started(shown)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        what = f"{shown['name']} would {heading} {' '.join(lines)}"
        hint = f"{what}; to let it: bn upstream approve {shown['name']} --yes"
        raise UsageError("there is no terminal to ask on", hint=hint)
    screen = Screen(sys.stderr)
    screen.heading(printable(f"{shown['name']}, from {shown['source']}, would {heading}:"))
    for line in lines:
        screen.line(f"  {printable(line)}")
    if "changed" in shown:
        screen.line("  It was approved before, but since then this changed:")
        for change in shown["changed"]:
            screen.line(f"  - {printable(change)}")
    sys.stderr.write("Let it connect? [y/N] " if "url" in shown else "Let it run? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _started(shown: dict[str, Any]) -> list[str]:
    import shlex

    env = [f"with {', '.join(shown['env'])} in its environment"] if shown["env"] else []
    return ["run", shlex.join(shown["command"]), f"in {shown['cwd']}", *env]


def _sent(shown: dict[str, Any]) -> list[str]:
    headers = [f"with the headers {', '.join(shown['headers'])}"] if shown["headers"] else []
    env = [f"and send it what your environment has in {', '.join(shown['env'])}"] if shown["env"] else []
    file = [f"and send it what is in the file {shown['file']}"] if "file" in shown else []
    return ["connect to", shown["url"], *headers, *env, *file]
