"""Reads the report of a run from the store and from git."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from binnacle.app.run_report.changes import list_kept_refs, read_changes
from binnacle.app.run_report.values import (
    AskedWork,
    KeptRef,
    ReportedChanges,
    ReportedCheck,
    ReportedRequirement,
    ReportedTask,
    RunReport,
    WaitingForPerson,
)
from binnacle.errors import NotFound
from binnacle.project.project import Project
from binnacle.sessions.run_sessions import place_of
from binnacle.store import attention, evidence, observations, runs, tasks, waivers
from binnacle.store.questions import QUESTIONS
from binnacle.store.sessions import ITERATIONS
from binnacle.store.transaction import Reader
from binnacle.store.views.spending import list_budget_use, list_spending, total_spending
from binnacle.work.evidence import describe_verdict
from binnacle.work.run import RunRecord
from binnacle.work.session import Iteration
from binnacle.work.specification import find_coverage, parse_specification
from binnacle.work.status import is_closed
from binnacle.work.task import Task

MAX_OTHER_TASKS = 2000
MAX_CHECKS = 12
"""Results of checks that are shown of a task."""

CLOSED = ("done", "cancelled")
_OF_RUN = "session in (select id from session where run = ?)"


class _GitFacts(NamedTuple):
    changes: ReportedChanges
    refs: list[KeptRef]


def collect_run_report(tx: Reader, project: Project, text: str | None) -> RunReport:
    """The report of the run with this name or id; of the newest if there is no `text`.

    Raises:
        NotFound: there is no such run.
    """
    run = _find_run(tx, text)
    places = sorted({one.place for one in runs.list_sessions(tx, run.id) if one.place})
    iterations = ITERATIONS.select(tx, f"where {_OF_RUN} order by started_at, session, number", run.id)
    made_for = {one.commit_id: one.task_started or "" for one in iterations if one.commit_id}
    git = asyncio.run(_ask_git(project, run, places, made_for))
    chosen = _choose_tasks(tx, run, iterations)
    found = {task.id: task for task in _describe_tasks(tx, run, chosen, iterations, git.changes)}
    left = [found[task.id] for task in chosen if not is_closed(task.status)]
    began = {one.task_started for one in iterations}
    return RunReport(
        id=run.id,
        name=run.name,
        status=run.status,
        why=run.why,
        said=run.said,
        feature=run.feature or "",
        places=places,
        started_at=run.created_at,
        ended_at=run.ended_at,
        seconds=round(run.seconds, 1),
        asked=_describe_asked(run, chosen),
        tasks=[one for one in found.values() if one.id in began or one.status in CLOSED],
        changes=git.changes,
        total=total_spending(tx, run_id=run.id),
        by_task=list_spending(tx, "task", run_id=run.id),
        by_agent=list_spending(tx, "agent", run_id=run.id),
        by_model=list_spending(tx, "model", run_id=run.id),
        budget=list_budget_use(tx, run),
        waiting=WaitingForPerson(
            questions=[
                one
                for one in QUESTIONS.select(tx, "where answered_at is null order by blocking desc, number")
                if one.task_id in found
            ],
            # Questions are there already, and that the run ended is what the report begins with.
            attention=[
                one for one in attention.list_open(tx, run=run.id) if one.question is None and one.kind != "ended"
            ],
            open_tasks=left,
            refs=git.refs if run.status == "ended" else [],
        ),
    )


async def _ask_git(project: Project, run: RunRecord, places: Sequence[str], made_for: Mapping[str, str]) -> _GitFacts:
    changes = await read_changes(project.repo, run, places=places, here=place_of(project), made_for=made_for)
    return _GitFacts(changes, await list_kept_refs(project.repo, run))


def _find_run(tx: Reader, text: str | None) -> RunRecord:
    if text is not None:
        return runs.find(tx, text)
    newest = runs.list_runs(tx, limit=1)
    if not newest:
        raise NotFound("there was no run yet", hint="begin one: bn run SPEC")
    return newest[0]


def _choose_tasks(tx: Reader, run: RunRecord, iterations: Sequence[Iteration]) -> list[Task]:
    """The tasks that the run worked on, in this order; then the others of its feature, or the open ones of the project.

    What was closed in its feature before it began is not its own.
    """
    worked = list(dict.fromkeys(one.task_started for one in iterations if one.task_started))
    found = tasks.get_many(tx, worked)
    scope, values = ("feature = ?", [run.feature]) if run.feature else ("status not in ('done', 'cancelled')", [])
    others = tasks.TASKS.select(tx, f"where {scope} order by number limit {MAX_OTHER_TASKS}", *values)
    meanwhile = [one for one in others if one.closed_at is None or one.closed_at >= run.created_at]
    chosen = [found[key] for key in worked if key in found]
    return chosen + [one for one in meanwhile if one.id not in found]


def _describe_tasks(
    tx: Reader, run: RunRecord, chosen: Sequence[Task], iterations: Sequence[Iteration], changes: ReportedChanges
) -> list[ReportedTask]:
    spent = {line.key: line for line in list_spending(tx, "task", run_id=run.id)}
    attempts: dict[str, list[Iteration]] = {}
    for one in iterations:
        attempts.setdefault(one.task_started or "", []).append(one)
    commits = _commits_by_task(changes, iterations)
    return [
        ReportedTask(
            id=task.id,
            title=task.title,
            status=task.status,
            closing=task.closed_reason,
            level=task.evidence_level,
            level_commit=task.evidence_commit,
            level_at=task.evidence_at,
            checks=_list_checks(tx, task),
            observed=list(observations.find(tx, task)) if task.evidence_level == "observed" else [],
            waivers=waivers.list_waivers(tx, task.id) if task.evidence_level == "waived" else [],
            attempts=attempts.get(task.id, []),
            commits=commits.get(task.id, []),
            spending=spent.get(task.id),
        )
        for task in chosen
    ]


def _list_checks(tx: Reader, task: Task) -> list[ReportedCheck]:
    return [
        ReportedCheck(
            id=one.id,
            name=one.check_name,
            verdict=describe_verdict(one),
            has_passed=one.verdict == "pass",
            commit=one.commit_id,
            is_merged=one.is_merged,
            at=one.created_at,
        )
        for one in reversed(evidence.list_of_task(tx, task.id, limit=MAX_CHECKS))
    ]


def _commits_by_task(changes: ReportedChanges, iterations: Sequence[Iteration]) -> Mapping[str, list[str]]:
    """By the attempt that made the commit, and by what the commit says."""
    found: dict[str, dict[str, None]] = {}
    for one in iterations:
        if one.commit_id and one.task_started:
            found.setdefault(one.task_started, {})[one.commit_id] = None
    for commit in changes.commits:
        if commit.task:
            found.setdefault(commit.task, {})[commit.id] = None
    return {task: list(commits) for task, commits in found.items()}


def _describe_asked(run: RunRecord, chosen: Sequence[Task]) -> AskedWork:
    covers: dict[str, tuple[str, ...]] = {
        task.id: task.covers for task in chosen if task.status != "cancelled" and task.covers
    }
    if not run.asked or not covers:
        return AskedWork(file=run.asked_file, text=run.asked)
    spec = parse_specification(run.asked)
    covered = find_coverage(spec, covers).covered
    requirements = [
        ReportedRequirement(id=one.id, summary=one.summary.removeprefix(f"{one.id}:").strip(), tasks=covered[one.id])
        for one in spec.requirements
    ]
    return AskedWork(file=run.asked_file, text=run.asked, requirements=requirements)
