"""One attempt at a task: prepare its tree, let an agent work on it, take its change over, and note what it led to.

The steps, each of which can be repeated after a kill:

    prepared   the worker's tree has the branch of the task, up to date with the branch of the run
    worked     `iterate` has run an agent to its end; outages are waited out, an agent that fails is started again
    kept       what changed is committed on the branch of the task
    proven     the agent calls the task done: its checks pass on that commit (`AttemptWork`)
    taken over its branch is in the branch of the run (`RunTrees.integrate`), where the checks pass as well
    settled    outcome and cost are in the store, and the task is closed, given back, or handed to a person

An agent that is at work is told at once what is missing, and goes on. The claim on the task lasts until it is settled.
A conflict keeps it, and so does a task that is not proven: the next attempt of the same worker resolves it. If nothing
is missing but a review, the commit is put up (`attempt_review`), and the worker takes another task.
"""

from functools import partial
from typing import Literal, NamedTuple, assert_never

from binnacle.errors import AgentLimited, AgentLogin, AgentStart, BinnacleError, HookFailed, RemoteUnreachable
from binnacle.git.command import commit_message
from binnacle.plan.prompt_data import RunSituation
from binnacle.proving.change_prover import TaskProof
from binnacle.proving.review_opening import describe_review
from binnacle.runner import run_events
from binnacle.runner.attempt_review import put_up
from binnacle.runner.attempt_work import AttemptWork, describe_for_attempt
from binnacle.runner.end_rules import MAX_FAILURES, EndKind, EndReason
from binnacle.runner.iteration import FinishedIteration, iterate
from binnacle.runner.iteration_order import IterationOrder
from binnacle.runner.outage import OutageWait
from binnacle.runner.ports import Stage, Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.run_control import RunStopped
from binnacle.runner.trees.merge_results import (
    MergeConflict,
    MergeDone,
    MergeHeld,
    MergeRefused,
    NothingToMerge,
    PreparedTree,
)
from binnacle.runner.trees.run_trees import RunTrees
from binnacle.store.attempts import AttemptEnd, ClaimedAttempt
from binnacle.work.done_gate import DoneProof
from binnacle.work.run import AttemptOutcome
from binnacle.work.task import Task

BACKOFF_SECONDS = (1.0, 5.0)
"""Seconds before a failed agent is started again; the last value repeats."""


AttemptFailure = Literal["", "agent", "preparation"]
"""What kept an attempt from its work: the agent, or the tree in which it should have worked."""


class AttemptResult(NamedTuple):
    """What an attempt led to."""

    outcome: AttemptOutcome
    reason: str = ""
    commit: str = ""
    holds_task: bool = False
    """Whether the worker still holds the task, for its next attempt."""

    task_status: str = ""
    """The status of the task after it; empty if the task is gone."""

    end: EndReason | None = None
    """Why the run has to end."""

    failed: AttemptFailure = ""
    """What failed, if the agent did not end by itself."""

    @property
    def is_progress(self) -> bool:
        """Whether something real came of it: a change that is kept, a task closed, a question asked."""
        return bool(self.commit) or self.outcome in ("done", "question", "blocked", "review")


