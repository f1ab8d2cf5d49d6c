"""The loop of a run: plans, then iterates with every worker until there is a reason to end, and returns it.

A run has one or more workers. A worker is a session in the store and a folder, in which one fresh agent after another
works, an iteration each. Everything here runs on one event loop; only `run_store` uses a thread, and git a process.

The states of a run. Each is left when `_end_reason` is set, which happens once:

    starting   hooks of `session_start`
    planning   the first worker makes the tasks of a specification, again until it has finished once
    working    all workers iterate, each in a task of one task group
    ending     releases claims, closes worktrees, runs hooks of `session_end`, and reports `RunEnded` last

The states of an iteration, for one worker. They are in the store, not in this process:

    none         the newest iteration of the session has ended: the next one begins
    under way    it has begun and not ended; the session may hold a task, and the agent's own session id is in a file
    broken off   the same, but no agent works on it after a stop, a failure or a kill. `iterate` resumes it
    ended        its summary is written; the files are then committed and merged by `trees`

So a kill at any moment loses nothing. The next run of that name finds the iteration under way and resumes it, finds
the task still held by that session, and commits the files of an iteration that had ended (`_keep_left`).

Who owns what. `RunLoop` owns the end reason, the counts and the watch; `iterate` owns the agent's process, its
server and its transcript, and leaves none of them behind; `trees` owns folders and branches; the caller owns the
keeper, which ends everything that is left when it is closed. The workers share `RunContext.spent` without a lock: it
changes only between two awaits.

What happens at the same time:

  - Workers iterate independently. They meet in the store, where a claim has one holder, and in `trees`, where merges
    take turns. An iteration counts against the budget from its start, so that together they do not exceed it.
  - `TaskWatch` polls for changed tasks, reports them and runs `on_task_complete`. Its lock makes the end wait until
    such a hook has finished.
  - A person pauses, sends messages or stops through `RunControl`. A stop interrupts turns; a second does not wait.

Why it does not hang. Every wait is bounded or ends with a stop: a turn by `silence` and `within`, a rate limit by
`MAX_RATE_LIMIT_TRIES`, a failing agent by `MAX_FAILURES`, a lost database by `OUTAGE_SECONDS`. A worker without a ready
task waits for a change by others; if no worker is busy, `find_end_reason` sees that nothing is ready or in progress and
ends the run. Only a pause lasts as long as a person likes. One worker may find everything done while another one still
works, whose merge may end in a conflict, which is a new task: so "complete" waits until no worker is busy.

Why it ends once. The first reason wins (`_end_with`); the other workers see it before their next iteration and finish
the current one. An unexpected exception cancels the task group, and the contexts of `iterate` end the agents.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from binnacle.errors import AgentLimited, AgentLogin, AgentStart, BinnacleError, HookFailed
from binnacle.runner import run_events
from binnacle.runner.budget import check_budget
from binnacle.runner.end_rules import EndKind, EndReason, TaskCounts, find_end_reason
from binnacle.runner.iteration import FinishedIteration, iterate
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.task_watch import POLL_SECONDS, TaskWatch
from binnacle.runner.trees.run_trees import RunTrees

BACKOFF_SECONDS = (1.0, 5.0)
"""Seconds before a failed agent is started again; the last value repeats."""

RATE_LIMIT_WAIT_SECONDS = 30.0
"""Seconds to wait for a provider that does not say how long; doubled each time."""

MAX_RATE_LIMIT_WAIT_SECONDS = 3600.0
MAX_RATE_LIMIT_TRIES = 12
"""Times in a row that a provider may refuse."""

INTERRUPTED = EndReason("interrupted", "the run was stopped", "resume it with: bn run --resume")


class RunLoop:
    """One run of agents over the work of a project. `run` is called once."""

    def __init__(
        self, context: RunContext, workers: Sequence[Worker], trees: RunTrees, *, home: str, goes_on: bool
    ) -> None:
        """`home` is the folder for hooks without a worker; `goes_on`, whether this run resumes an earlier one."""
        self._context = context
        self._home = replace(workers[0], cwd=home)
        self._workers = workers
        self._trees = trees
        self._goes_on = goes_on
        self._ids = [worker.session for worker in workers]
        self._end_reason: EndReason | None = None
        self._finished = 0
        self._under_way = 0
        """Workers that are in an iteration."""

        self._started_at = 0.0
        self._watch = TaskWatch(context, self._home, self._ids, on_hook_failed=self._end_with_error)

    async def run(self) -> run_events.RunEnded:
        """Runs until there is a reason to end, and returns how it ended."""
        context, first = self._context, self._workers[0]
        self._started_at = time.monotonic()
        context.tell(
            run_events.RunStarted(
                session=first.session,
                name=context.options.name,
                agent=context.options.agent.name,
                recipe=context.options.recipe,
                goes_on=self._goes_on,
            )
        )
        async with self._watch:
            reason = await self._decide()
        return await self._end(reason)

    async def _decide(self) -> EndReason:
        """Starts, plans and works. Returns the reason to end."""
        with self._ending_with_errors():
            await self._context.run_hooks("session_start", self._home)
            if self._context.options.has_spec:
                await self._plan()
        if self._end_reason is None:
            async with asyncio.TaskGroup() as group:
                for worker in self._workers:
                    group.create_task(self._work(worker))
        assert self._end_reason is not None, "every worker ends with a reason"
        return self._end_reason

    @contextmanager
    def _ending_with_errors(self) -> Iterator[None]:
        """Ends the run if the block raises an error of ours."""
        try:
            yield
        except BinnacleError as error:
            self._end_with_error(error)

    def _end_with_error(self, error: BinnacleError) -> None:
        why: EndKind = "hook_failed" if isinstance(error, HookFailed) else "error"
        self._end_with(EndReason(why, error.message, error.hint))

    def _end_with(self, reason: EndReason) -> None:
        """Sets the reason to end, unless there is one; other workers finish their current iteration."""
        self._end_reason = self._end_reason or reason

    async def _plan(self) -> None:
        """Plans the tasks in a first iteration, again until one has finished."""
        worker, failures = self._workers[0], 0
        while (stage := await self._context.store.planning_stage(worker.session)) != "done":
            if reason := self._find_stop() or find_end_reason(TaskCounts(ready=1), failures=failures):
                self._end_with(reason)
            if self._end_reason is not None:
                return
            if stage == "elsewhere":
                await self._wait_for_others(worker, "the tasks are being planned on another machine")
            else:
                _, failures = await self._attempt(worker, failures, is_planning=True)

    async def _work(self, worker: Worker) -> None:
        """Iterates with one worker until the run has a reason to end."""
        with self._ending_with_errors():
            await self._iterate(worker)

    async def _iterate(self, worker: Worker) -> None:
        idle = failures = 0
        await self._keep_left(worker)
        while self._end_reason is None:
            await self._context.control.wait_to_go_on()
            counts = await self._context.store.count_tasks(self._ids)
            if reason := self._find_stop() or find_end_reason(counts, idle=idle, failures=failures):
                if reason.why != "complete" or not self._under_way:
                    self._end_with(reason)
                    return
                # The merge of another worker's iteration may end in a conflict, which is a new task.
                await self._context.control.sleep(POLL_SECONDS)
                continue
            if not counts.ready and not await self._context.store.holds_task(worker.session):
                await self._wait_for_others(worker, "every task that is left waits for one in progress")
                continue
            before = await self._fingerprint(worker)
            with self._count_under_way():
                finished, failures = await self._attempt(worker, failures)
                if finished is not None and not finished.is_broken_off:
                    self._finished += 1
                    await self._trees.keep(self._context, worker, finished)
                    idle = 0 if await self._fingerprint(worker) != before else idle + 1

    @contextmanager
    def _count_under_way(self) -> Iterator[None]:
        """Counts an iteration against the budget from its start, so that several workers together do not exceed it."""
        self._under_way += 1
        self._context.spent.iterations = self._finished + self._under_way
        try:
            yield
        finally:
            self._under_way -= 1
            self._context.spent.iterations = self._finished + self._under_way

    async def _keep_left(self, worker: Worker) -> None:
        """Commits the files of an iteration that ended just before its run was killed."""
        last = await self._context.store.last_iteration(worker.session)
        if last is None:
            await self._trees.keep_left(self._context, worker, None)
        elif last.ended_at is not None:
            done = FinishedIteration(last.number, last.summary, last.task_started or "", is_broken_off=False)
            await self._trees.keep_left(self._context, worker, done)

    def _find_stop(self) -> EndReason | None:
        """Whether the run was stopped, or has used up its budget."""
        if self._context.control.is_stopped:
            return INTERRUPTED
        self._context.spent.seconds = time.monotonic() - self._started_at
        return check_budget(self._context.options.budget, self._context.spent)

    async def _attempt(
        self, worker: Worker, failures: int, *, is_planning: bool = False
    ) -> tuple[FinishedIteration | None, int]:
        """Makes an iteration, and waits if the provider asks for it.

        Returns the iteration if it finished, and how many have failed in a row.
        """
        limited = 0
        while True:
            try:
                if not is_planning:
                    await self._trees.refresh(self._context, worker)
                finished = await iterate(self._context, worker, is_planning=is_planning)
            except AgentLimited as error:
                limited += 1
                if limited > MAX_RATE_LIMIT_TRIES or self._find_stop():
                    return None, failures + 1
                await self._wait_for_limit(worker, error, limited)
            except HookFailed:
                raise
            except BinnacleError as error:
                return None, await self._after_failure(worker, error, failures)
            else:
                return finished, 0

    async def _after_failure(self, worker: Worker, error: BinnacleError, failures: int) -> int:
        """Reports a failure and waits. Returns the number of failures."""
        self._context.tell(run_events.WarningReported(worker=worker.number, message=error.message, hint=error.hint))
        await self._context.run_hooks("on_error", worker, error=error.message)
        if isinstance(error, AgentStart | AgentLogin):
            self._end_with(EndReason("agent_failing", error.message, error.hint))
        elif not self._find_stop():
            await self._context.control.sleep(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)])
        return failures + 1

    async def _wait_for_limit(self, worker: Worker, error: AgentLimited, times: int) -> None:
        wait = error.after or min(RATE_LIMIT_WAIT_SECONDS * 2 ** (times - 1), MAX_RATE_LIMIT_WAIT_SECONDS)
        self._context.tell(run_events.WorkerWaiting(worker=worker.number, why=error.message, seconds=wait))
        await self._context.control.sleep(wait)

    async def _wait_for_others(self, worker: Worker, why: str) -> None:
        """Waits until the work changes: all open tasks depend on others."""
        self._context.tell(run_events.WorkerWaiting(worker=worker.number, why=why))
        before = await self._context.store.last_change()
        while self._end_reason is None and not self._find_stop() and await self._context.store.last_change() == before:
            await self._context.control.sleep(POLL_SECONDS)

    async def _fingerprint(self, worker: Worker) -> tuple[int, str]:
        """Changes when a task, a note or a file does."""
        return await self._context.store.last_change(), await self._trees.fingerprint(worker)

    async def _end(self, reason: EndReason) -> run_events.RunEnded:
        """Releases tasks, and reports how the run ended."""
        store = self._context.store
        with self._ending_with_errors():
            await self._watch.report_changes()
        if reason.why == "complete":
            await store.complete_sessions(self._ids, reason.said)
        await store.release_tasks(self._ids, reason.said)
        counts = await store.count_tasks(self._ids)
        kept = await self._trees.close()
        ended = run_events.RunEnded(
            session=self._ids[0],
            name=self._context.options.name,
            why=reason.why,
            said=reason.said,
            hint=reason.hint,
            iterations=self._finished,
            closed=counts.closed_here,
            left=counts.left,
            seconds=round(time.monotonic() - self._started_at, 1),
            tokens=self._context.spent.tokens,
            cost=self._context.spent.cost,
            kept=tuple(kept),
        )
        try:
            why = "" if reason.why == "complete" else f"{reason.why}: {reason.said}"
            await self._context.run_hooks("session_end", self._home, error=why)
        except HookFailed as error:
            self._context.tell(run_events.WarningReported(message=error.message, hint=error.hint))
        self._context.tell(ended)
        return ended
