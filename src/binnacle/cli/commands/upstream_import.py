"""`bn upstream import`: takes over the servers that other clients have."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from binnacle.cli.command import READS, arg, by_person
from binnacle.cli.commands.upstream import UPSTREAM, look_around, refuse_agents, short
from binnacle.cli.commands.upstream_files import faults, file_for, secret_warnings
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.errors import ConfigError

if TYPE_CHECKING:
    from binnacle.upstream.configuration.client_import import ClientFile, ImportableServer
    from binnacle.upstream.configuration.server_config import SourceKind


def _show_imported(answer: Any, screen: Screen) -> None:
    repo = answer["repo"]
    verb = "would take" if answer.get("dry_run") else "took"
    for one in answer["taken"]:
        mark = screen.styled("✓", "green")
        name = one["name"] if one["name"] == one["was"] else f"{one['was']} as {one['name']}"
        screen.line(f"{mark} {verb} {printable(name)} from {short(one['from'], repo)} into {short(one['file'], repo)}")
        if one["left_out"]:
            screen.line(f"  without what means nothing here: {printable(', '.join(one['left_out']))}")
        for warning in one["warnings"]:
            screen.line(f"  {screen.styled('warning:', 'yellow')} {printable(warning)}")
    for one in answer["there"]:
        screen.line(f"= {one['name']} from {short(one['from'], repo)} is there already, {one['how']}")
    for one in answer["unusable"]:
        name = " in ".join(filter(None, (one["name"], short(one["from"], repo))))
        screen.line(f"{screen.styled('✗', 'red')} {printable(name)}: {printable(one['reason'])}")
    if not any(answer[key] for key in ("taken", "there", "unusable")):
        screen.line("no servers found in the files of clients")
    if step := answer.get("next"):
        screen.line(f"next: {step}")


@UPSTREAM.command(
    "import",
    "take over servers from the files of other clients; what is there stays as it is",
    "bn upstream import --from claude --dry-run",
    arg("names", nargs="*", metavar="NAME", help="only these servers"),
    arg("--from", dest="origin", metavar="CLIENT|FILE", help="one client, or one file; all clients when left out"),
    arg("--dry-run", action="store_true", help="say what would be taken, change nothing"),
    arg(
        "--user", action="store_true", help="into your own file: all of yours, and of the project those that are named"
    ),
    view=_show_imported,
    needs=lambda args: READS if args.dry_run else by_person("configure upstream servers"),
)
def import_servers(context: Context, args: Namespace) -> Any:
    if args.user:
        refuse_agents(context, "add to their own file", "bn upstream import --user")
    answer: dict[str, Any] = {"repo": context.project.repo, "taken": [], "there": [], "unusable": []}
    there = {name: server.entry.data for name, server in look_around(context).servers.items()}
    for file in _origins(context, args.origin):
        try:
            found = [one for one in _find_servers(file, context) if not args.names or one.name in args.names]
        except ConfigError as error:
            answer["unusable"].append({"name": "", "from": file.path, "reason": error.message})
            continue
        for one in found:
            part, noted = _take(context, one, there, args)
            answer[part].append(noted)
    answer["unusable"] += _missing(args.names, answer)
    waiting = [one["name"] for one in answer["taken"] if one["scope"] == "project"]
    if waiting and not args.dry_run:
        answer["next"] = f"bn trust {' '.join(f'server:{name}' for name in waiting)}"
    context.exit_code = int(bool(answer["unusable"]) and not answer["taken"] and not answer["there"])
    return answer | ({"dry_run": True} if args.dry_run else {})


def _missing(names: list[str], answer: dict[str, Any]) -> list[dict[str, str]]:
    """Names that were asked for and are nowhere."""
    seen = {one.get("was", one["name"]) for part in ("taken", "there", "unusable") for one in answer[part]}
    return [{"name": name, "from": "", "reason": "no client has it"} for name in names if name not in seen]


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
) -> tuple[str, dict[str, Any]]:
    """Takes over one server, or says why not: the part of the answer it belongs to, and what stands there."""
    from binnacle.upstream.configuration.config_edit import put_server
    from binnacle.upstream.configuration.server_entry import usable_name

    repo, name = context.project.repo, usable_name(one.name)
    noted: dict[str, Any] = {"name": name, "was": one.name, "from": one.file.path}
    if name in there and one.entry:
        return "there", noted | {"how": "the same" if there[name] == one.entry else "but different"}
    # What came with the repository becomes the person's own only if they name it.
    kind: SourceKind = "user" if args.user and (args.names or one.file.scope == "user") else one.file.scope
    if reason := _reason(context, name, one, kind):
        return "unusable", {"name": one.name, "from": one.file.path, "reason": reason}
    path = file_for(context, kind, "bn upstream import")
    if not args.dry_run:
        put_server(path, name, one.entry, is_private=kind == "user")
    there[name] = one.entry
    noted |= {"file": path, "scope": kind, "transport": one.entry["transport"], "left_out": list(one.left_out)}
    return "taken", noted | {"warnings": [*secret_warnings(one.entry, path, repo)]}


def _reason(context: Context, name: str, one: "ImportableServer", kind: "SourceKind") -> str:
    """Why a server cannot be taken over, if so."""
    if one.reason:
        return one.reason
    if kind == "user" and context.actor.kind == "agent":
        return "only a person can take over their own servers"
    return next((message for message, _ in faults(name, one.entry, context.project.repo)), "")