class Attempt:
    """One attempt of one worker. `make` is called once."""

    def __init__(self, context: RunContext, trees: RunTrees, worker: Worker, claimed: ClaimedAttempt) -> None:
        self._context = context
        self._trees = trees
        self._worker = worker
        self._claimed = claimed
        self._task = claimed.task
        self._outage = OutageWait(context, worker)
        self._changes = AttemptWork(context, trees, worker, claimed)
        self._commit = ""

    async def make(self) -> AttemptResult:
        """Makes the attempt and settles it.

        Raises:
            HookFailed: a required hook failed.
        """
        try:
            return await self._make()
        except RunStopped:
            return AttemptResult("stopped")

    async def _make(self) -> AttemptResult:
        try:
            finished = await self._prepare_and_work()
        except HookFailed:
            raise
        except (AgentLimited, RemoteUnreachable) as error:
            return self._stop(error, "see if it is back, then: bn run --resume")
        except (AgentStart, AgentLogin) as error:
            await self._report(error)
            return self._stop(error, error.hint)
        except BinnacleError as error:
            await self._report(error)
            return (await self._settle("failed", error.message))._replace(failed="preparation")
        if finished is None:
            settled = await self._settle("failed", f"the agent failed {MAX_FAILURES} times in a row")
            return settled._replace(failed="agent")
        if finished.is_broken_off:
            return AttemptResult("stopped")
        async with self._context.store.keep_claims(self._worker.session):  # checks may take long
            return await self._take_over(finished)

    async def _prepare_and_work(self) -> FinishedIteration | None:
        prepared = await self._outage.bear(partial(self._trees.prepare, self._worker.number, self._task.id))
        # Its agent ended just before the run was killed, or its work was merged just before that.
        if self._claimed.is_over or await self._changes.find_merged():
            return FinishedIteration(self._claimed.number, "", is_broken_off=False)
        return await self._work(prepared)

    def _stop(self, error: BinnacleError, hint: str) -> AttemptResult:
        """Leaves the attempt as it is, to be resumed, and ends the run."""
        why: EndKind = "error" if isinstance(error, RemoteUnreachable) else "agent_failing"
        is_stopped = self._context.control.is_stopped
        return AttemptResult("stopped", error.message, end=None if is_stopped else EndReason(why, error.message, hint))

    async def _work(self, prepared: PreparedTree) -> FinishedIteration | None:
        """Runs agents until one has ended by itself; None if they only failed."""
        order, failures = await self._order(prepared), 0
        while True:
            try:
                return await self._outage.bear(partial(iterate, self._context, self._worker, order))
            except (AgentLimited, AgentStart, AgentLogin, HookFailed):
                raise
            except BinnacleError as error:
                failures += 1
                await self._report(error)
                if self._context.control.is_stopped:
                    return FinishedIteration(order.number, "", is_broken_off=True)
                if failures >= MAX_FAILURES:
                    return None
                await self._context.control.sleep(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS)) - 1])
                order = (await self._order(prepared))._replace(goes_on=True)

    async def _order(self, prepared: PreparedTree) -> IterationOrder:
        options, task, claimed = self._context.options, self._task, self._claimed
        stage: Stage = "merge" if prepared.conflict is not None else "do"
        choice = options.choose(stage, task.discipline)
        spent = await self._context.store.spent_on_task(task.id)
        here = await self._context.store.spent_in_iteration(self._worker.session, claimed.number)
        minutes, cost = options.task_budget.minutes, options.task_budget.cost
        return IterationOrder(
            number=claimed.number,
            goes_on=claimed.goes_on,
            stage=stage,
            choice=choice,
            terms=self._context.services.terms(choice.recipe, discipline=task.discipline, task=task.id),
            situation=RunSituation(
                branch=prepared.branch,
                base=prepared.base,
                may=options.may,
                checks=options.checks,
                conflict="" if prepared.conflict is None else prepared.conflict.description,
                attempt=claimed.attempt,
                attempts=options.max_attempts,
            ),
            task=task.id,
            within=None if minutes is None else max(1.0, minutes * 60 - spent.seconds),
            cost_left=None if cost is None else max(0.0, cost - (spent.cost - here.cost)),
            find_missing=self._changes.find_missing,
        )

    async def _take_over(self, finished: FinishedIteration) -> AttemptResult:
        """Keeps what the agent changed; if it calls the task done, brings it into the branch of the run."""
        end = await self._context.store.read_attempt_end(self._worker.session, self._task.id)
        message = commit_message(self._task.title, finished.summary or end.reason)
        try:
            await self._outage.bear(partial(self._changes.keep, message))
            self._commit = self._changes.commit
            if end.outcome == "done" or await self._changes.find_merged():
                return await self._finish(message, end)
        except RemoteUnreachable as error:
            return self._stop(error, error.hint)
        except BinnacleError as error:
            self._warn(error.message, error.hint)
            return await self._settle("failed", error.message)
        if finished.is_repeating:
            return await self._settle("repeating", "the agent did the same again and again, although it was told")
        if finished.is_over_limit:
            return await self._settle("limit", "the task took more than its budget")
        return await self._settle(end.outcome, end.reason)

    async def _finish(self, message: str, end: AttemptEnd) -> AttemptResult:
        """Brings what the agent calls done into the branch of the run, as far as it is proven."""
        if not end.is_closed and not await self._changes.find_merged():
            found = await self._changes.prove()
            if found is not None and not found.is_proven:
                return await self._send_back(found)
        return await self._integrate(message, end.reason)

    async def _send_back(self, found: TaskProof) -> AttemptResult:
        """Settles an attempt whose task is not proven."""
        if found.waits_for_review:
            if refused := await self._changes.find_refused(found):
                return await self._settle("unproven", refused)
            return await self._put_up(found)
        return await self._settle("unproven", describe_for_attempt(found))

    async def _put_up(self, found: TaskProof) -> AttemptResult:
        """Puts the commit up for review: nothing is missing but that somebody accepts it. The worker is free then."""
        store, worker, number = self._context.store, self._worker, self._claimed.number
        review, task = await store.write(
            lambda tx: put_up(tx, found, run=store.run, session=worker.session, number=number), session=worker.session
        )
        self._context.tell(
            run_events.ReviewOpened(
                worker=worker.number, task=self._task.id, review=review.id, commit=review.commit_id,
                require=review.require, reasons=review.reasons, round=review.round,
            )
        )  # fmt: skip
        return self._ended("review", describe_review(review), task)

    async def _integrate(self, message: str, reason: str) -> AttemptResult:
        verify = self._changes.verify_merge
        found = await self._outage.bear(
            partial(self._trees.integrate, self._worker.number, self._task.id, message, verify)
        )
        worker = self._worker.number
        match found:
            case MergeDone():
                self._context.tell(run_events.BranchMerged(worker=worker, branch=found.branch, into=found.into))
                self._commit = self._commit or found.commit
            case MergeConflict():
                self._context.tell(
                    run_events.BranchMerged(
                        worker=worker,
                        branch=found.branch,
                        into=found.into,
                        conflicts=found.files,
                        task=self._task.id,
                    )
                )
                return await self._settle("conflict", found.description)
            case MergeHeld():
                return await self._settle("conflict", found.reason)
            case MergeRefused():
                self._context.tell(
                    run_events.BranchMerged(
                        worker=worker, branch=found.branch, into=found.into, refused=found.reason, task=self._task.id
                    )
                )
                return await self._send_back(self._changes.find_refusal())
            case NothingToMerge():
                pass
            case _:
                assert_never(found)
        return await self._settle("done", reason, proof=self._changes.proof)

    async def _settle(self, outcome: AttemptOutcome, reason: str, *, proof: DoneProof | None = None) -> AttemptResult:
        worker, options = self._worker, self._context.options
        task = await self._context.store.settle_attempt(
            worker.session, self._claimed.number, outcome, reason, max_attempts=options.max_attempts, proof=proof
        )
        return self._ended(outcome, reason, task)

    def _ended(self, outcome: AttemptOutcome, reason: str, task: Task | None) -> AttemptResult:
        """Tells that the attempt is settled."""
        worker = self._worker
        self._context.tell(
            run_events.AttemptEnded(
                worker=worker.number,
                number=self._claimed.number,
                task=self._task.id,
                outcome=outcome,
                reason=reason,
                status=task.status if task else "",
            )
        )
        holds = task is not None and task.claimed_by == worker.session
        return AttemptResult(outcome, reason, self._commit, holds, task.status if task else "")

    async def _report(self, error: BinnacleError) -> None:
        self._warn(error.message, error.hint)
        await self._context.run_hooks("on_error", self._worker, error=error.message)

    def _warn(self, message: str, hint: str) -> None:
        self._context.tell(run_events.WarningReported(worker=self._worker.number, message=message, hint=hint))
