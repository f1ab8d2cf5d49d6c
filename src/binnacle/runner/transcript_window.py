"""Reads a part of a transcript, by its place in the file: transcripts are too long to be read whole again and again.

A window ends at the end of a line. Who follows a session reads the next window from where the last one ended; a line
that is not complete yet is in the window after. Entries are as they were written: `transcript.read_transcript` joins
the pieces of a message, and here whoever reads does that.
"""

import os
import re

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from binnacle.runner.transcript import TRANSCRIPT_FILE, TranscriptEntry
from binnacle.wire.jsonrpc import UNREADABLE

MAX_WINDOW_BYTES = 512 << 10
MAX_WINDOW_ENTRIES = 400
MAX_LAST_BYTES = 128 << 10
"""Bytes of a window at the end: what fills some screens."""

MAX_LINE_BYTES = 4 << 20
"""Bytes of a line that are read; what the runner writes is shorter."""

MAX_SHOWN_CHARACTERS = 6000
"""Characters of each text of an entry in a window. `read_entry` has all of it."""

CUT_FIELDS = ("text", "input", "output", "diff")


class PlacedEntry(Struct, frozen=True, kw_only=True):
    """An entry, and where it is."""

    offset: int
    """Of its line in the file."""

    entry: TranscriptEntry
    cut: dict[str, int] = {}
    """The fields that are cut, with their complete lengths in characters."""


class TranscriptWindow(Struct, frozen=True, kw_only=True):
    """Entries that follow each other."""

    entries: tuple[PlacedEntry, ...] = ()
    start: int = 0
    end: int = 0
    """Where the next window begins."""

    size: int = 0
    """Of the file. There is more if it is larger than `end`."""


def read_window(folder: str, *, start: int = 0, most: int | None = MAX_WINDOW_ENTRIES) -> TranscriptWindow:
    """At most so many entries from an offset on. A session without a transcript has none."""
    try:
        file = open(os.path.join(folder, TRANSCRIPT_FILE), "rb")  # noqa: SIM115 - closed below, opened where it may be missing
    except FileNotFoundError:
        return TranscriptWindow()
    with file:
        size = os.fstat(file.fileno()).st_size
        begin = min(max(start, 0), size)
        file.seek(begin)
        entries: list[PlacedEntry] = []
        end = begin
        while end - begin < MAX_WINDOW_BYTES and (most is None or len(entries) < most):
            line = file.readline(MAX_LINE_BYTES)
            if not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
                break  # it is being written, or the end
            if (entry := _parse(line)) is not None:
                entries.append(_cut(end, entry))
            end += len(line)
        return TranscriptWindow(entries=tuple(entries), start=begin, end=end, size=size)


def read_last_window(folder: str, *, before: int | None = None) -> TranscriptWindow:
    """The entries that end at an offset, or at the end of the transcript."""
    path = os.path.join(folder, TRANSCRIPT_FILE)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            end = size if before is None else min(before, size)
            begin = max(0, end - MAX_LAST_BYTES)
            if begin:
                file.seek(begin - 1)
                begin += len(file.readline(MAX_LINE_BYTES)) - 1
    except FileNotFoundError:
        return TranscriptWindow()
    found = read_window(folder, start=min(begin, end), most=None)
    kept = tuple(one for one in found.entries if before is None or one.offset < before)
    return TranscriptWindow(entries=kept, start=begin, end=min(found.end, end), size=found.size)


def read_entry(folder: str, offset: int) -> TranscriptEntry | None:
    """The complete entry at an offset; None if there is none."""
    try:
        with open(os.path.join(folder, TRANSCRIPT_FILE), "rb") as file:
            file.seek(max(offset, 0))
            return _parse(file.readline(MAX_LINE_BYTES))
    except FileNotFoundError:
        return None


class TranscriptMark(Struct, frozen=True, kw_only=True):
    """A place in a transcript to jump to."""

    offset: int
    at: str
    iteration: int
    kind: str
    """`iteration`, `permission`, `end` or `cut`, or `time` for what is between those."""


MARKED_KINDS = ("iteration", "permission", "end", "cut")
MARK_DISTANCE_BYTES = 64 << 10
"""Bytes between two marks of kind `time`."""

MAX_SCANNED_BYTES = 512 << 20
MAX_MARKS = 5000

_HEAD = re.compile(rb'\{"at":"([^"]{1,40})","iteration":(\d+),"kind":"([a-z]+)"')


def list_marks(folder: str) -> list[TranscriptMark]:
    """The places of a transcript to jump to, in order. Lines are not parsed: only their beginning is looked at."""
    marks: list[TranscriptMark] = []
    offset, marked = 0, -MARK_DISTANCE_BYTES
    try:
        file = open(os.path.join(folder, TRANSCRIPT_FILE), "rb")  # noqa: SIM115 - closed below, opened where it may be missing
    except FileNotFoundError:
        return []
    with file:
        while offset < MAX_SCANNED_BYTES and len(marks) < MAX_MARKS and (line := file.readline(MAX_LINE_BYTES)):
            found = _HEAD.match(line)
            if found is not None:
                kind = found[3].decode()
                if kind in MARKED_KINDS or offset - marked >= MARK_DISTANCE_BYTES:
                    kind = kind if kind in MARKED_KINDS else "time"
                    marks.append(
                        TranscriptMark(offset=offset, at=found[1].decode(), iteration=int(found[2]), kind=kind)
                    )
                    marked = offset
            offset += len(line)
    return marks


_decode = msgspec.json.Decoder(TranscriptEntry).decode


def _parse(line: bytes) -> TranscriptEntry | None:
    try:
        return _decode(line)
    except UNREADABLE:
        return None


def _cut(offset: int, entry: TranscriptEntry) -> PlacedEntry:
    long = {name: len(text) for name in CUT_FIELDS if len(text := getattr(entry, name)) > MAX_SHOWN_CHARACTERS}
    if long:
        entry = replace(entry, **{name: getattr(entry, name)[:MAX_SHOWN_CHARACTERS] for name in long})
    return PlacedEntry(offset=offset, entry=entry, cut=long)
