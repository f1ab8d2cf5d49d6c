"""The runs of a project: how they stand, what they did, and what happens in one."""

from typing import Annotated

from msgspec import Meta, Struct

from binnacle.project.session_locks import was_driven
from binnacle.store import runs
from binnacle.store.events import EVENTS
from binnacle.store.transaction import Reader
from binnacle.store.views import run_overview
from binnacle.store.views.run_overview import ListedRun, RunDetails
from binnacle.web.api.log import LogEntry, make_entries
from binnacle.web.endpoints import reads
from binnacle.web.page_project import PageProject


class RunsQuery(Struct, frozen=True, kw_only=True):
    """Which runs to list."""

    before: str = ""
    """The id of the last run of the page before this one."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 30


class RunsPage(Struct, frozen=True, kw_only=True):
    """The newest runs, newest first."""

    runs: list[ListedRun]
    has_more: bool


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which run, by its id, its name or one of its sessions."""

    run: str
    attempts: Annotated[int, Meta(ge=1, le=1000)] = 100
    """How many of the newest to show."""


class RunPage(Struct, frozen=True, kw_only=True):
    """One run."""

    details: RunDetails
    here: list[str]
    """The sessions whose transcripts are on this machine."""


class RunSpecification(Struct, frozen=True, kw_only=True):
    """What a run was asked for."""

    file: str
    text: str
    total: int
    """Characters of all of it."""


class RunEventsQuery(Struct, frozen=True, kw_only=True):
    """Which events of a run."""

    run: str
    before: int = 0
    """Only events with smaller numbers; 0 for the newest."""

    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class RunEventsPage(Struct, frozen=True, kw_only=True):
    """What was changed in a run, newest first."""

    entries: list[LogEntry]
    has_more: bool


MAX_SPECIFICATION_CHARACTERS = 200_000


@reads("runs")
async def list_runs(project: PageProject, asked: RunsQuery) -> RunsPage:
    """The newest runs."""
    found = await project.read(lambda tx: run_overview.list_overviews(tx, before=asked.before, limit=asked.limit + 1))
    return RunsPage(runs=found[: asked.limit], has_more=len(found) > asked.limit)


@reads("run")
async def read_run(project: PageProject, asked: RunQuery) -> RunPage:
    """One run, with its workers, attempts, merges and what waits for a person."""

    def look(tx: Reader) -> RunDetails:
        return run_overview.read_details(tx, runs.find(tx, asked.run).id, attempts=asked.attempts)

    details = await project.read(look)
    here = [one.session for one in details.workers if was_driven(project.project, one.session)]
    return RunPage(details=details, here=here)


@reads("run_specification")
async def read_specification(project: PageProject, asked: RunQuery) -> RunSpecification:
    """What a run was asked for."""
    run = await project.read(lambda tx: runs.find(tx, asked.run))
    return RunSpecification(file=run.asked_file, text=run.asked[:MAX_SPECIFICATION_CHARACTERS], total=len(run.asked))


@reads("run_events")
async def read_events(project: PageProject, asked: RunEventsQuery) -> RunEventsPage:
    """What was changed in a run: by its sessions, and to the run itself."""

    def look(tx: Reader) -> RunEventsPage:
        run = runs.find(tx, asked.run)
        # The log has no index by session. Between the first and the last event about the run, there is little else.
        row = tx.row("select min(seq), max(seq) from event where entity_id = ?", run.id)
        first, last = (row[0] or 0, row[1] or 0) if row else (0, 0)
        until = f"and seq <= {int(last)}" if run.status == "ended" else ""
        sessions = [one.id for one in runs.list_sessions(tx, run.id)]
        marks = ", ".join("?" * (len(sessions) + 1))
        found = EVENTS.select(
            tx,
            f"where seq >= ? {until} {'and seq < ?' if asked.before else ''} and (entity_id in ({marks}) or session in "
            f"({marks})) order by seq desc limit ?",
            first,
            *([asked.before] if asked.before else []),
            *sessions,
            run.id,
            *sessions,
            run.id,
            asked.limit + 1,
        )
        return RunEventsPage(entries=make_entries(tx, found[: asked.limit]), has_more=len(found) > asked.limit)

    return await project.read(look)
