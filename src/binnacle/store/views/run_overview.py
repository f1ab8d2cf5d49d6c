"""Runs as people see them: how each stands, who works on what, what waits to be merged, and what attempts led to."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from binnacle.store import attention, leases, reviews, run_messages, runs, tasks
from binnacle.store.sessions import ITERATIONS, SESSIONS
from binnacle.store.table import Table, placeholders
from binnacle.store.transaction import Reader
from binnacle.store.views.spending import BudgetUse, SpendingLine, list_budget_use, list_spending
from binnacle.work.run import Attention, RunState, state_of_run
from binnacle.work.session import Iteration, SessionRecord

_OF_RUN = "session in (select id from session where run = ?)"


class RunOverview(Struct, frozen=True, kw_only=True):
    """A run in a list: without its specification."""

    id: str
    name: str
    feature: str | None = None
    asked_file: str = ""
    base: str = ""
    branch: str = ""
    head: str = ""
    remote: str = ""
    status: Literal["active", "ended"] = "active"
    why: str = ""
    said: str = ""
    is_paused: bool = False
    budget: dict[str, float] = {}
    seconds: float = 0.0
    created_at: datetime
    ended_at: datetime | None = None


RUN_OVERVIEWS = Table("run", RunOverview, json=("budget",), times=("created_at", "ended_at"))


class ListedRun(Struct, frozen=True, kw_only=True):
    """A run, how it stands, and what it took."""

    run: RunOverview
    state: RunState
    places: tuple[str, ...] = ()
    """The machines and checkouts in which it works."""

    workers: int = 0
    driven: int = 0
    """Workers that a process drives now."""

    waiting: int = 0
    """What waits for a person."""

    tried: int = 0
    """Tasks that it worked on."""

    closed: int = 0
    """Those of them that are closed."""

    working_on: tuple[str, ...] = ()
    """The titles of the tasks that its agents work on now."""

    spent: SpendingLine | None = None


class RunWorker(Struct, frozen=True, kw_only=True):
    """A worker of a run: a session that a process on some machine drives, or drove."""

    number: int
    session: str
    place: str
    is_driven: bool
    task_id: str | None = None
    title: str = ""
    """Of its task."""

    iteration: Iteration | None = None
    """Its newest one."""

    stage: Literal["resting", "planning", "working", "settling"] = "resting"
    """What it does. `settling`: its agent has ended, and its change is checked, waits for its turn, or is merged."""


class RunAttempt(Struct, frozen=True, kw_only=True):
    """An iteration of a run: an attempt at a task, or a planner."""

    iteration: Iteration
    title: str = ""
    """Of its task; empty if there is none, or it was deleted."""

    status: str = ""
    """Of its task."""


class QueuedMerge(Struct, frozen=True, kw_only=True):
    """A change of a run that is not merged yet."""

    task_id: str
    title: str
    state: Literal["settling", "accepted", "conflict"]
    """`settling`: it is checked, waits for its turn, or is merged now. `accepted`: a reviewer accepted it, and it waits
    to be merged. `conflict`: it cannot be merged as it is, and its task is tried again."""

    since: datetime
    session: str = ""
    commit: str = ""
    reason: str = ""


class RunDetails(Struct, frozen=True, kw_only=True):
    """One run with everything that happens in it, but for what its agents say."""

    listed: ListedRun
    has_specification: bool = False
    workers: tuple[RunWorker, ...] = ()
    attempts: tuple[RunAttempt, ...] = ()
    """The newest, newest first."""

    attempts_total: int = 0
    merges: tuple[QueuedMerge, ...] = ()
    """What is not merged yet, oldest first."""

    is_merging: bool = False
    """Whether a machine has the turn to merge, if several share the run."""

    merged: int = 0
    """Attempts whose change was merged or committed."""

    waiting: tuple[Attention, ...] = ()
    budget: tuple[BudgetUse, ...] = ()
    by_agent: tuple[SpendingLine, ...] = ()
    by_model: tuple[SpendingLine, ...] = ()


def list_overviews(tx: Reader, *, before: str = "", limit: int) -> list[ListedRun]:
    """The newest runs, newest first; those before the run with the id `before`."""
    where, values = ("where number < (select number from run where id = ?)", [before]) if before else ("", [])
    found = RUN_OVERVIEWS.select(tx, f"{where} order by number desc limit ?", *values, limit)
    return _describe_runs(tx, found)


def _describe_runs(tx: Reader, found: Sequence[RunOverview]) -> list[ListedRun]:
    """How runs stand and what they took, with one query for each kind of fact."""
    if not found:
        return []
    ids = [one.id for one in found]
    several = placeholders(ids)
    workers: dict[str, list[SessionRecord]] = {}
    for session in SESSIONS.select(tx, f"where run in {several} order by number", *ids):
        workers.setdefault(session.run or "", []).append(session)
    open_ = attention.OPEN
    waiting = tx.rows(f"select run, count(*) from attention where {open_} and run in {several} group by run", *ids)
    tried = tx.rows(
        "select tried.run, count(*), sum(case when task.closed_at is null then 0 else 1 end) from (select distinct "
        "session.run as run, iteration.task_started as task from iteration join session on session.id = "
        f"iteration.session where session.run in {several} and iteration.task_started is not null) as tried "
        "join task on task.id = tried.task group by tried.run",
        *ids,
    )
    spent = {line.key: line for line in list_spending(tx, "run", run_ids=ids)}
    counts = {row[0]: (int(row[1]), int(row[2])) for row in tried}
    waits = {row[0]: int(row[1]) for row in waiting}
    listed = [_list_run(tx, one, workers.get(one.id, [])) for one in found]
    return [
        replace(
            one,
            waiting=waits.get(one.run.id, 0),
            tried=counts.get(one.run.id, (0, 0))[0],
            closed=counts.get(one.run.id, (0, 0))[1],
            spent=spent.get(one.run.id),
        )
        for one in listed
    ]


def _list_run(tx: Reader, run: RunOverview, workers: Sequence[SessionRecord]) -> ListedRun:
    driven = [one for one in workers if run_messages.is_driven(tx, one.id)]
    at_work = [one.task_id for one in driven if one.task_id]
    titles = tasks.get_many(tx, at_work) if at_work else {}
    return ListedRun(
        run=run,
        state=state_of_run(run.status, is_paused=run.is_paused, is_driven=bool(driven)),
        places=tuple(sorted({one.place for one in workers if one.place})),
        workers=len(workers),
        driven=len(driven),
        working_on=tuple(titles[one].title for one in at_work if one in titles),
    )


def read_details(tx: Reader, run_id: str, *, attempts: int) -> RunDetails:
    """A run with its workers, its newest attempts, its merges and what waits for a person."""
    record = runs.get(tx, run_id)
    overview = RUN_OVERVIEWS.select(tx, "where id = ?", run_id)[0]
    listed = _describe_runs(tx, [overview])[0]
    newest = ITERATIONS.select(tx, f"where {_OF_RUN} order by started_at desc, number desc limit ?", run_id, attempts)
    titles = tasks.get_many(tx, {one.task_started for one in newest if one.task_started})
    workers = _list_workers(tx, run_id)
    row = tx.row(
        "select count(*), sum(case when commit_id <> '' and outcome = 'done' then 1 else 0 end) from iteration "
        f"where {_OF_RUN}",
        run_id,
    )
    assert row is not None
    return RunDetails(
        listed=listed,
        has_specification=bool(record.asked),
        workers=tuple(workers),
        attempts=tuple(
            RunAttempt(iteration=one, title=titles[one.task_started].title, status=titles[one.task_started].status)
            if one.task_started in titles
            else RunAttempt(iteration=one)
            for one in newest
        ),
        attempts_total=int(row[0]),
        merges=tuple(_list_merges(tx, run_id, workers)),
        is_merging=leases.is_held(tx, f"merge {run_id}"),
        merged=int(row[1] or 0),
        waiting=tuple(attention.list_open(tx, run=run_id)),
        budget=tuple(list_budget_use(tx, record)),
        by_agent=tuple(list_spending(tx, "agent", run_id=run_id)),
        by_model=tuple(list_spending(tx, "model", run_id=run_id)),
    )


def _list_workers(tx: Reader, run_id: str) -> list[RunWorker]:
    found = runs.list_sessions(tx, run_id)
    titles = tasks.get_many(tx, {one.task_id for one in found if one.task_id})
    workers = []
    for number, one in enumerate(found, 1):
        newest = ITERATIONS.first(tx, "where session = ? order by number desc", one.id)
        is_driven = run_messages.is_driven(tx, one.id)
        workers.append(
            RunWorker(
                number=number,
                session=one.id,
                place=one.place,
                is_driven=is_driven,
                task_id=one.task_id,
                title=titles[one.task_id].title if one.task_id in titles else "",
                iteration=newest,
                stage=_stage_of(newest) if is_driven else "resting",
            )
        )
    return workers


def _stage_of(newest: Iteration | None) -> Literal["resting", "planning", "working", "settling"]:
    if newest is None or newest.outcome:
        return "resting"
    is_planner = newest.number == 0 or bool(newest.plans)
    if newest.ended_at is None:
        return "planning" if is_planner else "working"
    return "resting" if is_planner else "settling"


MAX_MERGES = 50


def _list_merges(tx: Reader, run_id: str, workers: Sequence[RunWorker]) -> list[QueuedMerge]:
    """The changes of a run that are not merged yet, oldest first."""
    found = [
        QueuedMerge(
            task_id=one.task_id or "",
            title=one.title,
            state="settling",
            since=one.iteration.ended_at or one.iteration.started_at,
            session=one.session,
            commit=one.iteration.commit_id,
        )
        for one in workers
        if one.stage == "settling" and one.iteration is not None
    ]
    accepted = reviews.list_accepted_of_run(tx, run_id)[:MAX_MERGES]
    titles = tasks.get_many(tx, {one.task_id for one in accepted})
    found += [
        QueuedMerge(
            task_id=one.task_id,
            title=titles[one.task_id].title if one.task_id in titles else "",
            state="accepted",
            since=one.ended_at or one.created_at,
            commit=one.commit_id,
        )
        for one in accepted
    ]
    return sorted([*found, *_list_failed_merges(tx, run_id)], key=lambda one: one.since)


def _list_failed_merges(tx: Reader, run_id: str) -> list[QueuedMerge]:
    """The tasks that are open, and whose newest attempt could not be merged."""
    rows = tx.rows(
        "select task.id, task.title, iteration.ended_at, iteration.session, iteration.commit_id, iteration.reason, "
        "iteration.started_at from iteration join task on task.id = iteration.task_started "
        f"where iteration.{_OF_RUN} and iteration.outcome = 'conflict' and task.closed_at is null and not exists "
        "(select 1 from iteration as later where later.task_started = iteration.task_started "
        "and later.started_at > iteration.started_at) order by iteration.started_at limit ?",
        run_id,
        MAX_MERGES,
    )
    return [
        QueuedMerge(
            task_id=row[0],
            title=row[1],
            state="conflict",
            since=datetime.fromisoformat(row[2] or row[6]),
            session=row[3],
            commit=row[4],
            reason=row[5],
        )
        for row in rows
    ]


def list_models(tx: Reader, *, limit: int = 50) -> list[str]:
    """The models that runs had, the newest first."""
    rows = tx.rows(
        "select model, max(started_at) from iteration where model <> '' group by model order by 2 desc limit ?", limit
    )
    return [row[0] for row in rows]
