"""Loads everything that a prompt may be made of, in one look at the store."""

import os
import re
from collections.abc import Collection, Iterable
from datetime import datetime

from msgspec import Struct

from binnacle.config.directories import show_path
from binnacle.config.repository_files import find_inside, is_below
from binnacle.config.settings import load_settings
from binnacle.plan.codebase import Codebase, survey
from binnacle.store import comments, dependencies, features, learnings, notes, reports, sessions, tasks
from binnacle.store.sessions import ITERATIONS
from binnacle.store.tasks import TASKS, TaskFilter
from binnacle.store.transaction import Reader
from binnacle.store.views import overview
from binnacle.store.views.overview import ProjectOverview
from binnacle.store.views.task_details import TaskDetails, load_details
from binnacle.work.feature import Discipline, Feature
from binnacle.work.journal import Comment, Note, Progress
from binnacle.work.learning import Learning
from binnacle.work.session import Iteration
from binnacle.work.task import Task

TASK_LIMIT = 100
CLOSED_LIMIT = 10
SUMMARY_LIMIT = 120
HISTORY_LIMIT = 5


class ContextFile(Struct, frozen=True, kw_only=True):
    """A file worth reading, and whether it is still there."""

    path: str
    exists: bool = True


class ListedTask(Struct, frozen=True, kw_only=True):
    """A task in the list, with what it waits for."""

    task: Task
    waits_for: tuple[str, ...] = ()


class PastOutcome(Struct, frozen=True, kw_only=True):
    """What came of a task that this one builds on."""

    task: Task
    reason: str = ""
    """Why it is depended on."""

    summary: str = ""
    """Its closing words, or the newest comment when there are none; one sentence."""


class PromptData(Struct, frozen=True, kw_only=True):
    """Everything that a prompt may be made of, as values. The same values always give the same prompt."""

    now: datetime
    """The moment of loading. Ages are reckoned from it."""

    project: str
    description: str = ""
    root: str
    """Name of the repository's folder."""

    overview: ProjectOverview
    codebase: Codebase | None = None
    features: tuple[Feature, ...] = ()
    disciplines: tuple[Discipline, ...] = ()
    feature: Feature | None = None
    discipline: Discipline | None = None
    files: tuple[ContextFile, ...] = ()
    learnings: tuple[Learning, ...] = ()
    """Of the feature, then of the project; the most trustworthy of each first."""

    listing: tuple[ListedTask, ...] = ()
    """Tasks of the feature, or of the project: the open ones by urgency, then those closed lately."""

    task: TaskDetails | None = None
    attempts: tuple[Comment, ...] = ()
    """What was said on the task before, the newest first."""

    remaining: tuple[str, ...] = ()
    """What the last attempt left to do."""

    answers: tuple[str, ...] = ()
    """Questions that were asked about the task, with what a person answered."""

    dependencies: tuple[PastOutcome, ...] = ()
    notes: tuple[Note, ...] = ()
    history: tuple[Iteration, ...] = ()
    """Iterations that have a summary, the newest last."""

    progress: tuple[Progress, ...] = ()
    user_input: str = ""
    extra: str = ""
    """What whoever starts the session wants to add to the input."""

    unloaded: dict[str, int] = {}
    """By section, how many entries there are beyond those loaded."""


def load(
    tx: Reader,
    repo: str,
    *,
    discipline: str | None = None,
    feature: str | None = None,
    task: str | None = None,
    session: str | None = None,
    user_input: str = "",
    extra: str = "",
    sections: Collection[str] | None = None,
) -> PromptData:
    """What a prompt may need. A task brings its feature and its discipline unless others are named.

    `sections` are those that will be rendered, all if not given: what none of them shows is not looked for
    where that takes time.

    Raises:
        NotFound: a task, feature or discipline that does not exist.
    """
    about = load_details(tx, task) if task else None
    feature_name = feature or (about.task.feature if about else None)
    discipline_name = discipline or (about.task.discipline if about else None)
    owner = features.get(tx, feature_name) if feature_name else None
    settings = load_settings(repo)
    root = show_path(os.path.basename(os.path.abspath(repo)))
    unloaded: dict[str, int] = {}
    before = reports.load_outcomes(tx, about.task.id) if about else reports.Outcomes()
    return PromptData(
        now=tx.now,
        project=settings.text("project.title") or root,
        description=settings.text("project.description"),
        root=root,
        overview=overview.load_overview(tx),
        codebase=survey(repo) if sections is None or "codebase" in sections else None,
        features=tuple(features.list_features(tx)),
        disciplines=tuple(features.list_disciplines(tx)),
        feature=owner,
        discipline=features.get_discipline(tx, discipline_name) if discipline_name else None,
        files=_files(repo, owner, about.task if about else None),
        learnings=_learnings(tx, owner),
        listing=_listing(tx, owner, unloaded) if sections is None or "tasks" in sections else (),
        task=about,
        attempts=about.comments[::-1] if about else (),
        remaining=(before.remaining,) if before.remaining else (),
        answers=tuple(f"{one.text} — {one.answer}" for one in before.questions if one.answer),
        dependencies=_outcomes(tx, about) if about else (),
        notes=_notes(tx, session, unloaded),
        history=_history(tx, session),
        progress=_progress(tx, unloaded),
        user_input=user_input.strip(),
        extra=extra.strip(),
        unloaded=unloaded,
    )


