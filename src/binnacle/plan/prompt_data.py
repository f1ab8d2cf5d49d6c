"""Loads everything that a prompt may show, in one transaction."""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from binnacle.config.directories import show_path
from binnacle.config.repository_files import find_inside, is_below
from binnacle.config.settings import load_settings
from binnacle.plan.codebase import Codebase, survey
from binnacle.plan.past_attempts import PastAttempt, list_attempts
from binnacle.store import comments, dependencies, features, learnings, notes, reports, reviews, runs, sessions, tasks
from binnacle.store.sessions import ITERATIONS
from binnacle.store.table import placeholders
from binnacle.store.tasks import TASKS, TaskFilter
from binnacle.store.transaction import Reader
from binnacle.store.views import overview
from binnacle.store.views.overview import ProjectOverview
from binnacle.store.views.review_material import load_material
from binnacle.store.views.task_details import TaskDetails, load_details
from binnacle.work.feature import Discipline, Feature
from binnacle.work.journal import Comment, Note, Progress
from binnacle.work.learning import Learning
from binnacle.work.review import ReviewRemark
from binnacle.work.review_material import ReviewMaterial
from binnacle.work.run import RunRecord
from binnacle.work.session import Iteration
from binnacle.work.specification import find_covered, parse_specification
from binnacle.work.task import Task

MAX_OPEN_TASKS = 100
MAX_CLOSED_TASKS = 10
MAX_SUMMARY_CHARACTERS = 120
MAX_ITERATIONS = 5
CHANGE = "change"
"""The section of prompts for who reviews a change. They have nothing that the agent who made it wrote."""


class ContextFile(Struct, frozen=True, kw_only=True):
    """A file worth reading, and whether it is still there."""

    path: str
    exists: bool = True


class ListedTask(Struct, frozen=True, kw_only=True):
    """A task in the list, with what it waits for."""

    task: Task
    waits_for: tuple[str, ...] = ()


class PastOutcome(Struct, frozen=True, kw_only=True):
    """The result of a task that this one depends on."""

    task: Task
    reason: str = ""
    """Why this task depends on it."""

    said: str = ""
    """Its closing words, or else its newest comment."""

    commits: tuple[str, ...] = ()
    """The commits of the attempts at it, the oldest first."""


class UncoveredRequirement(Struct, frozen=True, kw_only=True):
    """A requirement without a task, with its first line."""

    id: str
    text: str


class PlannedPart(Struct, frozen=True, kw_only=True):
    """What a planner of a run plans: the specification, or a part of a long one."""

    number: int = 1
    total: int = 1
    outline: str = ""
    """The headings of the complete specification, if this is a part."""

    text: str
    uncovered: tuple[UncoveredRequirement, ...] = ()
    covered: int = 0
    """How many other requirements of it have tasks already."""

    is_repeated: bool = False
    """Whether a planner had it before, and left requirements without a task."""


class RunSituation(Struct, frozen=True, kw_only=True):
    """Where and how an attempt of a run works, or what a planner plans."""

    branch: str = ""
    """The branch it works on; empty in the person's folder."""

    base: str = ""
    """The commit that it starts from."""

    may: tuple[str, ...] = ()
    """Sentences: what its policy allows and refuses, and who commits."""

    checks: tuple[str, ...] = ()
    """Commands that check the work."""

    conflict: str = ""
    """Both sides of a merge conflict, which has to be resolved first."""

    attempt: int = 1
    attempts: int = 3
    """How many attempts the task gets before a person is asked."""

    part: PlannedPart | None = None
    """What a planner plans; None for an attempt at a task."""


