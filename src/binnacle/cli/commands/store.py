"""`bn store`: where the data is, and how it moves."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import structs

from binnacle.cli.command import READS, CommandAnswer, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.progress_bar import ProgressBar
from binnacle.cli.screen import Screen
from binnacle.errors import InvalidInput, UsageError
from binnacle.store.schema_migration import LATEST_SCHEMA

if TYPE_CHECKING:
    from binnacle.store.maintenance.export_format import Advance

STORE = Group("store")


class StoreAnswer(CommandAnswer):
    """What the store is, where, and how much is in it."""

    engine: str
    location: str
    repo: str
    project: str
    person: str
    schema: int
    bytes: int | None
    """Of the file; None for a database server."""

    counts: dict[str, int]


class StorePathAnswer(CommandAnswer):
    """The directory of a project's data."""

    path: str


class ExportAnswer(CommandAnswer):
    """An export that was written."""

    file: str
    lines: int


class ImportAnswer(CommandAnswer):
    """What an import came to."""

    added: dict[str, int]
    skipped: dict[str, int]
    remapped: dict[str, str]
    renamed: dict[str, str]
    dropped: list[str]
    backup: str = ""
    """The file that has what was there before, where that was replaced."""


class ClearedStoreAnswer(CommandAnswer):
    """What was removed, and the file that has it."""

    removed: dict[str, int]
    backup: str


def _show_fields(answer: CommandAnswer, screen: Screen) -> None:
    _show_pairs(structs.asdict(answer), screen)


def _show_pairs(pairs: Mapping[str, object], screen: Screen) -> None:
    from binnacle.cli.views import fields

    shown = [
        (name.replace("_", " "), ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value)
        for name, value in pairs.items()
    ]
    fields(shown, screen)


def _show_path(answer: StorePathAnswer, screen: Screen) -> None:
    screen.line(answer.path)


def _show_import(answer: ImportAnswer, screen: Screen) -> None:
    _show_pairs({"added": answer.added or "nothing", "already there": answer.skipped}, screen)
    for title, changes in (("new ids", answer.remapped), ("new titles", answer.renamed)):
        if changes:
            screen.line()
            screen.heading(title)
            screen.table(((f"  {old}", f"→ {new}") for old, new in changes.items()), flexible=1)
    for edge in answer.dropped:
        screen.line(f"{screen.styled('warning:', 'yellow')} left out {edge}: it would make a cycle")


@STORE.command(
    "show", "what the store is, where it is, and how much is in it", "bn store show", view=_show_fields, needs=READS
)
def show(context: Context, args: Namespace) -> StoreAnswer:  # noqa: ARG001
    from binnacle.store.maintenance.export_file import count_rows

    store = context.store(create=False)
    path = context.project.store_file
    with store.read() as tx:
        counts = count_rows(tx)
    on_disk = store.dialect.name == "sqlite" and os.path.exists(path)
    return StoreAnswer(
        engine=store.dialect.name,
        location=store.location,
        repo=context.project.repo,
        project=context.project.id,
        person=context.actor.name,
        schema=LATEST_SCHEMA,
        bytes=os.path.getsize(path) if on_disk else None,
        counts={name: count for name, count in counts.items() if count},
    )


@STORE.command(
    "path",
    "the directory where this project's data is kept",
    'cd "$(bn store path -H)"',
    view=_show_path,
    needs=READS,
)
def path(context: Context, args: Namespace) -> StorePathAnswer:  # noqa: ARG001
    return StorePathAnswer(path=context.project.data_dir)


@STORE.command(
    "export",
    "write everything as JSON lines, with a manifest and checksums",
    "bn store export backup.jsonl; bn store export - | gzip > backup.gz",
    arg("file", help="the file to write; - for stdout"),
    view=_show_fields,
    needs=lambda args: READS if args.file == "-" else by_person("export the store to a file"),
)
def export(context: Context, args: Namespace) -> ExportAnswer | None:
    from binnacle.store.maintenance.export_file import export_file, write_export

    store = context.store(create=False)
    if args.file == "-":
        write_export(store, sys.stdout.buffer, progress=_show_export)
        sys.stdout.buffer.flush()
        return None
    written = export_file(store, args.file, progress=_show_export)
    return ExportAnswer(file=os.path.abspath(args.file), lines=written)


@contextmanager
def _show_export(total: int) -> "Iterator[Advance]":
    with ProgressBar("exporting", total) as bar:
        yield bar.advance


@STORE.command(
    "import",
    "merge an export into the store; conflicting entries get a new id or title",
    "bn store import backup.jsonl; bn -C old store export - | bn store import -",
    arg("file", help="the file to read; - for stdin"),
    arg("--replace", action="store_true", help="clear the store first; a backup is kept"),
    view=_show_import,
    needs=by_person("import into the store"),
)
def import_store(context: Context, args: Namespace) -> ImportAnswer:
    from binnacle.store.maintenance.export_file import back_up
    from binnacle.store.maintenance.export_format import read_lines
    from binnacle.store.maintenance.importer import clear, import_content

    with ProgressBar("reading", 0) as bar:
        content = read_lines(_lines(args.file), advance=bar.advance)
    store = context.store(create=True)
    backup = back_up(store, context.project.data_dir, progress=_show_export) if args.replace else ""
    total = sum(content.manifest.counts.values())
    with context.writing() as tx, ProgressBar("importing", total) as bar:
        if args.replace:
            clear(tx)
        report = import_content(tx, content, advance=bar.advance)
    return ImportAnswer(**structs.asdict(report), backup=backup)


def _lines(name: str) -> Iterator[bytes]:
    try:
        source: Iterable[bytes] = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise InvalidInput(f"cannot read {name!r}: {error.strerror}", hint="give a file, or - for stdin") from error
    try:
        yield from source
    finally:
        if name != "-":
            source.close()  # type: ignore[attr-defined]


@STORE.command(
    "clear",
    "remove everything; a backup is kept",
    "bn store clear --yes",
    arg("--yes", action="store_true", help="yes, everything"),
    view=_show_fields,
    needs=by_person("clear the store"),
)
def clear_store(context: Context, args: Namespace) -> ClearedStoreAnswer:
    from binnacle.store.maintenance.export_file import back_up
    from binnacle.store.maintenance.importer import clear

    if not args.yes:
        raise UsageError(
            "bn store clear removes everything of this project", hint="say so with --yes; a backup is kept"
        )
    store = context.store(create=True)
    backup = back_up(store, context.project.data_dir, progress=_show_export)
    with context.writing() as tx:
        removed = clear(tx)
    return ClearedStoreAnswer(removed=removed, backup=backup)