def first_sentence(text: str, *, limit: int = SUMMARY_LIMIT) -> str:
    """The first sentence of `text` in one line, cut between words at `limit` characters."""
    line = " ".join(text.split())
    sentence = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]
    if len(sentence) <= limit:
        return sentence
    return sentence[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _files(repo: str, feature: Feature | None, task: Task | None) -> tuple[ContextFile, ...]:
    """The task's files first: they are what the work is about."""
    named: Iterable[str] = (
        *(task.context_files if task else ()),
        *((*feature.context_files, *feature.knowledge_paths) if feature else ()),
    )
    return tuple(ContextFile(path=path, exists=_is_there(repo, path)) for path in dict.fromkeys(named))


def _is_there(repo: str, path: str) -> bool:
    """Whether there is such a file or folder. A link of the repository that leads out of it is none of its files."""
    place = os.path.normpath(os.path.join(repo, path))
    return find_inside(repo, place) is not None if is_below(repo, place) else os.path.exists(place)


def _learnings(tx: Reader, feature: Feature | None) -> tuple[Learning, ...]:
    own = learnings.list_learnings(tx, feature=feature.name) if feature else []
    return (*own, *learnings.list_learnings(tx, project_only=True))


def _listing(tx: Reader, feature: Feature | None, unloaded: dict[str, int]) -> tuple[ListedTask, ...]:
    name = feature.name if feature else None
    still_open, total = tasks.list_tasks(tx, TaskFilter(feature=name), limit=TASK_LIMIT)
    unloaded["tasks"] = total - len(still_open)
    where, values = TaskFilter(feature=name, status=("done", "cancelled")).where()
    closed = TASKS.select(tx, f"where {where} order by closed_at desc, number desc limit ?", *values, CLOSED_LIMIT)
    waits = dependencies.dependencies_of(tx, [one.id for one in still_open if one.open_dependencies])
    known = tasks.get_many(tx, {edge.depends_on for edges in waits.values() for edge in edges})
    return tuple(
        ListedTask(
            task=one,
            waits_for=tuple(
                edge.depends_on for edge in waits.get(one.id, ()) if known[edge.depends_on].closed_at is None
            ),
        )
        for one in (*still_open, *closed)
    )


def _outcomes(tx: Reader, about: TaskDetails) -> tuple[PastOutcome, ...]:
    found = tasks.get_many(tx, [one.id for one in about.depends_on])
    return tuple(
        PastOutcome(task=found[one.id], reason=one.reason, summary=_summary(tx, found[one.id]))
        for one in about.depends_on
    )


def _summary(tx: Reader, task: Task) -> str:
    if task.closed_reason:
        return first_sentence(task.closed_reason)
    return "".join(first_sentence(one.body) for one in comments.list_comments(tx, task.id, limit=1))


def _notes(tx: Reader, session: str | None, unloaded: dict[str, int]) -> tuple[Note, ...]:
    found, total = notes.list_notes(tx, session=session, limit=30)
    unloaded["notes"] = total - len(found)
    return tuple(found)


def _history(tx: Reader, session: str | None) -> tuple[Iteration, ...]:
    if session:
        told = [one for one in sessions.list_iterations(tx, session) if one.summary]
        return tuple(told[-HISTORY_LIMIT:])
    newest = ITERATIONS.select(
        tx, "where summary <> '' order by ended_at desc, session, number desc limit ?", HISTORY_LIMIT
    )
    return tuple(newest[::-1])


def _progress(tx: Reader, unloaded: dict[str, int]) -> tuple[Progress, ...]:
    found, total = notes.list_progress(tx, limit=15)
    unloaded["progress"] = total - len(found)
    return tuple(found)
