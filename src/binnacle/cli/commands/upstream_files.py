"""`bn upstream` commands that change a server's entry in its file: add, remove, enable, disable."""

import os
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from binnacle.cli.command import CommandAnswer, arg, by_person
from binnacle.cli.commands.upstream import NAME, UPSTREAM, find_server, look_around, refuse_agents, short, show_problem
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.config.trust import forget
from binnacle.errors import ConfigError, Duplicate, InvalidInput, UsageError
from binnacle.upstream.configuration.config_paths import ConfigFile, config_files
from binnacle.upstream.configuration.secret_masking import find_literal_secrets
from binnacle.upstream.configuration.server_config import ConfigProblem, ConfigSource, SourceKind
from binnacle.upstream.configuration.server_entry import TRANSPORTS, ServerEntry, build_server
from binnacle.upstream.configuration.variable_expansion import ProjectVariables, has_variable

if TYPE_CHECKING:
    from binnacle.upstream.configuration.config_edit import EditedFile
    from binnacle.upstream.configuration.server_overview import ConfiguredServer

USER = arg("--user", action="store_true", help="in your own file, for all projects")


class WrittenServerAnswer(CommandAnswer):
    """What became of a server's entry in its file."""

    name: str
    action: str
    file: str
    repo: str
    backup: str | None = None
    warnings: list[str] | None = None
    problems: tuple[ConfigProblem, ...] | None = None
    next: str = ""

    def warning(self, text: str) -> "WrittenServerAnswer":
        """The same with one more warning."""
        return replace(self, warnings=[*(self.warnings or ()), text])


def _show_written(answer: WrittenServerAnswer, screen: Screen) -> None:
    name, file = answer.name, short(answer.file, answer.repo)
    mark = screen.styled("✓", "green")
    screen.line(f"{mark} {name} {answer.action}{f': {file}' if file else ''}")
    for warning in answer.warnings or ():
        screen.line(f"{screen.styled('warning:', 'yellow')} {printable(warning)}")
    for problem in answer.problems or ():
        show_problem(problem, screen, answer.repo)
    if step := answer.next:
        screen.line(f"next: {step}")


@UPSTREAM.command(
    "add",
    "add a server by its URL or its command; a command follows a bare --",
    "bn upstream add database --env 'DATABASE_URL=${DATABASE_URL}' -- npx -y @modelcontextprotocol/server-postgres",
    arg("name", metavar="NAME", help="letters, digits, '.', '_' and '-'; its tools are named mcp_NAME_…"),
    arg("target", nargs="+", metavar="URL|COMMAND", help="its URL; or, after --, its command with arguments"),
    USER,
    arg("--env", action="append", default=[], metavar="K=V", help="an environment variable for it; may be repeated"),
    arg("--header", action="append", default=[], metavar="K=V", help="a header sent to its URL; may be repeated"),
    arg("--transport", metavar="NAME", help="stdio, http, sse or websocket; by default found from the target"),
    arg("--cwd", metavar="DIR", help="where its command runs; by default the project"),
    arg("--lazy", action="store_true", help="connect at the first use, not at the start"),
    arg(
        "--allow", action="append", default=[], metavar="TOOL", help="only this tool; may be repeated, may be a pattern"
    ),
    view=_show_written,
    needs=by_person("configure upstream servers"),
)
def add(context: Context, args: Namespace) -> WrittenServerAnswer:
    from binnacle.app.trust_review import grant_written
    from binnacle.upstream.configuration.config_edit import put_server
    from binnacle.upstream.configuration.server_overview import read_overview, row

    repo, entry = context.project.repo, _entry(args)
    kind: SourceKind = "user" if args.user else "project"
    path = file_for(context, kind, f"bn upstream add {args.name} --user …")
    for message, hint in faults(args.name, entry, repo):
        raise InvalidInput(message, hint=hint)
    if any(args.name == one.name for one in _entries_of(path, kind)):
        hint = f"bn upstream remove {args.name} first, or take another name"
        raise Duplicate(f"{short(path, repo)} has a server called {args.name!r}", hint=hint)
    written = put_server(path, args.name, entry, is_private=args.user)
    if not args.user:
        grant_written(context.project, f"server:{args.name}")
    server = read_overview(repo).servers[args.name]
    answer = _answer(context, args.name, "added", written, entry=entry)
    if server.entry.source.file != path:
        answer = answer.warning(f"{short(str(server.entry.source), repo)} has the same name and counts instead")
    shown = row(server, repo)
    step = f"bn trust server:{args.name}" if server.config and not shown.trusted else ""
    return replace(answer, problems=shown.problems, next=step)


@UPSTREAM.command(
    "remove",
    "remove a server from its file",
    "bn upstream remove database",
    NAME,
    view=_show_written,
    needs=by_person("configure upstream servers"),
)
def remove(context: Context, args: Namespace) -> WrittenServerAnswer:
    from binnacle.upstream.configuration.config_edit import take_server

    server = _in_file(context, args.name)
    written = take_server(server.entry.source.file, args.name)
    if server.entry.source.kind == "project":
        forget(context.project.repo, [f"server:{args.name}"])
    answer = _answer(context, args.name, "removed", written)
    if below := look_around(context).servers.get(args.name):
        answer = answer.warning(f"{short(str(below.entry.source), answer.repo)} has the same name and counts now")
    return answer


