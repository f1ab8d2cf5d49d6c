"""`bn note` and `bn progress`: what is written down along the way."""

from argparse import Namespace

from binnacle.cli.command import CommandAnswer, Group, arg, changes, reads
from binnacle.cli.context import Context
from binnacle.cli.paging import limit_arg, say_how_many_more
from binnacle.cli.screen import Screen
from binnacle.store import notes
from binnacle.work.journal import Note, Progress, parse_note_type

NOTE, PROGRESS = Group("note"), Group("progress")

TYPE = arg("--type", help="learning, stuck, tip or decision")
LIMIT = limit_arg(50, what="how many of the newest to show")


class NoteAnswer(CommandAnswer):
    """A note."""

    note: Note


class NoteListAnswer(CommandAnswer):
    """The newest notes."""

    notes: list[Note]
    total: int


class ProgressAnswer(CommandAnswer):
    """Entries of the running log."""

    progress: list[Progress]
    total: int | None = None


def _show_note(answer: NoteAnswer, screen: Screen) -> None:
    screen.line(f"{answer.note.id} [{answer.note.type}]")
    screen.block(answer.note.content)


def _show_notes(answer: NoteListAnswer, screen: Screen) -> None:
    if not answer.notes:
        screen.line("no notes; add one with: bn note add 'TEXT' --type tip")
        return
    rows = ((one.id, f"[{one.type}]", one.author, one.content) for one in answer.notes)
    screen.table(rows, flexible=3, headings=("ID", "TYPE", "BY", "NOTE"))
    say_how_many_more(len(answer.notes), answer.total, screen, what="older")


def _show_progress(answer: ProgressAnswer, screen: Screen) -> None:
    from binnacle.cli.views import ago

    for one in answer.progress:
        screen.line(screen.styled(f"{one.author}, {ago(one.created_at)}", "dim"))
        screen.block(one.text)
    say_how_many_more(len(answer.progress), answer.total or 0, screen, what="older")


@NOTE.command(
    "add",
    "keep a note",
    "bn note add 'Tokens live in Redis, not in the database' --type decision",
    arg("text", help="the note; - reads it from stdin"),
    arg("--type", default="tip", help="learning, stuck, tip (the default) or decision"),
    view=_show_note,
    needs=changes("note_add"),
)
def add(context: Context, args: Namespace) -> NoteAnswer:
    kind = parse_note_type(args.type)
    text = context.read_input("-") if args.text == "-" else args.text
    with context.writing() as tx:
        return NoteAnswer(note=notes.add(tx, [(kind, text)])[0])


@NOTE.command(
    "list", "the newest notes", "bn note list --type stuck", TYPE, LIMIT, view=_show_notes, needs=reads("note_list")
)
def list_notes(context: Context, args: Namespace) -> NoteListAnswer:
    kind = parse_note_type(args.type) if args.type else None
    with context.reading() as tx:
        found, total = notes.list_notes(tx, kind=kind, limit=args.limit)
    return NoteListAnswer(notes=found, total=total)


@NOTE.command(
    "delete",
    "delete a note",
    "bn note delete bnn-1f3a",
    arg("id", metavar="ID", help="the note"),
    view=_show_note,
    needs=changes("note_delete"),
)
def delete(context: Context, args: Namespace) -> NoteAnswer:
    with context.writing() as tx:
        return NoteAnswer(note=notes.delete(tx, args.id))


@PROGRESS.command(
    "add",
    "append to the project's running log",
    "bn progress add 'Login works; logout is next'",
    arg("text", help="what happened; - reads it from stdin"),
    view=_show_progress,
    needs=changes("progress_add"),
)
def add_progress(context: Context, args: Namespace) -> ProgressAnswer:
    text = context.read_input("-") if args.text == "-" else args.text
    with context.writing() as tx:
        return ProgressAnswer(progress=[notes.add_progress(tx, text)])


@PROGRESS.command(
    "list",
    "the newest entries of the log",
    "bn progress list -n 10",
    LIMIT,
    view=_show_progress,
    needs=reads("progress_list"),
)
def list_progress(context: Context, args: Namespace) -> ProgressAnswer:
    with context.reading() as tx:
        found, total = notes.list_progress(tx, limit=args.limit)
    return ProgressAnswer(progress=found, total=total)
