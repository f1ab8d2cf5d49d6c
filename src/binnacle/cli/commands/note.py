"""`bn note` and `bn progress`: what is written down along the way."""

from argparse import Namespace
from typing import Any

from binnacle.cli.command import Group, arg, changes, reads
from binnacle.cli.context import Context
from binnacle.cli.paging import limit_arg, say_how_many_more
from binnacle.cli.screen import Screen
from binnacle.store import notes
from binnacle.work.journal import parse_note_type

NOTE, PROGRESS = Group("note"), Group("progress")

TYPE = arg("--type", help="learning, stuck, tip or decision")
LIMIT = limit_arg(50, what="how many of the newest to show")


def _show_note(answer: Any, screen: Screen) -> None:
    screen.line(f"{answer['note'].id} [{answer['note'].type}]")
    screen.block(answer["note"].content)


def _show_notes(answer: Any, screen: Screen) -> None:
    if not answer["notes"]:
        screen.line("no notes; add one with: bn note add 'TEXT' --type tip")
        return
    rows = ((one.id, f"[{one.type}]", one.author, one.content) for one in answer["notes"])
    screen.table(rows, flexible=3, headings=("ID", "TYPE", "BY", "NOTE"))
    say_how_many_more(len(answer["notes"]), answer["total"], screen, what="older")


def _show_progress(answer: Any, screen: Screen) -> None:
    from binnacle.cli.views import ago

    for one in answer["progress"]:
        screen.line(screen.styled(f"{one.author}, {ago(one.created_at)}", "dim"))
        screen.block(one.text)
    say_how_many_more(len(answer["progress"]), answer.get("total", 0), screen, what="older")


@NOTE.command(
    "add",
    "keep a note",
    "bn note add 'Tokens live in Redis, not in the database' --type decision",
    arg("text", help="the note; - reads it from stdin"),
    arg("--type", default="tip", help="learning, stuck, tip (the default) or decision"),
    view=_show_note,
    needs=changes("note_add"),
)
def add(context: Context, args: Namespace) -> Any:
    kind = parse_note_type(args.type)
    text = context.read_input("-") if args.text == "-" else args.text
    with context.writing() as tx:
        return {"note": notes.add(tx, [(kind, text)])[0]}


@NOTE.command(
    "list", "the newest notes", "bn note list --type stuck", TYPE, LIMIT, view=_show_notes, needs=reads("note_list")
)
def list_notes(context: Context, args: Namespace) -> Any:
    kind = parse_note_type(args.type) if args.type else None
    with context.reading() as tx:
        found, total = notes.list_notes(tx, kind=kind, limit=args.limit)
    return {"notes": found, "total": total}


@NOTE.command(
    "delete",
    "delete a note",
    "bn note delete bnn-1f3a",
    arg("id", metavar="ID", help="the note"),
    view=_show_note,
    needs=changes("note_delete"),
)
def delete(context: Context, args: Namespace) -> Any:
    with context.writing() as tx:
        return {"note": notes.delete(tx, args.id)}


@PROGRESS.command(
    "add",
    "append to the project's running log",
    "bn progress add 'Login works; logout is next'",
    arg("text", help="what happened; - reads it from stdin"),
    view=_show_progress,
    needs=changes("progress_add"),
)
def add_progress(context: Context, args: Namespace) -> Any:
    text = context.read_input("-") if args.text == "-" else args.text
    with context.writing() as tx:
        return {"progress": [notes.add_progress(tx, text)]}


@PROGRESS.command(
    "list",
    "the newest entries of the log",
    "bn progress list -n 10",
    LIMIT,
    view=_show_progress,
    needs=reads("progress_list"),
)
def list_progress(context: Context, args: Namespace) -> Any:
    with context.reading() as tx:
        found, total = notes.list_progress(tx, limit=args.limit)
    return {"progress": found, "total": total}
