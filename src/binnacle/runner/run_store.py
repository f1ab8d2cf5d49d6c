"""A run's view of the store: its tasks, its sessions and their iterations.

Every read and every change opens the store again, in a thread: the event loop also serves the agents, and must not wait
for their changes to the same file.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple, TypeVar

from binnacle.errors import BinnacleError, StoreLost, StoreUnreachable, TimedOut
from binnacle.runner.end_rules import TaskCounts
from binnacle.runner.run_control import RunControl, RunStopped
from binnacle.store import (
    abandoned_work,
    attempts,
    comments,
    leases,
    observations,
    run_planning,
    runs,
    sessions,
    task_moves,
    task_requirements,
    tasks,
)
from binnacle.store.attempts import AttemptEnd, ClaimedAttempt, Spending
from binnacle.store.run_planning import BegunPlanning, PlanningState
from binnacle.store.store import Store
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader, Writer
from binnacle.store.views import run_results
from binnacle.store.views.run_results import RunResults
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.done_gate import DoneProof
from binnacle.work.observation import ObservedCommand
from binnacle.work.run import AttemptOutcome
from binnacle.work.session import Iteration
from binnacle.work.task import Task

Result = TypeVar("Result")

OUTAGE_SECONDS = 120.0
"""How long a run waits for a lost database: longer than a restart takes."""

RETRY_SECONDS = 0.5

MAX_LEASE_WAIT_SECONDS = 4 * 3600.0
"""How long a process waits for a lease of one that is alive: the checks of its merge may take long."""

LEASE_SECONDS = 30.0
"""How long others wait for a process that was killed while it held a lease."""

WATCHED = ("task", "note", "comment", "learning", "progress", "question", "review")
"""What counts as a change of the work."""

NO_SUMMARY = "The agent wrote no summary."


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

    def __init__(self, open_store: Callable[[], Store], *, run: str, feature: str | None, lease: float) -> None:
        """`feature` is that of the run; None for the complete project. `lease` is how long a claim lasts."""
        self._open = open_store
        self.run = run
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
        return await self.read(lambda tx: _count_tasks(tx, self.run, self._scope(tx), session_ids))

    def _scope(self, tx: Reader) -> TaskFilter:
        """Which tasks the run is about."""
        return TaskFilter(feature=self.feature, selected=runs.list_selected(tx, self.run), closed_too=True)

    async def has_checks(self) -> bool:
        """Whether the project has checks that a person trusts."""
        return await self.read(task_requirements.has_checks)

    async def planning_state(self) -> PlanningState:
        """How far the planning is, on whatever machine."""
        return await self.read(lambda tx: run_planning.load_state(tx, self.run))

    async def begin_planning(self, session_id: str, key: str) -> BegunPlanning:
        """Begins an iteration for a step of the planning, or resumes the interrupted one."""
        return await self.write(lambda tx: run_planning.begin(tx, session_id, key), session=session_id)

    async def finish_planning(self) -> None:
        """Notes that the work can begin."""
        await self.write(lambda tx: run_planning.finish(tx, self.run))

    async def claim_attempt(self, session_id: str) -> ClaimedAttempt | None:
        """Takes the next task for a session and begins an attempt at it, or resumes the interrupted one.

        None if no task is ready.
        """
        try:
            return await self.write(lambda tx: attempts.claim(tx, session_id, self._scope(tx)), session=session_id)
        except attempts.LostRace:
            return None

    async def note_agent(self, session_id: str, number: int, agent: str, model: str) -> None:
        """Notes which agent makes an iteration."""
        await self.write(lambda tx: attempts.note_agent(tx, session_id, number, agent, model), session=session_id)

    async def note_spending(self, session_id: str, number: int, spent: Spending) -> None:
        """Notes what an iteration took so far."""
        await self.write(lambda tx: attempts.note_spending(tx, session_id, number, spent), session=session_id)

    async def note_commit(self, session_id: str, number: int, commit: str, files: int) -> None:
        """Notes the commit of an attempt's changes."""
        await self.write(lambda tx: attempts.note_commit(tx, session_id, number, commit, files), session=session_id)

    async def note_observed(self, session_id: str, task_id: str, found: Sequence[ObservedCommand]) -> None:
        """Notes which tests the agent of an attempt ran by itself, and how they ended."""

        def note(tx: Writer) -> None:
            task = next(iter(tasks.get_many(tx, [task_id]).values()), None)
            if task is not None and observations.find(tx, task) != tuple(found):
                observations.note(tx, task_id, found)

        await self.write(note, session=session_id)

    async def spent_on_task(self, task_id: str) -> Spending:
        """What the attempts at a task took so far."""
        return await self.read(lambda tx: attempts.spent_on_task(tx, task_id))

    async def spent_in_run(self) -> Spending:
        """What the run took so far, over all machines and resumes."""
        return await self.read(lambda tx: attempts.spent_in_run(tx, self.run))

    async def spent_elsewhere(self, session_ids: Sequence[str]) -> Spending:
        """What the run took so far in other sessions than these."""
        return await self.read(lambda tx: attempts.spent_elsewhere(tx, self.run, session_ids))

    async def seconds_in_run(self) -> float:
        """How long the run was driven so far, over all machines and resumes."""
        return (await self.read(lambda tx: runs.get(tx, self.run))).seconds

    async def add_seconds(self, seconds: float) -> None:
        """Adds time that the run was driven here."""
        await self.write(lambda tx: runs.add_seconds(tx, self.run, seconds))

    async def note_origin(self, base: str, branch: str, budget: Mapping[str, float]) -> None:
        """Notes where the changes of the run begin, unless that is known, where they come together, and its budget."""

        def note(tx: Writer) -> None:
            known = runs.get(tx, self.run)
            runs.update(tx, self.run, base=known.base or base, branch=branch, budget=dict(budget))

        await self.write(note)

    async def note_head(self, head: str) -> None:
        """Notes the newest commit with the changes of the run."""
        await self.write(lambda tx: runs.update(tx, self.run, head=head))

    async def spent_in_iteration(self, session_id: str, number: int) -> Spending:
        """What an iteration took so far."""
        return await self.read(lambda tx: attempts.spent_in_iteration(tx, session_id, number))

    async def read_attempt_end(self, session_id: str, task_id: str) -> AttemptEnd:
        """What the agent of an attempt left."""
        return await self.read(lambda tx: attempts.read_end(tx, session_id, task_id))

    async def is_reported(self, session_id: str, task_id: str) -> bool:
        """Whether the agent of an attempt has said how it ended."""

        def look(tx: Reader) -> bool:
            return not attempts.is_silent(tx, session_id, task_id)

        return await self.read(look)

    async def settle_attempt(
        self,
        session_id: str,
        number: int,
        outcome: AttemptOutcome,
        reason: str,
        *,
        max_attempts: int,
        proof: DoneProof | None = None,
    ) -> Task | None:
        """Ends an attempt and moves its task. Returns the task, None if it is gone."""

        def settle(tx: Writer) -> Task | None:
            return attempts.settle(tx, session_id, number, outcome, reason, max_attempts=max_attempts, proof=proof)

        return await self.write(settle, session=session_id)

    @asynccontextmanager
    async def hold_lease(self, name: str, control: RunControl) -> AsyncIterator[None]:
        """Holds what only one process may do at a time, on whatever machine. A killed holder's lease lapses.

        Raises:
            RunStopped: the run was stopped while another process held it.
            TimedOut: another process held it for `MAX_LEASE_WAIT_SECONDS`.
        """
        holder = os.urandom(8).hex()
        end = control.now() + MAX_LEASE_WAIT_SECONDS
        # It is in another process, perhaps on another machine, so it can only be asked for.
        while not await self.take_lease(name, holder):
            if control.is_stopped:
                raise RunStopped
            if control.now() > end:
                raise TimedOut(f"another machine has held the lease {name!r} for hours", hint="see: bn session list")
            await control.sleep(RETRY_SECONDS)
        async with self.keep_lease(name, holder):
            yield

    async def take_lease(self, name: str, holder: str) -> bool:
        """Takes a lease if nobody else has it. The same holder can take it again after a kill."""
        return await self.write(lambda tx: leases.take(tx, name, holder, LEASE_SECONDS))

    @asynccontextmanager
    async def keep_lease(self, name: str, holder: str) -> AsyncIterator[None]:
        """Renews a lease that was taken. Leaving the block gives it back."""
        renewing = asyncio.create_task(self._renew_lease(name, holder))
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            await self.write(lambda tx: leases.release(tx, name, holder))

    async def _renew_lease(self, name: str, holder: str) -> None:
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            await self.take_lease(name, holder)

    async def end_run(self, why: str, said: str, seconds: float, session_id: str) -> None:
        """Notes that the run has ended here, and adds the time that it took. `session_id` is a session of this end."""
        await self.write(lambda tx: runs.end(tx, self.run, why=why, said=said, seconds=seconds, session=session_id))

    async def read_results(self) -> RunResults:
        """What the run led to so far, over all machines and resumes."""
        return await self.read(lambda tx: run_results.read_results(tx, self.run))

    async def current_iteration(self, session_id: str) -> Iteration:
        """The newest iteration of a session."""
        return (await self.read(lambda tx: sessions.list_iterations(tx, session_id)))[-1]

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

    @asynccontextmanager
    async def keep_claims(self, session_id: str) -> AsyncIterator[None]:
        """Renews the claims of a session for as long as the block lasts."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(self.lease / 3)
                # The next round tries again; a store that stays away fails the calls of whoever works.
                with suppress(BinnacleError):
                    await self.renew_claims(session_id)

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def last_change(self) -> int:
        """A number that changes with the work, including notes."""
        words = ", ".join("?" * len(WATCHED))
        return await self.read(
            lambda tx: tx.count(f"select coalesce(max(seq), 0) from event where entity in ({words})", *WATCHED)
        )

    async def changed_tasks(self, after: int) -> list[ChangedTask]:
        """The tasks of the run that changed after event number `after`, as they are now."""
        return await self.read(lambda tx: _changed_tasks(tx, self._scope(tx), after))

    async def title_of(self, task_id: str) -> str:
        """The title of a task."""
        return (await self.read(lambda tx: tasks.get(tx, task_id))).title


def _count_tasks(tx: Reader, run: str, scope: TaskFilter, session_ids: Sequence[str]) -> TaskCounts:
    where, values = scope.where()
    rows = tx.rows(
        "select status, case when open_dependencies > 0 then 1 else 0 end, count(*) from task "
        f"where {where} group by 1, 2",
        *values,
    )
    counts = {(row[0], row[1]): row[2] for row in rows}
    no_end = "claim_expires_at is null and status = 'in_progress'"
    by_people = tx.count(f"select count(*) from task where {where} and {no_end}", *values)

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
        in_review=count_of("in_review"),
        draft=count_of("draft"),
        done=count_of("done"),
        cancelled=count_of("cancelled"),
        closed_here=run_results.count_closed_tasks(tx, run),
    )


def _changed_tasks(tx: Reader, scope: TaskFilter, after: int) -> list[ChangedTask]:
    rows = tx.rows("select max(seq), entity_id from event where entity = 'task' and seq > ? group by entity_id", after)
    found = tasks.get_many(tx, [row[1] for row in rows])
    moved = [ChangedTask(row[0], found[row[1]]) for row in rows if row[1] in found]
    ours = [one for one in moved if scope.is_about(one.task)]
    return sorted(ours, key=lambda one: one.seq)
