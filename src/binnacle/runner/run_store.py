"""A run's view of the store: its tasks, its sessions and their iterations.

Every read and every change opens the store again, in a thread: the event loop also serves the agents, and must not wait
for their changes to the same file.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Literal, NamedTuple, TypeVar

from binnacle.errors import StoreLost, StoreUnreachable
from binnacle.runner.end_rules import TaskCounts
from binnacle.store import abandoned_work, comments, sessions, task_moves, tasks
from binnacle.store.store import Store
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader, Writer
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.session import Iteration
from binnacle.work.status import is_closed
from binnacle.work.task import NewTask, Task

Result = TypeVar("Result")

OUTAGE_SECONDS = 120.0
"""How long a run waits for a lost database: longer than a restart takes."""

RETRY_SECONDS = 0.5

WATCHED = ("task", "note", "comment", "learning", "progress", "question")
"""What counts as a change of the work."""

NO_SUMMARY = "The agent wrote no summary."


PlanningStage = Literal["to do", "elsewhere", "done"]


class BegunIteration(NamedTuple):
    """An iteration that is under way."""

    number: int
    goes_on: bool
    """Whether it began earlier and was interrupted."""

    held: Task | None
    """The task that its session already holds."""


class ChangedTask(NamedTuple):
    """A task that was changed."""

    seq: int
    task: Task


async def retry_during_outage(work: Callable[[], Result]) -> Result:
    """Runs `work` in a thread, again while the database is unreachable, for at most `OUTAGE_SECONDS`.

    Raises:
        StoreUnreachable, StoreLost: it did not come back.
    """
    end = asyncio.get_running_loop().time() + OUTAGE_SECONDS
    while True:
        try:
            return await asyncio.to_thread(work)
        except (StoreUnreachable, StoreLost):
            if asyncio.get_running_loop().time() >= end:
                raise
        await asyncio.sleep(RETRY_SECONDS)


class RunStore:
    """One run in the store."""

    def __init__(self, open_store: Callable[[], Store], *, feature: str | None, lease: float) -> None:
        """`feature` is that of the run; None for the complete project. `lease` is how long a claim lasts."""
        self._open = open_store
        self.feature = feature
        self.lease = lease

    async def read(self, look: Callable[[Reader], Result]) -> Result:
        """Reads the store, after releasing lapsed claims."""

        def work() -> Result:
            with self._open() as store, abandoned_work.read_current(store) as tx:
                return look(tx)

        return await retry_during_outage(work)

    async def write(
        self, change: Callable[[Writer], Result], *, by: Actor = SYSTEM, session: str | None = None
    ) -> Result:
        """Changes the store as `by`, or as the system.

        If the connection is lost, a change may be made twice, so every change skips what is already done.
        """

        def work() -> Result:
            with self._open() as store, store.write(by=by, session=session) as tx:
                return change(tx)

        return await retry_during_outage(work)

    async def count_tasks(self, session_ids: Sequence[str]) -> TaskCounts:
        """The tasks of the run, by state."""
        return await self.read(lambda tx: _count_tasks(tx, self.feature, session_ids))

    async def planning_stage(self, session_id: str) -> PlanningStage:
        """The stage of the planning, by this session or by a run of the same name on another machine."""
        return await self.read(lambda tx: _planning_stage(tx, session_id, timedelta(seconds=self.lease)))

    async def holds_task(self, session_id: str) -> bool:
        """Whether a session holds a task."""
        return bool(await self.read(lambda tx: tasks.list_held_by(tx, session_id)))

    async def begin_iteration(self, session_id: str, *, is_planning: bool) -> BegunIteration:
        """Begins the next iteration of a session, or resumes the interrupted one.

        Partly done tasks can be taken again.
        """
        return await self.write(lambda tx: self._begin_iteration(tx, session_id, is_planning), session=session_id)

    def _begin_iteration(self, tx: Writer, session_id: str, is_planning: bool) -> BegunIteration:
        sessions.reopen(tx, session_id)
        before = sessions.find_unfinished(tx, session_id)
        iteration = before or sessions.begin_iteration(tx, session_id, first=0 if is_planning else 1)
        if is_planning:
            return BegunIteration(iteration.number, before is not None, None)
        partly, _ = tasks.list_tasks(tx, TaskFilter(feature=self.feature, status=("partial",)), limit=500)
        for task in partly:
            task_moves.reopen(tx, task.id, force=True)
        held = next(iter(tasks.list_held_by(tx, session_id)), None)
        if held is not None and iteration.task_started is None:
            sessions.note_task(tx, session_id, held.id)
        return BegunIteration(iteration.number, before is not None, held)

    async def current_iteration(self, session_id: str) -> Iteration:
        """The newest iteration of a session."""
        return (await self.read(lambda tx: sessions.list_iterations(tx, session_id)))[-1]

    async def last_iteration(self, session_id: str) -> Iteration | None:
        """The newest iteration of a session; None before the first."""
        return next(reversed(await self.read(lambda tx: sessions.list_iterations(tx, session_id))), None)

    async def finish_iteration(self, session_id: str, *, last_words: str) -> Iteration:
        """Ends an iteration. Without a summary of the agent, its last text is the summary."""

        said = last_words.strip()
        instead = f"{NO_SUMMARY} It said last: {said[-1000:]}" if said else NO_SUMMARY
        return await self.write(lambda tx: sessions.close_iteration(tx, session_id, instead), session=session_id)

    async def complete_sessions(self, session_ids: Sequence[str], reason: str) -> None:
        """Completes the sessions of a run without open work."""

        def end(tx: Writer) -> None:
            for session_id in session_ids:
                if sessions.get(tx, session_id).status == "active":
                    sessions.complete(tx, session_id, reason=reason)

        await self.write(end)

    async def release_tasks(self, session_ids: Sequence[str], why: str) -> list[str]:
        """Releases the tasks that sessions of an ending run still hold, with the reason. Returns their ids."""

        def give_back(tx: Writer) -> list[str]:
            held = [task for session_id in session_ids for task in tasks.list_held_by(tx, session_id)]
            for task in held:
                task_moves.release(tx, task.id, force=True)
                comments.add(tx, task.id, f"Given back: {why}.")
            return [task.id for task in held]

        return await self.write(give_back)

    async def renew_claims(self, session_id: str) -> None:
        """Renews the claims of an agent that works without calling tools."""
        await self.write(lambda tx: tx.renew_claims(), by=Actor(session_id, "agent"), session=session_id)

    async def last_change(self) -> int:
        """A number that changes with the work, including notes."""
        words = ", ".join("?" * len(WATCHED))
        return await self.read(
            lambda tx: tx.count(f"select coalesce(max(seq), 0) from event where entity in ({words})", *WATCHED)
        )

    async def changed_tasks(self, after: int) -> list[ChangedTask]:
        """The tasks of the run that changed after event number `after`, as they are now."""
        return await self.read(lambda tx: _changed_tasks(tx, self.feature, after))

    async def title_of(self, task_id: str) -> str:
        """The title of a task."""
        return (await self.read(lambda tx: tasks.get(tx, task_id))).title

    async def assign_task(self, session_id: str, title: str, description: str) -> str:
        """Makes a task, unless it exists, and gives it to a session, unless that holds another. Returns its id.

        A task that an agent could not do is left to people.
        """

        def give(tx: Writer) -> str:
            known, _ = tasks.list_tasks(tx, TaskFilter(feature=self.feature, closed_too=True), limit=100_000)
            task = next((one for one in known if one.title == title), None)
            if task is None:
                new = NewTask(title=title, description=description, priority=0, feature=self.feature)
                task = tasks.add(tx, [new])[0]
            elif is_closed(task.status):
                task = task_moves.reopen(tx, task.id).task
            if task.status == "pending" and not tasks.list_held_by(tx, session_id):
                with tx.acting_as(Actor(session_id, "agent"), session=None):
                    task_moves.start(tx, task.id)
            return task.id

        return await self.write(give)


def _planning_stage(tx: Reader, session_id: str, patience: timedelta) -> PlanningStage:
    """The stage of the planning. A machine that plans for longer than a claim lasts counts as dead."""
    own = sessions.get(tx, session_id)
    if any(one.number > 0 or one.ended_at is not None for one in sessions.list_iterations(tx, own.id)):
        return "done"
    begun = [
        one
        for other in sessions.list_active_named(tx, own.name)
        if other.id != own.id
        for one in sessions.list_iterations(tx, other.id)
    ]
    if any(one.ended_at is not None for one in begun):
        return "done"
    return "elsewhere" if any(one.started_at + patience > tx.now for one in begun) else "to do"


def _count_tasks(tx: Reader, feature: str | None, session_ids: Sequence[str]) -> TaskCounts:
    where, values = ("where feature = ?", [feature]) if feature else ("", [])
    rows = tx.rows(
        f"select status, case when open_dependencies > 0 then 1 else 0 end, count(*) from task {where} group by 1, 2",
        *values,
    )
    counts = {(row[0], row[1]): row[2] for row in rows}
    no_end = "claim_expires_at is null and status = 'in_progress'"
    by_people = tx.count(f"select count(*) from task {where} {'and' if where else 'where'} {no_end}", *values)

    ours = [sessions.get(tx, one) for one in session_ids]

    def count_of(*statuses: str) -> int:
        return sum(count for (status, _), count in counts.items() if status in statuses)

    return TaskCounts(
        is_complete=any(one.status == "complete" for one in ours),
        given_up=next((one.reason or "no reason given" for one in ours if one.status == "aborted"), ""),
        ready=counts.get(("pending", 0), 0) + count_of("partial"),
        waiting=counts.get(("pending", 1), 0),
        in_progress=count_of("in_progress") - by_people,
        held_by_people=by_people,
        blocked=count_of("blocked"),
        needs_input=count_of("needs_input"),
        draft=count_of("draft"),
        done=count_of("done"),
        cancelled=count_of("cancelled"),
        closed_here=_closed_in(tx, session_ids),
    )


def _closed_in(tx: Reader, session_ids: Sequence[str]) -> int:
    words = ", ".join("?" * len(session_ids))
    return tx.count(
        "select count(distinct entity_id) from event where entity = 'task' and action in ('done', 'cancelled') "
        f"and session in ({words})",
        *session_ids,
    )


def _changed_tasks(tx: Reader, feature: str | None, after: int) -> list[ChangedTask]:
    rows = tx.rows("select max(seq), entity_id from event where entity = 'task' and seq > ? group by entity_id", after)
    found = tasks.get_many(tx, [row[1] for row in rows])
    moved = [ChangedTask(row[0], found[row[1]]) for row in rows if row[1] in found]
    ours = [one for one in moved if feature is None or one.task.feature == feature]
    return sorted(ours, key=lambda one: one.seq)
