"""What agents say, think and call in a session of a run, as they do it.

Transcripts are files of the machine that drives the session. The page reads them in windows, and follows one by asking
for what is after the window that it has: only the size of the file is looked at when there is nothing new.
"""

import asyncio
import re
from typing import Annotated

from msgspec import Meta, Struct

from binnacle.errors import InvalidInput, NotFound
from binnacle.runner.transcript import TranscriptEntry
from binnacle.runner.transcript_window import (
    TranscriptMark,
    TranscriptWindow,
    list_marks,
    read_entry,
    read_last_window,
    read_window,
)
from binnacle.sessions.planning import session_folder
from binnacle.web.endpoints import reads
from binnacle.web.page_project import PageProject

_SESSION_ID = re.compile(r"bns-[0-9a-f]{3,40}")


class TranscriptQuery(Struct, frozen=True, kw_only=True):
    """A window of a transcript: from an offset on, or the last one before an offset, or the last one of all."""

    session: str
    start: Annotated[int, Meta(ge=0)] | None = None
    before: Annotated[int, Meta(ge=0)] | None = None


class TranscriptEntryQuery(Struct, frozen=True, kw_only=True):
    """An entry of a transcript."""

    session: str
    offset: Annotated[int, Meta(ge=0)]


class CompleteEntry(Struct, frozen=True, kw_only=True):
    """An entry with all of its texts."""

    offset: int
    entry: TranscriptEntry


class TranscriptMarksQuery(Struct, frozen=True, kw_only=True):
    """The places of a transcript to jump to."""

    session: str


class TranscriptMarks(Struct, frozen=True, kw_only=True):
    """The places of a transcript to jump to, in order."""

    marks: list[TranscriptMark]


@reads("transcript")
async def read_transcript(project: PageProject, asked: TranscriptQuery) -> TranscriptWindow:
    """Entries that follow each other, their long texts cut."""
    folder = _folder(project, asked.session)
    if asked.start is not None:
        return await asyncio.to_thread(read_window, folder, start=asked.start)
    return await asyncio.to_thread(read_last_window, folder, before=asked.before)


@reads("transcript_entry")
async def read_one_entry(project: PageProject, asked: TranscriptEntryQuery) -> CompleteEntry:
    """All of one entry."""
    entry = await asyncio.to_thread(read_entry, _folder(project, asked.session), asked.offset)
    if entry is None:
        raise NotFound(f"no entry at {asked.offset} of the transcript of {asked.session}", hint="reload the page")
    return CompleteEntry(offset=asked.offset, entry=entry)


@reads("transcript_marks")
async def read_marks(project: PageProject, asked: TranscriptMarksQuery) -> TranscriptMarks:
    """Where iterations, permissions and ends of turns are, and how far the time is in between."""
    return TranscriptMarks(marks=await asyncio.to_thread(list_marks, _folder(project, asked.session)))


def _folder(project: PageProject, session: str) -> str:
    """The folder of a session, whose id becomes part of a path.

    Raises:
        InvalidInput: it is no id of a session.
    """
    if not _SESSION_ID.fullmatch(session):
        raise InvalidInput(f"not a session: {session[:60]!r}", hint="an id such as bns-1f3a")
    return session_folder(project.project, session)
