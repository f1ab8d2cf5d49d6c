"""`bn store init`, `list`, `adopt`, `prune`: the stores of this machine, and which place each belongs to."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from binnacle.cli.command import READS, CommandAnswer, arg, by_person
from binnacle.cli.commands.store import STORE
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.config.directories import show_path
from binnacle.errors import UsageError

if TYPE_CHECKING:
    from binnacle.project.machine_stores import KnownStore

STATES = {"here": "this project", "there": "", "gone": "place is gone", "unknown": "place not known"}


class StoreListAnswer(CommandAnswer):
    """The stores of this machine."""

    stores: "list[KnownStore]"


class PrunedStoresAnswer(CommandAnswer):
    """Stores that were removed, or would be."""

    stores: "list[KnownStore]"
    dry_run: bool


class InitialisedStoreAnswer(CommandAnswer):
    """The store of a folder that is a project now."""

    repo: str
    id: str
    location: str
    new: bool


def _show_list(answer: StoreListAnswer, screen: Screen) -> None:
    rows = [
        (
            store.id,
            "?" if store.tasks is None else str(store.tasks),
            f"{max(1, store.bytes >> 10)} KB",
            f"{store.changed_at:%Y-%m-%d}",
            store.place,
            STATES[store.state],
        )
        for store in answer.stores
    ]
    screen.table(rows, flexible=4, headings=("store", "tasks", "size", "changed", "place", ""))
    if not rows:
        screen.line("no stores")


def _show_one(answer: msgspec.Struct, screen: Screen) -> None:
    from binnacle.cli.views import fields

    fields([(name.replace("_", " "), value) for name, value in msgspec.to_builtins(answer).items()], screen)


def _show_pruned(answer: PrunedStoresAnswer, screen: Screen) -> None:
    verb = "would remove" if answer.dry_run else "removed"
    for store in answer.stores:
        screen.line(f"{verb} {store.id} ({store.tasks} tasks) of {store.place or 'an unknown place'}")
    if not answer.stores:
        screen.line("nothing to remove")


def _printable(store: "KnownStore") -> "KnownStore":
    """The store with its place in characters, whatever bytes that has."""

    return msgspec.structs.replace(store, place=show_path(store.place))


@STORE.command(
    "init",
    "make this folder a project with a store",
    "bn store init",
    view=_show_one,
    needs=by_person("make a folder a project"),
)
def init(context: Context, args: Namespace) -> InitialisedStoreAnswer:  # noqa: ARG001

    is_new = not context.project.is_known
    store = context.store(create=True)
    return InitialisedStoreAnswer(
        repo=show_path(context.project.repo), id=context.project.id, location=store.location, new=is_new
    )


@STORE.command(
    "list", "every store of this machine, and the place it belongs to", "bn store list", view=_show_list, needs=READS
)
def list_all(context: Context, args: Namespace) -> StoreListAnswer:  # noqa: ARG001
    from binnacle.project.machine_stores import list_stores

    return StoreListAnswer(stores=[_printable(store) for store in list_stores(context.project)])


@STORE.command(
    "adopt",
    "use a store whose place is gone for this project",
    "bn store adopt shop-1f3a",
    arg("key", metavar="KEY", help="its id, or the beginning of it; see bn store list"),
    arg("--force", action="store_true", help="even if its place is unknown"),
    view=_show_one,
    needs=by_person("adopt a store"),
)
def adopt_store(context: Context, args: Namespace) -> "KnownStore":
    from binnacle.project.machine_stores import adopt

    context.close()
    return _printable(adopt(context.project, args.key, force=args.force))


@STORE.command(
    "prune",
    "remove stores without tasks whose place is gone",
    "bn store prune --dry-run",
    arg("keys", nargs="*", metavar="KEY", help="these stores, with their tasks"),
    arg("--all", action="store_true", help="also those with tasks"),
    arg("--dry-run", action="store_true", help="only list them"),
    arg("--yes", action="store_true", help="do not ask before removing tasks"),
    view=_show_pruned,
    needs=lambda args: READS if args.dry_run else by_person("delete stores"),
)
def prune(context: Context, args: Namespace) -> PrunedStoresAnswer:
    from binnacle.project.machine_stores import choose_prunable, list_stores, remove

    chosen = choose_prunable(list_stores(context.project), args.keys, with_tasks=args.all)
    if not args.dry_run:
        full = [store for store in chosen if not store.is_empty]
        if full and not args.yes:
            _confirm(f"remove {', '.join(store.id for store in full)} with all tasks?")
        remove(chosen)
    return PrunedStoresAnswer(stores=[_printable(store) for store in chosen], dry_run=args.dry_run)


def _confirm(question: str) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("this removes tasks for good", hint="say so with --yes; see which with --dry-run")
    Screen(sys.stderr).ask(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was removed", hint="answer y, or give --yes")
