"""The planning of a run in the store: what its tasks cover, which steps are done, and what a changed text changes."""

from typing import NamedTuple

from binnacle.store import attempts, runs, sessions, tasks
from binnacle.store.sessions import ITERATIONS
from binnacle.store.transaction import Reader, Writer
from binnacle.work.planning_steps import PlanningStep, SpecChange, carry_over, compare, find_next_step
from binnacle.work.run import RunRecord
from binnacle.work.specification import Coverage, Specification, find_coverage, parse_specification
from binnacle.work.task import Task


class RunCoverage(NamedTuple):
    """What the tasks of a run cover of its specification."""

    spec: Specification
    coverage: Coverage


class PlanningState(NamedTuple):
    """How far the planning of a run is."""

    is_finished: bool
    """Whether the work may begin: nothing is left to plan, and what no task covers was allowed."""

    step: PlanningStep | None
    """What a planner has to do next."""

    found: RunCoverage


class BegunPlanning(NamedTuple):
    """An iteration that plans."""

    number: int
    goes_on: bool
    """Whether it began earlier and was interrupted."""


def list_tasks(tx: Reader, run: RunRecord) -> list[Task]:
    """The tasks that can cover something of a run's specification: those of its feature that are not cancelled, and
    that were added in runs of this name or outside of any run."""
    where, values = ("feature = ? and", [run.feature]) if run.feature else ("", [])
    return tasks.TASKS.select(
        tx,
        f"where {where} status <> 'cancelled' and not exists (select 1 from event join session on "
        "session.id = event.session join run on run.id = session.run where event.entity = 'task' and "
        "event.entity_id = task.id and event.action = 'added' and run.name <> ?) order by number",
        *values,
        run.name,
    )


def load_coverage(tx: Reader, run: RunRecord) -> RunCoverage:
    """Which tasks cover which requirements of a run's specification, and which requirements no task covers."""
    spec = parse_specification(run.asked)
    return RunCoverage(spec, find_coverage(spec, {task.id: task.covers for task in list_tasks(tx, run)}))


def load_state(tx: Reader, run_id: str) -> PlanningState:
    """How far the planning of a run is, on whatever machine."""
    run = runs.get(tx, run_id)
    found = load_coverage(tx, run)
    ended = ITERATIONS.select(
        tx, "where plans <> '' and summary <> '' and session in (select id from session where run = ?)", run.id
    )
    step = find_next_step(found.spec, found.coverage, {one.plans for one in ended})
    return PlanningState(run.is_planned, step, found)


def begin(tx: Writer, session_id: str, key: str) -> BegunPlanning:
    """Begins an iteration for a step of the planning, or resumes the interrupted one."""
    sessions.reopen(tx, session_id)
    before = sessions.find_unfinished(tx, session_id)
    if before is not None and before.plans == key:
        return BegunPlanning(before.number, goes_on=True)
    if before is not None and before.task_started:
        attempts.finish(tx, before, outcome="stopped", reason="the specification was changed, and is planned first")
    sessions.bind(tx, session_id, None)
    begun = sessions.begin_iteration(tx, session_id, first=0)
    ITERATIONS.update(tx, {"plans": key}, "session = ? and number = ?", session_id, begun.number)
    return BegunPlanning(begun.number, goes_on=False)


def finish(tx: Writer, run_id: str) -> None:
    """Notes that the planning of a run is finished, with what is not covered."""
    run = runs.get(tx, run_id)
    if run.is_planned:
        return
    missing = [one.id for one in load_coverage(tx, run).coverage.missing]
    runs.update(tx, run.id, is_planned=True)
    tx.record("run", run.id, "planned", {"not covered": missing[:100]} if missing else {})


def change_specification(tx: Writer, run: RunRecord, asked: str) -> SpecChange:
    """Gives what the tasks of a run cover the ids of a changed specification. Returns how it was changed."""
    before, after = parse_specification(run.asked), parse_specification(asked)
    change = compare(before, after)
    for task in list_tasks(tx, run):
        covers = carry_over(task.covers, before, change)
        if task.covers and covers != task.covers:
            tasks.update(tx, task.id, {"covers": covers}, force=True)
    return change
