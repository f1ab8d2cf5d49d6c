"""`bn system`: sets up agents and their clients."""

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from binnacle.cli.command import READS, CommandAnswer, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.config.clients.known_clients import CLIENTS, KnownClient, Scope
from binnacle.errors import UsageError

if TYPE_CHECKING:
    from binnacle.config.clients.setup_plan import FileChange, SetupTarget

SYSTEM = Group("system")

_SAID = {
    "created": "✓ Created",
    "updated": "✓ Updated",
    "unchanged": "✓ Unchanged:",
    "removed": "✓ Removed from",
    "skipped": "⊘ Skipped:",
}

_DONE = "Done! Run 'bn orient' to verify setup."


class SetupItem(NamedTuple):
    """One file that `init` is about."""

    question: str
    target: "SetupTarget"
    note: str = ""
    """What is left to do once the file is written."""


class EntryOptions(NamedTuple):
    """How the entries of clients are to be written."""

    scope: Scope | None
    allow: bool
    recipe: str | None


class ClientFileAnswer(CommandAnswer):
    """What became of one file of a client."""

    client: str
    file: str
    action: str
    backup: str = ""
    note: str = ""
    """What is left for a person to do."""

    diff: str | None = None
    error: dict[str, Any] | None = None
    """Why the file was left as it is, as errors are printed."""


class SystemInitAnswer(CommandAnswer):
    """The files that were set up, or would be."""

    worktree: str
    files: list[ClientFileAnswer]
    dry_run: bool = False
    warning: str = ""


def _show(answer: SystemInitAnswer, screen: Screen) -> None:
    for one in answer.files:
        _show_file(one, screen, answer.worktree)
    if warning := answer.warning:
        screen.line(f"{screen.styled('warning:', 'yellow')} {warning}")
    changed = {one.action for one in answer.files} & {"created", "updated"}
    if answer.dry_run:
        screen.line("Nothing was changed.")
    elif changed and not any(one.error for one in answer.files):
        screen.line(_DONE)
    elif not answer.files:
        screen.line("Nothing of Binnacle's was found.")


def _show_file(one: ClientFileAnswer, screen: Screen, worktree: str) -> None:
    if one.error is not None:
        screen.line(f"{screen.styled('✗', 'red')} {one.error['message']}")
        screen.line(f"  hint: {one.error['hint']}")
        return
    if one.diff:
        for line in one.diff.removesuffix("\n").split("\n"):
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            screen.line(screen.styled(line.expandtabs(), style))
        return
    screen.line(f"{_SAID[one.action]} {_short(one.file, worktree)}")
    if one.note:
        screen.line(f"  {one.note}")


def _short(path: str, worktree: str) -> str:
    """A path as a person would write it here."""
    home = os.path.expanduser("~")
    if path.startswith(worktree + os.sep):
        return os.path.relpath(path, worktree)
    return "~" + path.removeprefix(home) if path.startswith(home + os.sep) else path


@SYSTEM.command(
    "init",
    "write AGENTS.md and the files of agent clients; asks on a terminal",
    "bn system init -y --client claude --client codex",
    arg("-y", "--yes", action="store_true", help="ask nothing: write the AGENTS.md section and the named clients"),
    arg("--write-mcp-vscode", action="store_true", help="VS Code, .vscode/mcp.json"),
    arg("--write-mcp-copilot", action="store_true", help="GitHub Copilot CLI, ~/.copilot/mcp-config.json"),
    arg("--write-mcp-all", action="store_true", help="both, and every other client on this machine"),
    arg(
        "--client",
        action="append",
        choices=tuple(CLIENTS),
        default=[],
        metavar="NAME",
        help=f"a client, installed or not; may be repeated: {', '.join(CLIENTS)}",
    ),
    arg("--user", action="store_true", help="in your own files, for all projects"),
    arg("--project", action="store_true", help="in the project's files, if a client has one"),
    arg("--recipe", metavar="NAME", help="what the server gives its agents: develop adds a debugger; default: default"),
    arg("--allow", action="store_true", help="let the client call Binnacle's tools without asking, for headless use"),
    arg("--remove", action="store_true", help="remove it again: everything, or that of the named clients"),
    arg("--dry-run", action="store_true", help="only show what would change"),
    view=_show,
    needs=lambda args: READS if args.dry_run else by_person("set up clients"),
)
def init(context: Context, args: Namespace) -> SystemInitAnswer | None:
    from binnacle.config.clients.client_files import find_worktree
    from binnacle.config.clients.setup_plan import carry_out, plan

    if args.user and args.project:
        raise UsageError("--user and --project exclude each other", hint="leave both out for each client's usual file")
    worktree = find_worktree(context.start)
    wish = EntryOptions(scope=_scope(args), allow=args.allow, recipe=_recipe(args.recipe, worktree))
    names = _named(args)
    if not (args.yes or args.remove or args.dry_run or names) and sys.stdin.isatty() and sys.stdout.isatty():
        _converse(context, worktree, wish)
        return None
    items = [_section(worktree)] if args.yes or not names else []
    items += [_client(CLIENTS[name], worktree, wish) for name in (names or (CLIENTS if args.remove else ()))]
    planned = [plan(item.target, remove=args.remove) for item in items]
    changes = planned if args.dry_run else [carry_out(change) for change in planned]
    files = [_answer(change, item.note, diff=args.dry_run) for change, item in zip(changes, items, strict=True)]
    if args.remove and not names:
        files = [one for one in files if one.action == "removed" or one.error]
    context.exit_code = int(any(change.error for change in changes))
    warning = _unused(args, names) or _missing_command(files)
    return SystemInitAnswer(worktree=worktree, files=files, dry_run=args.dry_run, warning=warning)


