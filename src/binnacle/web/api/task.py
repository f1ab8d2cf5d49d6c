"""One task with everything about it, and what belongs to it but is long: logs of its checks, the task as a file."""

import asyncio
import os
from collections.abc import Collection

from msgspec import Struct

from binnacle.app.task_file import render_task
from binnacle.errors import NotFound
from binnacle.project.project import Project
from binnacle.store import agents, evidence, reports
from binnacle.store.reports import TaskAttempt
from binnacle.store.sessions import ITERATIONS
from binnacle.store.transaction import Reader
from binnacle.store.views.changed_since import newest_about
from binnacle.store.views.task_details import TaskDetails, load_details
from binnacle.web.endpoints import reads
from binnacle.web.page_project import PageProject
from binnacle.work.criterion_proof import CriterionProof, join_plain
from binnacle.work.ids import TaskId
from binnacle.work.session import Iteration

MAX_ATTEMPTS = 50
MAX_LOG_BYTES = 256 << 10
"""Bytes of a log that are shown: its end, which says what went wrong."""


class TaskQuery(Struct, frozen=True, kw_only=True):
    """A task, by its id or the beginning of it."""

    id: str


class TaskPage(Struct, frozen=True, kw_only=True):
    """A task with everything about it."""

    details: TaskDetails
    criteria: list[CriterionProof]
    """Every acceptance criterion, and what shows it."""

    attempts: list[Iteration]
    """The newest attempts of runs at it, newest first."""

    tried: list[TaskAttempt]
    """What sessions reported when they ended, newest first."""

    runs: dict[str, str]
    """The runs of sessions, by the sessions' ids."""

    names: dict[str, str]
    """The names of agents, by id."""

    seen: int
    """The newest change that this answer contains. Whoever edits the task sends it back."""


class EvidenceQuery(Struct, frozen=True, kw_only=True):
    """The result of a check."""

    id: str


class EvidenceLog(Struct, frozen=True, kw_only=True):
    """What a check wrote."""

    id: str
    text: str
    left_out: int
    """Bytes at its beginning that are not shown."""


class TaskFile(Struct, frozen=True, kw_only=True):
    """A task as a page that needs nothing else, to be kept or sent."""

    name: str
    html: str


@reads("task")
async def read_task(project: PageProject, asked: TaskQuery) -> TaskPage:
    return await project.read(lambda tx: _load(tx, asked.id))


def _load(tx: Reader, text: str) -> TaskPage:
    details = load_details(tx, text)
    task_id = details.task.id
    attempts = list_attempts(tx, task_id)
    sessions = {one.session for one in attempts}
    return TaskPage(
        details=details,
        criteria=join_plain(details.task.acceptance_criteria, details.criteria),
        attempts=attempts,
        tried=list(reports.load_outcomes(tx, task_id).tried),
        runs=_find_runs(tx, sessions),
        names=agents.find_names(tx, _actors(details)),
        seen=newest_about(tx, task_id),
    )


def list_attempts(tx: Reader, task_id: TaskId) -> list[Iteration]:
    """The newest iterations that worked on a task, newest first."""
    return ITERATIONS.select(tx, "where task_started = ? order by started_at desc limit ?", task_id, MAX_ATTEMPTS)


def _find_runs(tx: Reader, sessions: Collection[str]) -> dict[str, str]:
    rows = [tx.row("select id, run from session where id = ? and run is not null", one) for one in sorted(sessions)]
    return {row[0]: row[1] for row in rows if row is not None}


def _actors(details: TaskDetails) -> set[str]:
    """Everybody who is named on the page of a task."""
    found = {details.task.claimed_by or "", *(one.author for one in details.comments)}
    found |= {name for one in details.questions for name in (one.asked_by, one.answered_by or "")}
    return (found | {one.asked_by for one in details.evidence}) - {""}


@reads("evidence_log")
async def read_log(project: PageProject, asked: EvidenceQuery) -> EvidenceLog:
    """The end of what a check wrote, if it ran on this machine.

    Raises:
        NotFound: its log is not here.
    """
    found = await project.read(lambda tx: evidence.get(tx, asked.id))
    log = await asyncio.to_thread(_read_end, project.project, found.log)
    if log is None:
        where = f" on {found.machine}" if found.machine else ""
        raise NotFound(
            f"the log of {found.id} is not here", hint=f"it was written{where}, and logs are removed in time"
        )
    text, left_out = log
    return EvidenceLog(id=found.id, text=text, left_out=left_out)


def _read_end(project: Project, path: str) -> tuple[str, int] | None:
    """The end of a log of this project, and how much is before it. Other files are not read, whatever a store says."""
    folder = os.path.realpath(project.data_dir)
    real = os.path.realpath(path)
    if not path or os.path.commonpath([folder, real]) != folder:
        return None
    try:
        with open(real, "rb") as file:
            left_out = max(0, os.fstat(file.fileno()).st_size - MAX_LOG_BYTES)
            file.seek(left_out)
            return file.read(MAX_LOG_BYTES).decode("utf-8", "replace"), left_out
    except OSError:
        return None


@reads("task_file")
async def read_file(project: PageProject, asked: TaskQuery) -> TaskFile:
    """The task as one file, which anybody can open."""

    def look(tx: Reader) -> tuple[TaskDetails, list[Iteration], dict[str, str]]:
        details = load_details(tx, asked.id)
        return details, list_attempts(tx, details.task.id), agents.find_names(tx, _actors(details))

    details, attempts, names = await project.read(look)
    return TaskFile(name=f"{details.task.id}.html", html=render_task(details, attempts, names))