class PromptData(Struct, frozen=True, kw_only=True):
    """Everything that a prompt may show, as values. The same values always give the same prompt."""

    now: datetime
    """When it was loaded. Ages are relative to it."""

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
    """Those of the feature, then those of the project; each with the most trustworthy first."""

    listing: tuple[ListedTask, ...] = ()
    """Tasks of the feature, or of the project: open ones by urgency, then recently closed ones."""

    task: TaskDetails | None = None
    change: ReviewMaterial | None = None
    """The change of the task that waits for a review, for who reviews it."""

    attempts: tuple[PastAttempt, ...] = ()
    """Earlier attempts at the task, the oldest first."""

    remaining: tuple[str, ...] = ()
    """What the last attempt left to do."""

    comments: tuple[Comment, ...] = ()
    """Comments on the task, the newest first, without those that repeat an attempt."""

    answers: tuple[str, ...] = ()
    """Questions about the task, with the answers of people."""

    remarks: tuple[ReviewRemark, ...] = ()
    """What reviewers of the task's change asked for, and nobody has done yet."""

    dependencies: tuple[PastOutcome, ...] = ()
    notes: tuple[Note, ...] = ()
    history: tuple[Iteration, ...] = ()
    """Iterations that have a summary, the newest last."""

    progress: tuple[Progress, ...] = ()
    requirements: tuple[str, ...] = ()
    """What the task covers of the specification."""

    asked_file: str = ""
    """The file of the specification, if the run was given one."""

    run: RunSituation | None = None
    """Where and how the session works, if it belongs to a run."""

    user_input: str = ""
    extra: str = ""
    """What the program that starts the session adds to the input."""

    unloaded: dict[str, int] = {}
    """By section, how many entries were not loaded."""


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
    run: RunSituation | None = None,
    sections: Collection[str] | None = None,
) -> PromptData:
    """Loads what a prompt may need. Feature and discipline are by default those of the task.

    `sections` are those that will be rendered, by default all: data that is slow to load and that none of
    them shows is skipped.

    Raises:
        NotFound: the task, feature or discipline does not exist.
    """
    about = load_details(tx, task) if task else None
    feature_name = feature or (about.task.feature if about else None)
    discipline_name = discipline or (about.task.discipline if about else None)
    owner = features.get(tx, feature_name) if feature_name else None
    settings = load_settings(repo)
    root = show_path(os.path.basename(os.path.abspath(repo)))
    unloaded: dict[str, int] = {}
    before = reports.load_outcomes(tx, about.task.id) if about else reports.Outcomes()
    attempts = list_attempts(tx, about.task.id, before.tried, unloaded) if about else ()
    asked = _find_run(tx, session)
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
        files=_list_files(repo, owner, about.task if about else None),
        learnings=_list_learnings(tx, owner),
        listing=_list_tasks(tx, owner, unloaded) if sections is None or "tasks" in sections else (),
        task=about,
        change=_find_change(tx, about) if about and sections is not None and CHANGE in sections else None,
        attempts=attempts,
        remaining=(before.remaining,) if before.remaining else (),
        comments=_list_comments(about, before) if about else (),
        remarks=about.remarks if about else (),
        answers=tuple(f"{one.text} — {one.answer}" for one in before.questions if one.answer),
        dependencies=_load_outcomes(tx, about) if about else (),
        notes=_load_notes(tx, session, asked, unloaded),
        history=_load_history(tx, session),
        progress=_load_progress(tx, unloaded),
        requirements=_list_requirements(about.task, asked) if about else (),
        asked_file=asked.asked_file if asked else "",
        run=run,
        user_input=user_input.strip(),
        extra=extra.strip(),
        unloaded=unloaded,
    )


def _find_change(tx: Reader, about: TaskDetails) -> ReviewMaterial | None:
    found = reviews.find_open(tx, about.task.id)
    return load_material(tx, found) if found else None