def _named(args: Namespace) -> list[str]:
    """The clients that the options name, each once, in the usual order."""
    from binnacle.config.clients.client_files import is_found

    names = set(args.client)
    if args.write_mcp_vscode or args.write_mcp_all:
        names.add("vscode")
    if args.write_mcp_copilot or args.write_mcp_all:
        names.add("copilot")
    if args.write_mcp_all:
        names.update(client.name for client in CLIENTS.values() if is_found(client))
    return [name for name in CLIENTS if name in names]


def _scope(args: Namespace) -> Scope | None:
    return "user" if args.user else "project" if args.project else None


def _section(worktree: str) -> SetupItem:
    from binnacle.config.clients.setup_plan import agents_target

    return SetupItem("Write AGENTS.md section?", agents_target(os.path.join(worktree, "AGENTS.md"), root=worktree))


def _recipe(name: str | None, worktree: str) -> str | None:
    """The recipe that was named, if there is one of that name."""
    if name is None:
        return None
    from binnacle.plan.recipe_loader import find_recipe_file

    find_recipe_file(name, worktree)
    return name


def _client(client: KnownClient, worktree: str, wish: EntryOptions) -> SetupItem:
    from binnacle.config.clients.client_files import find_file, is_in_project
    from binnacle.config.clients.setup_plan import client_target

    path = find_file(client, worktree=worktree, scope=wish.scope)
    root = worktree if is_in_project(client, wish.scope) else None
    notes = [client.note] if path.startswith(worktree + os.sep) else []
    notes += [client.unattended] if wish.allow else []
    target = client_target(client, path, allow=wish.allow, recipe=wish.recipe, root=root)
    return SetupItem(f"Write {client.title} MCP config?", target, "; ".join(filter(None, notes)))


def _answer(change: "FileChange", note: str, *, diff: bool) -> ClientFileAnswer:
    """What became of a file."""
    return ClientFileAnswer(
        client=change.target.client,
        file=change.target.path,
        action=change.action,
        backup=change.backup or "",
        note=note if change.action in {"created", "updated"} else "",
        diff=_difference(change) if diff and change.before != change.after else None,
        error=change.error.to_dict() if change.error else None,
    )


def _difference(change: "FileChange") -> str:
    """A unified diff; a last line without newline is marked as `diff` marks it."""
    from difflib import unified_diff

    old, new = ("/dev/null" if text is None else change.target.path for text in (change.before, change.after))
    compared = unified_diff(_diff_lines(change.before), _diff_lines(change.after), old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in compared)


def _diff_lines(text: str | None) -> list[str]:
    """Lines with their newline. Not `splitlines`, which also breaks at what is no line ending in these files."""
    *lines, last = (text or "").split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _unused(args: Namespace, names: list[str]) -> str:
    """What is said where options are about clients, and none is named."""
    given = [f"--recipe {args.recipe}"] if args.recipe else []
    given += ["--allow"] if args.allow else []
    if not given or names or args.remove:
        return ""
    return f"no client was set up, so {' and '.join(given)} had no effect; name one with --client, or --write-mcp-all"


def _missing_command(files: list[ClientFileAnswer]) -> str:
    from shutil import which

    is_written = any(one.client in CLIENTS and one.action in {"created", "updated"} for one in files)
    return "'bn' is not on PATH, where the clients look for it" if is_written and not which("bn") else ""


def _converse(context: Context, worktree: str, wish: EntryOptions) -> None:
    """Asks about each file, and writes it when told to."""
    from binnacle.config.clients.client_files import is_found
    from binnacle.config.clients.setup_plan import carry_out, plan

    clients = [client for client in CLIENTS.values() if client.name in ("vscode", "copilot") or is_found(client)]
    items = [_section(worktree), *(_client(client, worktree, wish) for client in clients)]
    screen = Screen()
    screen.line()
    screen.heading("Binnacle System Initialization")
    screen.line("==============================")
    for number, item in enumerate(items, 1):
        screen.line()
        if not _confirm(f"[{number}/{len(items)}] {item.question}"):
            screen.line("⊘ Skipped")
            continue
        change = carry_out(plan(item.target, remove=False))
        _show_file(_answer(change, item.note, diff=False), screen, worktree)
        context.exit_code = context.exit_code or int(change.error is not None)
    screen.line()
    screen.line(_DONE if context.exit_code == 0 else "Not everything could be written; see above.")


def _confirm(question: str) -> bool:
    while True:
        Screen().ask(f"{question} [Y/n]")
        answer = sys.stdin.readline()
        if not answer:
            raise UsageError("no answer to the question", hint="-y asks nothing and takes the defaults")
        if answer.strip().lower() in ("", "y", "yes"):
            return True
        if answer.strip().lower() in ("n", "no"):
            return False
