"""The board: a column for each status, in windows, and the latest step of every agent that works."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from binnacle.runner.transcript import TranscriptEntry
from binnacle.runner.transcript_window import read_last_window
from binnacle.sessions.planning import session_folder
from binnacle.store import feature_names
from binnacle.store.transaction import Reader
from binnacle.store.views import board
from binnacle.store.views.board import BoardColumn, BoardFilter, ColumnName
from binnacle.web.endpoints import NoArguments, reads
from binnacle.web.page_project import PageProject
from binnacle.work.evidence import EvidenceLevel
from binnacle.work.status import Status

MAX_STEP_CHARACTERS = 160
MAX_LISTED_TAGS = 100
MAX_WORKING = 50
"""Tasks whose latest steps are looked up; more are not worked on at once."""

MAX_FILTER_CHARACTERS = 200

Words = Annotated[str, Meta(max_length=MAX_FILTER_CHARACTERS)]


class BoardQuery(Struct, frozen=True, kw_only=True):
    """Which tasks to show, and how many cards of each column."""

    text: Words = ""
    feature: Words = ""
    discipline: Words = ""
    agent: Words = ""
    tag: Words = ""
    level: EvidenceLevel = ""
    priority: Annotated[int, Meta(ge=0, le=4)] | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 25


class ColumnQuery(BoardQuery, frozen=True, kw_only=True):
    """A window of one column."""

    status: Status
    is_unproven: bool = False
    offset: Annotated[int, Meta(ge=0)] = 0


class BoardPage(Struct, frozen=True, kw_only=True):
    """The columns of the board, each with its first cards."""

    columns: list[BoardColumn]
    total: int


class BoardChoices(Struct, frozen=True, kw_only=True):
    """What a board can be filtered by, and what a new task may have."""

    features: list[str]
    disciplines: list[str]
    agents: list[str]
    """The names of those who hold tasks."""

    tags: list[str]


class LatestStep(Struct, frozen=True, kw_only=True):
    """What an agent did last for a task."""

    task_id: str
    text: str
    at: str


class LatestSteps(Struct, frozen=True, kw_only=True):
    """What the agents that work did last."""

    steps: list[LatestStep]


@reads("board")
async def read_board(project: PageProject, asked: BoardQuery) -> BoardPage:
    """The first cards of every column."""

    def look(tx: Reader) -> BoardPage:
        which = _filter(asked)
        counts = board.count_columns(tx, which)
        columns = [
            board.load_column(tx, name, which, offset=0, limit=asked.limit, total=total)
            if total
            else BoardColumn(status=name.status, total=0, offset=0, cards=[])
            for name, total in counts.items()
            if total or not name.is_unproven
        ]
        return BoardPage(columns=columns, total=sum(counts.values()))

    return await project.read(look)


@reads("board_column")
async def read_column(project: PageProject, asked: ColumnQuery) -> BoardColumn:
    """More cards of a column."""

    def look(tx: Reader) -> BoardColumn:
        which = _filter(asked)
        name = ColumnName(asked.status, asked.is_unproven)
        total = board.count_columns(tx, which).get(name, 0)
        return board.load_column(tx, name, which, offset=asked.offset, limit=asked.limit, total=total)

    return await project.read(look)


def _filter(asked: BoardQuery) -> BoardFilter:
    return BoardFilter(**{name: getattr(asked, name) for name in BoardFilter.__struct_fields__})


@reads("board_choices")
async def read_choices(project: PageProject, asked: NoArguments) -> BoardChoices:  # noqa: ARG001
    """What the filters of the board offer."""
    return await project.read(
        lambda tx: BoardChoices(
            features=feature_names.list_names(tx, "feature"),
            disciplines=feature_names.list_names(tx, "discipline"),
            agents=board.list_holders(tx),
            tags=board.list_tags(tx, limit=MAX_LISTED_TAGS),
        )
    )


@reads("latest_steps")
async def read_latest_steps(project: PageProject, asked: NoArguments) -> LatestSteps:  # noqa: ARG001
    """The latest step of each agent that works on a task: from its transcript here, or else its last comment."""
    working = await project.read(lambda tx: board.list_working(tx, limit=MAX_WORKING))

    def look() -> list[LatestStep]:
        found = [(one.task_id, _last_entry(project, one.session) or (one.comment, one.commented_at)) for one in working]
        return [LatestStep(task_id=task_id, text=_one_line(text), at=at) for task_id, (text, at) in found if text]

    return LatestSteps(steps=await asyncio.to_thread(look))


def _last_entry(project: PageProject, session: str) -> tuple[str, str] | None:
    """What the transcript of a session says last, if there is one on this machine."""
    if not session:
        return None
    for placed in reversed(read_last_window(session_folder(project.project, session)).entries):
        if text := _describe(placed.entry):
            return text, placed.entry.at
    return None


def _describe(entry: TranscriptEntry) -> str:
    if entry.kind == "tool":
        return f"{entry.tool}: {entry.title}" if entry.tool and entry.title else entry.title or entry.tool
    return entry.text.strip() if entry.kind in ("message", "thought") else ""


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_STEP_CHARACTERS else f"{flat[: MAX_STEP_CHARACTERS - 1]}…"
