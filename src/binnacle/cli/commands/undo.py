"""`bn undo`: takes back the last changes of a person."""

from argparse import Namespace
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from binnacle.cli.command import READS, CommandAnswer, CommandNeeds, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.paging import UNLIMITED, say_how_many_more
from binnacle.cli.screen import Screen
from binnacle.errors import UsageError

if TYPE_CHECKING:
    from binnacle.store.transaction import Reader, Writer
    from binnacle.store.undo import RecordedChange
    from binnacle.work.task import Brief

UNDO = Group("undo")

LISTED_CHANGES = 20
"""How many changes are listed by default."""

MAX_NUMBER_DIGITS = 18
"""More than the number of any change has."""


class UndoneChangeAnswer(CommandAnswer):
    """A change in words."""

    number: int
    at: datetime
    what: list[str]


class ListedChange(CommandAnswer):
    """A change in words, and whether it can be undone."""

    number: int
    at: datetime
    what: list[str]
    state: str


class ChangeListAnswer(CommandAnswer):
    """The changes of a person, the newest first."""

    changes: list[ListedChange]
    total: int


class UndoAnswer(CommandAnswer, kw_only=True):
    """What was undone, and the tasks as they are now."""

    number: int | None = None
    """Of the change that undid the others; None for one that was not made."""

    dry_run: bool
    undone: list[UndoneChangeAnswer]
    tasks: "list[Brief]"
    warnings: tuple[str, ...] = ()


class _DryRun(Exception):
    """Leaves a transaction without a change."""


def _needs(args: Namespace) -> CommandNeeds:
    return READS if args.list or args.dry_run else by_person("undo a change")


def _show(answer: UndoAnswer | ChangeListAnswer, screen: Screen) -> None:
    if isinstance(answer, ChangeListAnswer):
        _show_list(answer, screen)
        return
    for change in answer.undone:
        for what in change.what:
            screen.line(f"{'would undo' if answer.dry_run else 'undid'} {change.number}: {what}")
    from binnacle.cli.views import show_changed

    for task in answer.tasks:
        show_changed(task, screen)
    for warning in answer.warnings:
        screen.line(f"{screen.styled('warning:', 'yellow')} {warning}")
    if not answer.dry_run:
        screen.line(screen.styled(f"make it again with: bn undo {answer.number}", "dim"))


def _show_list(answer: ChangeListAnswer, screen: Screen) -> None:
    if not answer.changes:
        screen.line("no changes")
        return
    rows = ((str(one.number), f"{one.at:%Y-%m-%d %H:%M}", one.state, "; ".join(one.what)) for one in answer.changes)
    screen.table(rows, flexible=3, headings=("NUMBER", "WHEN", "", "WHAT"))
    say_how_many_more(len(answer.changes), answer.total, screen, what="older")


@UNDO.command(
    "",
    "undo your last change, or one by its number: tasks, comments, dependencies, the queue, learnings and notes",
    "bn undo --dry-run",
    arg(
        "number",
        nargs="?",
        metavar="NUMBER",
        help="the change, as --list shows it; may be an undo",
    ),
    arg("-n", "--limit", type=int, metavar="N", help="how many changes to undo (1), or to list (20; 0 for all)"),
    arg("--list", action="store_true", help="only list your changes"),
    arg("--dry-run", action="store_true", help="only say what would be undone"),
    view=_show,
    needs=_needs,
)
def undo(context: Context, args: Namespace) -> UndoAnswer | ChangeListAnswer:
    if args.list:
        return _list(context, args)
    if args.limit is not None and (args.limit < 1 or args.number is not None):
        hint = "bn undo -n 3 undoes your last three changes, bn undo NUMBER the one with that number"
        raise UsageError("bn undo: -n is how many of the last changes to undo, one or more", hint=hint)
    with suppress(_DryRun), context.writing() as tx:
        answer = _undo(tx, args)
        if args.dry_run:
            raise _DryRun
    return answer if args.dry_run else replace(answer, number=tx.number)


def _undo(tx: "Writer", args: Namespace) -> UndoAnswer:
    from binnacle.store import tasks
    from binnacle.store.undo import choose, choose_last, undo
    from binnacle.work.task import brief

    me = tx.by.name
    chosen = (
        choose_last(tx, me, count=args.limit or 1)
        if args.number is None
        else [choose(tx, me, _parse_number(args.number))]
    )
    told = [UndoneChangeAnswer(number=one.number, at=one.at, what=_describe(tx, one)) for one in chosen]
    undone = undo(tx, chosen)
    there = tasks.get_many(tx, undone.task_ids)
    return UndoAnswer(
        dry_run=args.dry_run,
        undone=told,
        tasks=[brief(there[task_id]) for task_id in undone.task_ids if task_id in there],
        warnings=tuple(undone.warnings),
    )


def _parse_number(text: str) -> int:
    if not text.isdecimal() or len(text) > MAX_NUMBER_DIGITS:
        raise UsageError(f"bn undo: not the number of a change: {text!r}", hint="bn undo --list shows the numbers")
    return int(text)


def _list(context: Context, args: Namespace) -> ChangeListAnswer:
    from binnacle.store.undo import list_changes

    limit = LISTED_CHANGES if args.limit is None else args.limit or UNLIMITED
    if args.number is not None or limit < 0:
        raise UsageError("bn undo --list: -n is how many to list, and no change is named", hint="bn undo --list -n 50")
    me = context.actor.name
    with context.reading() as tx:
        found, total = list_changes(tx, me, limit=limit)
        listed = [
            ListedChange(number=one.number, at=one.at, what=_describe(tx, one), state=_state(one)) for one in found
        ]
    return ChangeListAnswer(changes=listed, total=total)


def _describe(tx: "Reader", change: "RecordedChange") -> list[str]:
    """What happened, a sentence for each event."""
    from binnacle.store.events import find_titles
    from binnacle.work.event_sentences import describe

    named = find_titles(tx, change.events)
    return [describe(event, named) for event in change.events]


def _state(change: "RecordedChange") -> str:
    if change.is_undone:
        return "undone"
    return "" if change.can_be_undone else "cannot be undone"