@UPSTREAM.command(
    "enable",
    "enable a server again",
    "bn upstream enable database",
    NAME,
    view=_show_written,
    needs=by_person("configure upstream servers"),
)
def enable(context: Context, args: Namespace) -> WrittenServerAnswer:
    return _switch(context, args.name, enabled=True)


@UPSTREAM.command(
    "disable",
    "keep a server in its file but do not use it",
    "bn upstream disable database",
    NAME,
    view=_show_written,
    needs=by_person("configure upstream servers"),
)
def disable(context: Context, args: Namespace) -> WrittenServerAnswer:
    return _switch(context, args.name, enabled=False)


def _switch(context: Context, name: str, *, enabled: bool) -> WrittenServerAnswer:
    from binnacle.upstream.configuration.config_edit import switch_server

    file = _in_file(context, name).entry.source.file
    return _answer(context, name, "enabled" if enabled else "disabled", switch_server(file, name, enabled=enabled))


def _in_file(context: Context, name: str) -> "ConfiguredServer":
    """A server that stands in a file this process may change."""
    server = find_server(look_around(context), name)
    if server.entry.source.kind == "user":
        refuse_agents(context, "change servers of their own", f"bn upstream … {name}")
    return server


def file_for(context: Context, kind: SourceKind, command: str) -> str:
    """The file that new servers go to. What is in a person's own starts at once: agents leave it alone."""

    if kind == "user":
        refuse_agents(context, "add to their own file", command)
    return next(one.path for one in config_files(context.project.repo) if one.kind == kind)


def _entries_of(path: str, kind: SourceKind) -> list[ServerEntry]:
    """The entries in one file.

    Raises:
        ConfigError: it cannot be read, and should be fixed before it is changed.
    """
    from binnacle.upstream.configuration.server_loader import read_config

    entries, problems = read_config(ConfigFile(kind, path))
    for problem in problems:
        if not problem.server:
            raise ConfigError(f"{problem.where}: {problem.message}", hint=problem.hint, details={"file": path})
    return entries


def _entry(args: Namespace) -> dict[str, Any]:
    """What the options say about a server, in the shape of the file."""

    first, *rest = args.target
    is_url = "://" in first or TRANSPORTS.get(args.transport, "stdio") != "stdio"
    if is_url and rest:
        raise UsageError("a URL takes no arguments", hint="bn upstream add NAME URL, or NAME -- COMMAND ARG…")
    guess = "websocket" if first.startswith(("ws:", "wss:")) else "http" if is_url else "stdio"
    parts: dict[str, Any] = {"transport": args.transport or guess}
    parts |= {"url": first} if is_url else {"command": first, "args": rest}
    parts |= {"env": _pairs("--env", args.env), "headers": _pairs("--header", args.header), "cwd": args.cwd}
    parts |= {"lazy": args.lazy, "tools": {"allow": args.allow} if args.allow else {}}
    return {key: value for key, value in parts.items() if value}


def _pairs(option: str, given: list[str]) -> dict[str, str]:
    pairs = {}
    for one in given:
        name, has_value, value = one.partition("=")
        if not has_value or not name.strip():
            raise UsageError(
                f"{option} takes NAME=VALUE", hint=f"{option} 'NAME=${{NAME}}' takes it from the environment"
            )
        pairs[name.strip()] = value
    return pairs


def faults(name: str, entry: dict[str, Any], repo: str) -> Iterator[tuple[str, str]]:
    """What is wrong with an entry wherever it is used. Variables that are not defined here may be elsewhere."""

    words = str(entry)
    # An entry that is switched off is held to its shape only, not to what its variables stand for.
    checked = entry | ({"enabled": False} if has_variable(words) else {})
    _, problems = build_server(
        ServerEntry(name, checked, ConfigSource("cli")), ProjectVariables({}, repo=repo), repo=repo
    )
    yield from ((problem.message, problem.hint) for problem in problems)


def _answer(
    context: Context, name: str, action: str, written: "EditedFile", *, entry: dict[str, Any] | None = None
) -> WrittenServerAnswer:
    repo = context.project.repo
    return WrittenServerAnswer(
        name=name,
        action=action if written.is_changed else "unchanged",
        file=written.file,
        repo=repo,
        backup=written.backup or None,
        warnings=[*secret_warnings(entry or {}, written.file, repo)],
    )


def secret_warnings(entry: dict[str, Any], file: str, repo: str) -> Iterator[str]:
    """Says which keys hold a secret that stands in the file itself."""

    shared = ", which others may see" if file.startswith(repo + os.sep) else ""
    for key in find_literal_secrets(entry):
        yield f"{key} is written out in {short(file, repo)}{shared}; ${{VAR}} would take it from the environment"