def first_sentence(text: str, *, limit: int = MAX_SUMMARY_CHARACTERS) -> str:
    """The first sentence of `text` in one line, cut between words at `limit` characters."""
    line = " ".join(text.split())
    sentence = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]
    if len(sentence) <= limit:
        return sentence
    return sentence[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _list_files(repo: str, feature: Feature | None, task: Task | None) -> tuple[ContextFile, ...]:
    """The files of the task, then those of the feature."""
    named: Iterable[str] = (
        *(task.context_files if task else ()),
        *((*feature.context_files, *feature.knowledge_paths) if feature else ()),
    )
    return tuple(ContextFile(path=path, exists=_exists(repo, path)) for path in dict.fromkeys(named))


def _exists(repo: str, path: str) -> bool:
    """Whether there is such a file or folder. A link that leads out of the repository does not count."""
    place = os.path.normpath(os.path.join(repo, path))
    return find_inside(repo, place) is not None if is_below(repo, place) else os.path.exists(place)


def _list_learnings(tx: Reader, feature: Feature | None) -> tuple[Learning, ...]:
    own = learnings.list_learnings(tx, feature=feature.name) if feature else []
    return (*own, *learnings.list_learnings(tx, project_only=True))


def _list_tasks(tx: Reader, feature: Feature | None, unloaded: dict[str, int]) -> tuple[ListedTask, ...]:
    name = feature.name if feature else None
    still_open, total = tasks.list_tasks(tx, TaskFilter(feature=name), limit=MAX_OPEN_TASKS)
    unloaded["tasks"] = total - len(still_open)
    where, values = TaskFilter(feature=name, status=("done", "cancelled")).where()
    closed = TASKS.select(tx, f"where {where} order by closed_at desc, number desc limit ?", *values, MAX_CLOSED_TASKS)
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


def _find_run(tx: Reader, session: str | None) -> RunRecord | None:
    """The run that drives a session."""
    return runs.RUNS.first(tx, "where id = (select run from session where id = ?)", session) if session else None


def _list_requirements(task: Task, run: RunRecord | None) -> tuple[str, ...]:
    """What a task covers, in the words of the run's specification. Without them, as the task names it."""
    found = find_covered(parse_specification(run.asked), task.covers) if run and task.covers else []
    return tuple(f"{one.id}: {one.text}" for one in found) or task.covers


def _list_comments(about: TaskDetails, before: reports.Outcomes) -> tuple[Comment, ...]:
    """The comments, without those in which a report was saved: it is among the attempts."""
    said = [attempt.said for attempt in before.tried]
    return tuple(one for one in reversed(about.comments) if not any(words in one.body for words in said))


def _load_outcomes(tx: Reader, about: TaskDetails) -> tuple[PastOutcome, ...]:
    ids = [one.id for one in about.depends_on]
    found, commits = tasks.get_many(tx, ids), _list_commits(tx, ids)
    return tuple(
        PastOutcome(
            task=found[one.id],
            reason=one.reason,
            said=_closing_words(tx, found[one.id]),
            commits=tuple(commits.get(one.id, ())),
        )
        for one in about.depends_on
    )


def _list_commits(tx: Reader, task_ids: Sequence[str]) -> dict[str, list[str]]:
    """The commits of the attempts at tasks, by task, each once."""
    found: dict[str, list[str]] = {}
    if task_ids:
        where = (
            f"where task_started in {placeholders(task_ids)} and commit_id <> '' order by started_at, session, number"
        )
        for one in ITERATIONS.select(tx, where, *task_ids):
            known = found.setdefault(str(one.task_started), [])
            known += [one.commit_id] if one.commit_id not in known else []
    return found


def _closing_words(tx: Reader, task: Task) -> str:
    return task.closed_reason or "".join(one.body for one in comments.list_comments(tx, task.id, limit=1))


def _load_notes(tx: Reader, session: str | None, run: RunRecord | None, unloaded: dict[str, int]) -> tuple[Note, ...]:
    """The notes of a session; in a run, those of all its workers."""
    found, total = notes.list_notes(tx, session=session, run=run.id if run else None, limit=30)
    unloaded["notes"] = total - len(found)
    return tuple(found)


def _load_history(tx: Reader, session: str | None) -> tuple[Iteration, ...]:
    if session:
        summarized = [one for one in sessions.list_iterations(tx, session) if one.summary]
        return tuple(summarized[-MAX_ITERATIONS:])
    newest = ITERATIONS.select(
        tx, "where summary <> '' order by ended_at desc, session, number desc limit ?", MAX_ITERATIONS
    )
    return tuple(newest[::-1])


def _load_progress(tx: Reader, unloaded: dict[str, int]) -> tuple[Progress, ...]:
    found, total = notes.list_progress(tx, limit=15)
    unloaded["progress"] = total - len(found)
    return tuple(found)
