"""`bn upstream import`: takes over the servers that other clients have."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import field

from binnacle.cli.command import READS, CommandAnswer, arg, by_person
from binnacle.cli.commands.upstream import UPSTREAM, look_around, refuse_agents, short
from binnacle.cli.commands.upstream_files import faults, file_for, secret_warnings
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.errors import ConfigError
from binnacle.upstream.configuration.server_config import SourceKind
from binnacle.upstream.configuration.server_entry import usable_name

if TYPE_CHECKING:
    from binnacle.upstream.configuration.client_import import ClientFile, ImportableServer


class TakenServer(CommandAnswer):
    """A server that was taken over, or would be."""

    name: str
    was: str
    """What the client calls it."""

    origin: str = field(name="from")
    file: str
    scope: str
    transport: str
    left_out: list[str]
    warnings: list[str]


class ThereServer(CommandAnswer):
    """A server that is there already."""

    name: str
    was: str
    origin: str = field(name="from")
    how: str


class UnusableServer(CommandAnswer):
    """A server that cannot be taken over, or a file that cannot be read."""

    name: str
    origin: str = field(name="from")
    reason: str


class ImportedServersAnswer(CommandAnswer):
    """What became of the servers of other clients."""

    repo: str
    taken: list[TakenServer]
    there: list[ThereServer]
    unusable: list[UnusableServer]
    next: str = ""
    dry_run: bool = False


def _show_imported(answer: ImportedServersAnswer, screen: Screen) -> None:
    repo = answer.repo
    verb = "would take" if answer.dry_run else "took"
    for one in answer.taken:
        mark = screen.styled("✓", "green")
        name = one.name if one.name == one.was else f"{one.was} as {one.name}"
        screen.line(f"{mark} {verb} {printable(name)} from {short(one.origin, repo)} into {short(one.file, repo)}")
        if one.left_out:
            screen.line(f"  without keys that mean nothing here: {printable(', '.join(one.left_out))}")
        for warning in one.warnings:
            screen.line(f"  {screen.styled('warning:', 'yellow')} {printable(warning)}")
    for same in answer.there:
        screen.line(f"= {same.name} from {short(same.origin, repo)} is there already, {same.how}")
    for bad in answer.unusable:
        name = " in ".join(filter(None, (bad.name, short(bad.origin, repo))))
        screen.line(f"{screen.styled('✗', 'red')} {printable(name)}: {printable(bad.reason)}")
    if not (answer.taken or answer.there or answer.unusable):
        screen.line("no servers found in the files of clients")
    if step := answer.next:
        screen.line(f"next: {step}")


@UPSTREAM.command(
    "import",
    "import servers from the files of other clients; existing ones stay as they are",
    "bn upstream import --from claude --dry-run",
    arg("names", nargs="*", metavar="NAME", help="only these servers"),
    arg("--from", dest="origin", metavar="CLIENT|FILE", help="one client, or one file; by default all clients"),
    arg("--dry-run", action="store_true", help="only say what would be imported"),
    arg("--user", action="store_true", help="into your own file: all of yours, and those of the project that you name"),
    view=_show_imported,
    needs=lambda args: READS if args.dry_run else by_person("configure upstream servers"),
)
def import_servers(context: Context, args: Namespace) -> ImportedServersAnswer:
    if args.user:
        refuse_agents(context, "add to their own file", "bn upstream import --user")
    found: list[TakenServer | ThereServer | UnusableServer] = []
    there = {name: server.entry.data for name, server in look_around(context).servers.items()}
    for file in _origins(context, args.origin):
        try:
            wanted = [one for one in _find_servers(file, context) if not args.names or one.name in args.names]
        except ConfigError as error:
            found.append(UnusableServer(name="", origin=file.path, reason=error.message))
        else:
            found += [_take(context, one, there, args) for one in wanted]
    found += _missing(args.names, found)
    taken = [one for one in found if isinstance(one, TakenServer)]
    waiting = [one.name for one in taken if one.scope == "project"]
    is_useless = bool(found) and all(isinstance(one, UnusableServer) for one in found)
    context.exit_code = int(is_useless)
    return ImportedServersAnswer(
        repo=context.project.repo,
        taken=taken,
        there=[one for one in found if isinstance(one, ThereServer)],
        unusable=[one for one in found if isinstance(one, UnusableServer)],
        next=f"bn trust {' '.join(f'server:{name}' for name in waiting)}" if waiting and not args.dry_run else "",
        dry_run=args.dry_run,
    )


def _missing(names: list[str], found: Sequence[TakenServer | ThereServer | UnusableServer]) -> list[UnusableServer]:
    """Names that were asked for and are nowhere."""
    seen = {one.name if isinstance(one, UnusableServer) else one.was for one in found}
    return [UnusableServer(name=name, origin="", reason="no client has it") for name in names if name not in seen]


def _origins(context: Context, origin: str | None) -> "list[ClientFile]":
    from binnacle.config.clients.client_files import find_worktree
    from binnacle.config.clients.known_clients import CLIENTS
    from binnacle.upstream.configuration.client_import import any_file, client_files

    worktree = find_worktree(context.start)
    if not origin or origin in CLIENTS:
        return list(client_files(worktree, only=origin or ""))
    return [any_file(origin, worktree=worktree)]


def _find_servers(file: "ClientFile", context: Context) -> "list[ImportableServer]":
    from binnacle.config.clients.client_files import find_worktree
    from binnacle.upstream.configuration.client_import import find_servers

    projects = dict.fromkeys((find_worktree(context.start), context.project.repo))
    return list(find_servers(file, projects=tuple(projects)))


def _take(
    context: Context, one: "ImportableServer", there: dict[str, Any], args: Namespace
) -> TakenServer | ThereServer | UnusableServer:
    """Takes over one server, or says why not."""
    from binnacle.upstream.configuration.config_edit import put_server

    repo, name = context.project.repo, usable_name(one.name)
    if name in there and one.entry:
        how = "the same" if there[name] == one.entry else "but different"
        return ThereServer(name=name, was=one.name, origin=one.file.path, how=how)
    # What came with the repository becomes the person's own only if they name it.
    kind: SourceKind = "user" if args.user and (args.names or one.file.scope == "user") else one.file.scope
    if reason := _reason(context, name, one, kind):
        return UnusableServer(name=one.name, origin=one.file.path, reason=reason)
    path = file_for(context, kind, "bn upstream import")
    if not args.dry_run:
        put_server(path, name, one.entry, is_private=kind == "user")
    there[name] = one.entry
    return TakenServer(
        name=name,
        was=one.name,
        origin=one.file.path,
        file=path,
        scope=kind,
        transport=one.entry["transport"],
        left_out=list(one.left_out),
        warnings=[*secret_warnings(one.entry, path, repo)],
    )


def _reason(context: Context, name: str, one: "ImportableServer", kind: SourceKind) -> str:
    """Why a server cannot be taken over, if so."""
    if one.reason:
        return one.reason
    if kind == "user" and context.actor.kind == "agent":
        return "only a person can import their own servers"
    return next((message for message, _ in faults(name, one.entry, context.project.repo)), "")
