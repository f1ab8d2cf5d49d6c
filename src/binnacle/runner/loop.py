"""The loop of a run: plans, then starts an attempt wherever there is a ready task and a free worker.

A run has one or more workers. A worker is a session in the store and a folder, in which one fresh agent after another
works, an attempt at a task each. Everything here runs on one event loop; only `run_store` uses a thread, and git a
process.

The states of a run. Each is left when `_end_reason` is set, which happens once:

    starting   hooks of `session_start`
    planning   the first worker makes the tasks of a specification, one planner for each part of it (`planning_stage`)
    working    attempts at tasks, each in a task of one task group (`attempt`)
    ending     releases claims, closes worktrees, runs hooks of `session_end`, and reports `RunEnded` last

The runner chooses: it claims the next ready task for the session of a free worker, and binds the session to it. A task
is ready when every task that it depends on is closed, and in a run only the merge queue closes tasks: so what a task
needs is in the branch that it starts from. Workers without a task cost nothing.

The states of an attempt are in the store, not in this process: begun, its agent ended, settled. So a kill at any
moment loses nothing. The next run of that name finds the attempt that is not settled and resumes it where it was.

Who owns what. `RunLoop` owns the end reason, the counts and the watch; `Attempt` settles what it has begun; `iterate`
owns the agent's process, its server and its transcript, and leaves none of them behind; `trees` owns folders and
branches; the caller owns the keeper, which ends everything that is left when it is closed. The workers share
`RunContext.spent` without a lock: it changes only between two awaits.

What happens at the same time:

  - Attempts run independently. They meet in the store, where a claim has one holder, and in `trees`, where merges take
    turns. An attempt counts against the budget from its start, so that together they do not exceed it.
  - `TaskWatch` polls for changed tasks and for what waits for a person, reports both and runs their hooks. Its lock
    makes the end wait until such a hook has finished.
  - Agents review changes, one after another in the place of a worker that is free (`agent_reviews`). A review has one
    runner on all machines.
  - A person pauses, sends messages or stops through `RunControl`, at the terminal of the run or from elsewhere
    (`RunInbox`, which the caller owns). A stop interrupts turns; a second does not wait.

Why it does not hang, and does not go on for ever. Every wait is bounded or ends with a stop: a turn by `silence` and
`within`, an outage by `max_outage`, a failing agent by `MAX_FAILURES`, a task by `max_attempts`, all attempts together
by the budget, which has a default number of iterations. With no attempt under way, `find_end_reason` sees whether
something is ready or in progress elsewhere, and ends the run if not. Only a pause lasts as long as a person likes.

Why it ends once. The first reason wins (`_end_with`); attempts under way finish. An unexpected exception cancels the
task group, and the contexts of `iterate` end the agents.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec.structs import replace

from binnacle.errors import BinnacleError, HookFailed
from binnacle.runner import run_events
from binnacle.runner.accepted_merges import AcceptedMerges
from binnacle.runner.agent_reviews import AgentReviews
from binnacle.runner.attempt import Attempt, AttemptResult
from binnacle.runner.budget import check_budget
from binnacle.runner.end_rules import (
    FINISHED,
    EndKind,
    EndReason,
    TaskCounts,
    count_failures,
    default_iterations,
    find_end_reason,
)
from binnacle.runner.planning_stage import PlanningStage
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.run_control import RunStopped
from binnacle.runner.run_verification import RunVerification
from binnacle.runner.spending_sync import SpendingSync
from binnacle.runner.task_watch import POLL_SECONDS, TaskWatch
from binnacle.runner.trees.run_trees import RunTrees
from binnacle.store.attempts import ClaimedAttempt
from binnacle.work.planning_steps import SpecChange
from binnacle.work.review import Review
from binnacle.work.review_policy import count_reviewers

TREE_HINT = "fix what it says, then: bn run --resume"
INTERRUPTED = EndReason("interrupted", "the run was stopped", "resume it with: bn run --resume")


class RunLoop:
    """One run of agents over the work of a project. `run` is called once."""

    def __init__(
        self,
        context: RunContext,
        workers: Sequence[Worker],
        trees: RunTrees,
        *,
        home: str,
        goes_on: bool,
        change: SpecChange | None = None,
    ) -> None:
        """`home` is the folder for hooks without a worker; `goes_on`, whether this run resumes an earlier one, and
        `change`, how its specification was changed since."""
        self._context = context
        self._home = replace(workers[0], cwd=home)
        self._workers = workers
        self._trees = trees
        self._goes_on = goes_on
        self._change = change
        self._ids = [worker.session for worker in workers]
        self._end_reason: EndReason | None = None
        self._finished = 0
        self._busy: set[int] = set()
        """The numbers of the workers that make an attempt."""

        self._lending: set[int] = set()
        """Those in whose place something accepted is merged, or agents review a change."""

        self._idle = 0
        """Attempts in a row that led to nothing."""

        self._failed: list[str] = []
        """The tasks of the attempts in a row in which the agent failed."""

        self._has_worked = False
        """Whether an agent has ended an attempt by itself."""

        self._accepted = AcceptedMerges(context, trees, self._home)
        self._sync = SpendingSync(context, self._ids)
        self._reviews = AgentReviews(
            context, trees, workers[0], find_stop=self._find_end, on_session=self._sync.count_here
        )
        self._verification = RunVerification(context, self._home)
        self._freed = asyncio.Event()
        self._watch = TaskWatch(context, self._home, self._ids, on_hook_failed=self._end_with_error)

    async def run(self) -> run_events.RunEnded:
        """Runs until there is a reason to end, and returns how it ended."""
        context, first = self._context, self._workers[0]
        await self._sync.load()
        context.tell(
            run_events.RunStarted(
                session=first.session,
                name=context.options.name,
                agent=context.options.agent.name,
                recipe=context.options.recipe,
                goes_on=self._goes_on,
            )
        )
        async with self._watch, self._sync:
            reason = await self._decide()
        return await self._end(reason)

    async def _decide(self) -> EndReason:
        """Starts, plans and works. Returns the reason to end."""
        with self._ending_with_errors():
            await self._context.run_hooks("session_start", self._home)
            await self._wait_while_paused()
            if self._context.options.has_spec:
                planning = PlanningStage(self._context, self._home, find_stop=self._find_stop)
                if reason := await planning.make(self._change):
                    self._end_with(reason)
            await self._set_default_limit()
        if self._end_reason is None:
            async with asyncio.TaskGroup() as group:
                await self._work(group)
        assert self._end_reason is not None, "the work ends with a reason"
        return self._end_reason

    async def _wait_while_paused(self) -> None:
        """A pause outlasts the process that was paused, so a run may be paused when it is resumed."""
        if self._context.control.is_paused:
            hint = f"the run is paused; let it go on with: bn session resume {self._context.options.name}"
            self._context.tell(run_events.WorkerWaiting(why=hint))
            await self._context.control.wait_to_go_on()

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

    async def _set_default_limit(self) -> None:
        """Limits the iterations of a run without such a budget by the number of its tasks."""
        counts = await self._context.store.count_tasks(self._ids)
        reviewers = count_reviewers(await self._context.store.read(lambda tx: tx.outlook.find_reviews()))
        self._context.spent.default_iterations = self._context.spent.iterations_before + default_iterations(
            counts.left, self._context.options.max_attempts, reviewers=reviewers
        )

    async def _work(self, group: asyncio.TaskGroup) -> None:
        """Starts attempts until there is a reason to end."""
        with self._ending_with_errors():
            await self._reviews.end_others()
            await self._merge_all()
            left = list(self._workers)  # one of them may have to resume an attempt, although nothing is ready
            while self._end_reason is None:
                await self._context.control.wait_to_go_on()
                if not left:
                    await self._start_merge(group)
                    await self._start_review(group)
                started = [await self._start_attempt(group, worker) for worker in left or self._free_workers()[:1]]
                left = []
                if not any(started):
                    await self._wait_or_end()

    def _free_workers(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.number not in self._busy | self._lending]

    async def _start_merge(self, group: asyncio.TaskGroup) -> None:
        """Starts to merge an accepted change, if there is one and a worker is free."""
        free = self._free_workers()
        if not free or self._context.control.is_stopped or (review := await self._accepted.find_next()) is None:
            return
        self._accepted.take(review)
        self._lending.add(free[0].number)
        group.create_task(self._merge(free[0], review))

    async def _merge_all(self) -> None:
        """Merges what was accepted before the run was started, so that the attempts begin with it."""
        while not self._context.control.is_stopped and (review := await self._accepted.find_next()) is not None:
            self._accepted.take(review)
            await self._merge(self._workers[0], review)

    async def _merge(self, worker: Worker, review: Review) -> None:
        with self._ending_with_errors(), suppress(RunStopped):
            try:
                await self._accepted.merge(worker, review)
                self._idle = 0
            finally:
                self._lending.discard(worker.number)
                self._freed.set()

    async def _start_review(self, group: asyncio.TaskGroup) -> None:
        """Starts to let agents review a change, if one waits for them and a worker is free."""
        free = self._free_workers()
        if not free or self._find_end() or (review := await self._reviews.take_next()) is None:
            return
        self._lending.add(free[0].number)
        group.create_task(self._review(free[0], review))

    async def _review(self, worker: Worker, review: Review) -> None:
        with self._ending_with_errors():
            try:
                if (reason := await self._reviews.make(worker, review)) is not None:
                    self._end_with(reason)
            finally:
                self._lending.discard(worker.number)
                self._freed.set()

    async def _start_attempt(self, group: asyncio.TaskGroup, worker: Worker) -> bool:
        """Starts an attempt if there is one to make. Returns whether it did."""
        if reason := self._find_stop():
            self._end_with(reason)
            return False
        claimed = await self._context.store.claim_attempt(worker.session)
        if claimed is None:
            return False
        self._busy.add(worker.number)
        self._count_iterations()
        group.create_task(self._attempt(worker, claimed))
        return True

    async def _wait_or_end(self) -> None:
        """Waits until an attempt ends or the work changes; ends the run if there is nothing to wait for."""
        if not self._busy and not self._lending and self._end_reason is None:
            counts = await self._context.store.count_tasks(self._ids)
            has_checks = await self._context.store.has_checks()
            if reason := find_end_reason(counts, idle=self._idle, has_checks=has_checks):
                if await self._accepted.find_next() is not None or await self._wait_for_reviews(counts):
                    return
                if counts.ready or counts.given_up or not await self._reopens_broken():
                    self._end_with(reason)
                return
            if not counts.ready:
                await self._wait_for_others("every task that is left waits for one in progress")
                return
        self._freed.clear()
        await self._context.control.sleep(POLL_SECONDS, until=self._freed)

    async def _reopens_broken(self) -> bool:
        """Whether something that the run has closed does not hold any more, so that it goes on."""
        try:
            return await self._verification.reopen_broken(await self._trees.head())
        except RunStopped:
            self._end_with(INTERRUPTED)
            return False

    async def _attempt(self, worker: Worker, claimed: ClaimedAttempt | None) -> None:
        """Makes attempts with one worker, as long as it holds its task."""
        with self._ending_with_errors():
            try:
                while claimed is not None:
                    result = await Attempt(self._context, self._trees, worker, claimed).make()
                    self._count(result, claimed.task.id)
                    if result.holds_task:
                        await self._context.control.wait_to_go_on()
                    goes_on = result.holds_task and self._end_reason is None and not self._find_stop()
                    claimed = await self._context.store.claim_attempt(worker.session) if goes_on else None
            finally:
                self._busy.discard(worker.number)
                self._count_iterations()
                self._freed.set()

    def _count(self, result: AttemptResult, task_id: str) -> None:
        """Counts an attempt that ended, and ends the run if agents only fail, or nothing comes of their work."""
        if result.end is not None:
            self._end_with(result.end)
        if result.outcome == "stopped":
            return
        self._finished += 1
        self._count_iterations()
        self._has_worked = self._has_worked or not result.failed
        self._failed = [*self._failed, task_id] if result.failed else []
        self._idle = 0 if result.is_progress else self._idle + 1
        failures = count_failures(self._failed, has_worked=self._has_worked)
        if reason := find_end_reason(TaskCounts(ready=1), idle=self._idle, failures=failures):
            is_tree = result.failed == "preparation" and reason.why == "agent_failing"
            self._end_with(EndReason("error", result.reason, TREE_HINT) if is_tree else reason)

    def _count_iterations(self) -> None:
        """An attempt counts against the budget from its start."""
        spent = self._context.spent
        spent.iterations = spent.iterations_before + self._finished + len(self._busy) + self._reviews.iterations

    def _find_end(self) -> EndReason | None:
        """Whether nothing new may be started any more."""
        return self._end_reason or self._find_stop()

    def _find_stop(self) -> EndReason | None:
        """Whether the run was stopped, or has used up its budget."""
        if self._context.control.is_stopped:
            return INTERRUPTED
        self._count_iterations()
        spent = self._context.spent
        spent.seconds = spent.seconds_before + self._sync.seconds
        return check_budget(self._context.options.budget, spent)

    async def _wait_for_reviews(self, counts: TaskCounts) -> bool:
        """Whether agents still review changes of the run. Waits a moment for those elsewhere."""
        if not counts.in_review or not await self._reviews.are_left():
            return False
        await self._context.control.sleep(POLL_SECONDS)
        return self._find_end() is None

    async def _wait_for_others(self, why: str) -> None:
        """Waits until the work changes: all open tasks depend on others."""
        self._context.tell(run_events.WorkerWaiting(why=why))
        before = await self._context.store.last_change()
        while self._end_reason is None and not self._find_stop() and await self._context.store.last_change() == before:
            await self._context.control.sleep(POLL_SECONDS)

    async def _end(self, reason: EndReason) -> run_events.RunEnded:
        """Releases tasks, and reports how the run ended."""
        store = self._context.store
        with self._ending_with_errors():
            await self._watch.report_changes()
        if reason.why in FINISHED:
            await store.complete_sessions(self._ids, reason.said)
        await store.release_tasks(self._ids, reason.said)
        counts, results = await store.count_tasks(self._ids), await store.read_results()
        kept = await self._trees.close()
        with self._ending_with_errors():
            await store.note_head(await self._trees.head())
        await store.end_run(reason.why, reason.said, self._sync.take_seconds(), self._ids[0])
        ended = run_events.RunEnded(
            session=self._ids[0],
            name=self._context.options.name,
            why=reason.why,
            said=reason.said,
            hint=reason.hint,
            iterations=self._finished + self._reviews.iterations,
            unfinished=results.unfinished,
            commits=results.commits,
            files=results.files,
            waiting=(
                *map(run_events.describe_question, results.questions),
                *map(run_events.describe_waiting_review, results.reviews),
            ),
            closed=counts.closed_here.total,
            proof=counts.closed_here,
            left=counts.left,
            seconds=round(self._sync.seconds, 1),
            tokens=self._context.spent.tokens,
            cost=self._context.spent.cost,
            kept=tuple(kept),
            behind=self._trees.behind,
        )
        try:
            await self._watch.report_attention()
            why = "" if reason.why == "complete" else f"{reason.why}: {reason.said}"
            await self._context.run_hooks("session_end", self._home, error=why)
        except HookFailed as error:
            self._context.tell(run_events.WarningReported(message=error.message, hint=error.hint))
        self._context.tell(ended)
        return ended
