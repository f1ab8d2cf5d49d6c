"""A complete store as JSON lines, written and read: for another engine, another store, or git.

The first line is the manifest, the last line has the checksums, and every line between is
one entity as `{"task": {…}}`. Derived data (open dependencies, ranks, the search index) is
not written; the import computes it again.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from binnacle import __version__
from binnacle.errors import InvalidInput
from binnacle.store.attention import ATTENTIONS
from binnacle.store.claim_holders import AGENTS
from binnacle.store.comments import COMMENTS
from binnacle.store.done_requests import REPORTS
from binnacle.store.events import EVENTS
from binnacle.store.evidence import EVIDENCE
from binnacle.store.features import DISCIPLINES, FEATURES
from binnacle.store.learnings import LEARNINGS
from binnacle.store.notes import NOTES, PROGRESS
from binnacle.store.quarantine import QUARANTINE
from binnacle.store.questions import QUESTIONS
from binnacle.store.review_remarks import REMARKS
from binnacle.store.reviews import REVIEWS, VERDICTS
from binnacle.store.runs import RUNS
from binnacle.store.schema_migration import LATEST_SCHEMA
from binnacle.store.sessions import ITERATIONS, SESSIONS
from binnacle.store.table import Table
from binnacle.store.tasks import DEPENDENCIES, TASKS
from binnacle.store.transaction import Reader, stamp
from binnacle.store.waivers import WAIVERS
from binnacle.store.work_starts import WORK_STARTS
from binnacle.work import steps
from binnacle.work.text import strip_controls

EXPORT_FORMAT = "binnacle-store"
EXPORT_VERSION = 1

TABLES: dict[str, tuple[Table[Any], str]] = {
    "feature": (FEATURES, "number"),
    "discipline": (DISCIPLINES, "number"),
    "task": (TASKS, "number"),
    "dependency": (DEPENDENCIES, "task_id, depends_on"),
    "comment": (COMMENTS, "number"),
    "learning": (LEARNINGS, "number"),
    "note": (NOTES, "number"),
    "progress": (PROGRESS, "number"),
    "run": (RUNS, "number"),
    "session": (SESSIONS, "number"),
    "iteration": (ITERATIONS, "session, number"),
    "report": (REPORTS, "number"),
    "question": (QUESTIONS, "number"),
    "attention": (ATTENTIONS, "number"),
    "evidence": (EVIDENCE, "number"),
    "waiver": (WAIVERS, "number"),
    "work_start": (WORK_STARTS, "task_id"),
    "review": (REVIEWS, "number"),
    "review_verdict": (VERDICTS, "number"),
    "review_remark": (REMARKS, "number"),
    "quarantine": (QUARANTINE, "number"),
    "agent": (AGENTS, "number"),
    "event": (EVENTS, "seq"),
}
"""All tables, each after those it refers to, with the order of its rows."""

PAGE_ROWS = 1000
"""Rows read at once."""

Advance = Callable[[int], None]
"""Called with the number of lines handled so far."""


class ExportManifest(Struct, frozen=True, kw_only=True):
    """The first line of an export."""

    format: str
    version: int
    binnacle: str
    schema: int
    exported_at: str
    counts: dict[str, int]


class ExportContent(Struct, frozen=True, kw_only=True):
    """The content of a complete and valid export."""

    manifest: ExportManifest
    entities: dict[str, list[Any]]
    """The values of each table's struct, by table."""


def export_lines(tx: Reader, *, advance: Advance = lambda _: None) -> Iterator[bytes]:
    """The store, line by line."""
    counts = {name: tx.count(f"select count(*) from {name}") for name in TABLES}
    manifest = ExportManifest(
        format=EXPORT_FORMAT,
        version=EXPORT_VERSION,
        binnacle=__version__,
        schema=LATEST_SCHEMA,
        exported_at=stamp(tx.now),
        counts=counts,
    )
    yield msgspec.json.encode(manifest) + b"\n"
    checksums = {}
    written = 0
    for name, (table, order) in TABLES.items():
        digest = hashlib.sha256()
        for offset in range(0, counts[name], PAGE_ROWS):
            for value in table.select(tx, f"order by {order} limit ? offset ?", PAGE_ROWS, offset):
                line = msgspec.json.encode({name: value}) + b"\n"
                digest.update(line)
                written += 1
                yield line
            advance(written)
        checksums[name] = digest.hexdigest()
    yield msgspec.json.encode({"checksums": checksums}) + b"\n"


def read_lines(lines: Iterable[bytes], *, advance: Advance = lambda _: None) -> ExportContent:
    """Reads and checks an export, before it changes anything.

    Raises:
        InvalidInput: the error names the line or the mismatch.
    """
    entities: dict[str, list[Any]] = {name: [] for name in TABLES}
    digests = {name: hashlib.sha256() for name in TABLES}
    manifest: ExportManifest | None = None
    checksums: dict[str, str] | None = None
    for number, line in enumerate(lines, 1):
        if manifest is None:
            manifest = _parse_manifest(line)
            continue
        if checksums is not None:
            raise InvalidInput(f"line {number} follows the checksums", hint="export the store again")
        name, value = _parse_entity(line, number)
        if name == "checksums":
            checksums = value
            continue
        digests[name].update(line if line.endswith(b"\n") else line + b"\n")
        entities[name].append(value)
        if number % PAGE_ROWS == 0:
            advance(number)
    if manifest is None or checksums is None:
        raise InvalidInput("the file ends too early: its checksums are missing", hint="export the store again")
    nothing = hashlib.sha256().hexdigest()  # an older program has no checksum for a table it did not have
    for name, found in entities.items():
        if len(found) != manifest.counts.get(name, 0) or digests[name].hexdigest() != checksums.get(name, nothing):
            raise InvalidInput(f"the {name} lines are not what was exported", hint="the file was changed or cut")
    return ExportContent(manifest=manifest, entities=entities)


def _parse_manifest(line: bytes) -> ExportManifest:
    try:
        manifest = msgspec.json.decode(line, type=ExportManifest)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"not a store export: line 1: {error}", hint=steps.EXPORT_STORE) from error
    if manifest.format != EXPORT_FORMAT or manifest.version > EXPORT_VERSION or manifest.schema > LATEST_SCHEMA:
        raise InvalidInput(
            f"this program does not support the export's format: {manifest.format} {manifest.version}, "
            f"schema {manifest.schema}, written by Binnacle {manifest.binnacle}",
            hint="upgrade Binnacle",
        )
    return manifest


def _parse_entity(line: bytes, number: int) -> tuple[str, Any]:
    try:
        ((name, raw),) = msgspec.json.decode(line, type=dict[str, Raw]).items()
        if name == "checksums":
            return name, msgspec.json.decode(raw, type=dict[str, str])
        struct = TABLES[name][0].struct
        value = msgspec.json.decode(raw, type=struct)
        if line.isascii() and b"\\u" not in line and b"\x7f" not in line:
            return name, value
        return name, msgspec.convert(_strip_controls(msgspec.json.decode(raw)), type=struct)
    except (msgspec.DecodeError, ValueError, KeyError) as error:
        raise InvalidInput(f"line {number} is not part of an export: {error}", hint="export the store again") from error


def _strip_controls(value: Any) -> Any:
    """Removes control characters, which an export that was edited by hand may contain."""
    match value:
        case str():
            return strip_controls(value)
        case list():
            return [_strip_controls(one) for one in value]
        case dict():
            return {strip_controls(name): _strip_controls(one) for name, one in value.items()}
    return value
