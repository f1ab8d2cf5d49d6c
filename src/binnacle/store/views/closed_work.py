"""Closed tasks with what they were closed with, for whoever verifies whether that still holds."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from binnacle.store import evidence, task_requirements, tasks
from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader
from binnacle.work.acceptance import parse_criterion
from binnacle.work.done_gate import TrustedCheck
from binnacle.work.evidence import Evidence
from binnacle.work.task import Task
from binnacle.work.verification import NeededCheck


class ClosedWork(NamedTuple):
    """A task, the checks that it was closed with or names, and the tests that its criteria name."""

    task: Task
    checks: tuple[NeededCheck, ...]
    tests: tuple[str, ...]


def list_done(tx: Reader) -> list[Task]:
    """Every task that is done, oldest first."""
    return tasks.TASKS.select(tx, "where status = 'done' order by closed_at, number")


def list_done_in_run(tx: Reader, run_id: str) -> list[Task]:
    """The tasks that a run closed as done and that still are, oldest first."""
    where = (
        "where status = 'done' and id in (select entity_id from event where entity = 'task' and action = 'done' "
        "and session in (select id from session where run = ?)) order by closed_at, number"
    )
    return tasks.TASKS.select(tx, where, run_id)


def read_closed_work(tx: Reader, task_ids: Sequence[str], trees: Mapping[str, str]) -> list[ClosedWork]:
    """What is known of closed tasks. `trees` has the trees of commits.

    Raises:
        NotFound: one is gone.
        ConfigError: the checks of the project cannot be read.
    """
    known = {one.name: one for one in tx.outlook.find_checks()}
    return [_read(tx, tasks.get(tx, task_id), known, trees) for task_id in task_ids]


def _read(tx: Reader, task: Task, known: Mapping[str, TrustedCheck], trees: Mapping[str, str]) -> ClosedWork:
    own = task_requirements.list_own_checks(tx, task)
    then = _find_results(tx, task, trees, own)
    names = dict.fromkeys((*own, *then))
    checks = [_make_needed(name, known.get(name), then.get(name), is_own=name in own) for name in names]
    criteria = [parse_criterion(text) for text in task.acceptance_criteria]
    return ClosedWork(task, tuple(checks), tuple(dict.fromkeys(one.test for one in criteria if one.test)))


def _find_results(tx: Reader, task: Task, trees: Mapping[str, str], own: Collection[str]) -> dict[str, Evidence]:
    """The results with which a task was closed, by check: the last ones before.

    A later result of the same commit, as of a verification, counts only for what the task names.
    """
    if not task.evidence_commit:
        return {}
    found = evidence.list_passes(tx, commit=task.evidence_commit, tree=trees.get(task.evidence_commit, ""))
    before = [one for one in found if task.evidence_at is None or one.created_at <= task.evidence_at]
    oldest = {one.check_name: one for one in found if one.check_name in own}
    return oldest | {one.check_name: one for one in reversed(before)}


def _make_needed(name: str, known: TrustedCheck | None, then: Evidence | None, *, is_own: bool) -> NeededCheck:
    problem = f"no check {name!r} is trusted here" if known is None else known.problem
    return NeededCheck(
        name=name, definition=known.definition if known is not None else "", problem=problem, is_own=is_own, then=then
    )


def find_task_of_commits(tx: Reader, commits: list[str], named: list[str]) -> tuple[str, str]:
    """The id and the title of the task that commits belong to; empty if none is known.

    `named` are the tasks that the messages of the commits name.
    """
    for task_id in named:
        task = tasks.TASKS.first(tx, "where id = ?", task_id)
        if task is not None:
            return task.id, task.title
    if not commits:
        return "", ""
    marks = placeholders(commits)
    row = tx.row(
        f"select t.id, t.title from task t where t.evidence_commit in {marks} "
        f"or t.id in (select task_started from iteration where commit_id in {marks}) order by t.number limit 1",
        *commits,
        *commits,
    )
    return (row[0], row[1]) if row is not None else ("", "")
