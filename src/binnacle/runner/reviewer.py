"""One agent that reviews a change for a run: its session, its folder, what it may do, and what came of it.

It works in an empty folder that is thrown away, and reads the commit by its tools. So it cannot change the tree of a
worker, and no file of the change reaches it as an instruction or as configuration of its client, as in a checkout.
Whatever it asks permission for, except its own tools, is refused. Nothing that the worker said is in its prompt: no
output of hooks, no report.
"""

from functools import partial
from typing import NamedTuple

from binnacle.errors import AgentLimited, AgentLogin, AgentStart, BinnacleError
from binnacle.runner import run_events
from binnacle.runner.end_rules import EndReason
from binnacle.runner.iteration import FinishedIteration, iterate
from binnacle.runner.iteration_order import IterationOrder
from binnacle.runner.outage import OutageWait
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.store import reviews, run_reviewers
from binnacle.store.run_reviewers import NO_VERDICT, BegunReviewer
from binnacle.store.transaction import Reader, Writer
from binnacle.work.review import Review, ReviewVerdict, VerdictCount
from binnacle.work.run import AttemptOutcome
from binnacle.work.task import Task

RESUME_HINT = "see to it, then: bn run --resume"


class ReviewerEnd(NamedTuple):
    """What a reviewer led to."""

    outcome: AttemptOutcome = ""
    """`done` with a verdict; empty if it was interrupted, and goes on later."""

    end: EndReason | None = None
    """Why the run has to end."""


class Reviewer:
    """One reviewer of one change. `make` is called once."""

    def __init__(self, context: RunContext, worker: Worker, task: Task, review: Review, begun: BegunReviewer) -> None:
        """`worker` is the one whose place the reviewer takes while it is at work."""
        self._context = context._replace(decide=context.decide_review, pending=[])
        self._worker = worker
        self._task = task
        self._review = review
        self._begun = begun

    async def make(self) -> ReviewerEnd:
        """Runs the agent until it has given its verdict or failed, and settles its session.

        Raises:
            RunStopped: the run was stopped before it began.
        """
        async with self._context.services.open_reviewer(self._begun.session) as folder:
            reviewer = Worker(number=self._worker.number, session=self._begun.session, cwd=folder)
            try:
                finished = await self._work(reviewer)
            except (AgentLimited, AgentStart, AgentLogin) as error:  # it is resumed when that is fixed
                is_stopped = self._context.control.is_stopped
                return ReviewerEnd(
                    end=None if is_stopped else EndReason("agent_failing", error.message, error.hint or RESUME_HINT)
                )
            except BinnacleError as error:
                if self._context.control.is_stopped:
                    return ReviewerEnd()
                return await self._settle("failed", error.message)
        return ReviewerEnd() if finished.is_broken_off else await self._settle(*_explain(finished))

    async def _work(self, reviewer: Worker) -> FinishedIteration:
        order = await self._order(reviewer)
        return await OutageWait(self._context, reviewer).bear(partial(iterate, self._context, reviewer, order))

    async def _order(self, reviewer: Worker) -> IterationOrder:
        options, task = self._context.options, self._task
        choice = options.choose("review", task.discipline)
        minutes, cost = options.task_budget.minutes, options.task_budget.cost
        here = await self._context.store.spent_in_iteration(reviewer.session, 1)
        return IterationOrder(
            number=1,
            goes_on=self._begun.goes_on,
            stage="review",
            choice=choice,
            terms=self._context.services.terms(choice.recipe, discipline=task.discipline, task=task.id),
            task=task.id,
            within=None if minutes is None else max(1.0, minutes * 60 - here.seconds),
            cost_left=cost,
            reviewer=self._begun.number,
            has_verdict=self._has_verdict,
        )

    async def _has_verdict(self) -> bool:
        """Whether nothing is left for the agent to say: it has decided, or the review is over."""

        def look(tx: Reader) -> bool:
            if reviews.get(tx, self._review.id).status != "open":
                return True
            return run_reviewers.find_verdict(tx, self._review, self._begun.session) is not None

        return await self._context.store.read(look)

    async def _settle(self, outcome: AttemptOutcome, reason: str) -> ReviewerEnd:
        """Notes what the agent led to. Whatever happened after its verdict, that counts."""
        review, session = self._review, self._begun.session

        def settle(tx: Writer) -> tuple[AttemptOutcome, run_events.RunEvent]:
            current = reviews.get(tx, review.id)
            is_over = current.status != "open"
            led_to, verdict = run_reviewers.settle(tx, review, session, "stopped" if is_over else outcome, reason)
            if verdict is not None:
                return led_to, self._describe(current, verdict, reviews.count_agents(tx, current))
            why = f"the review is over: {current.status}" if is_over else reason
            return led_to, run_events.ReviewerFailed(
                worker=self._worker.number, task=review.task_id, review=review.id, session=session,
                outcome=led_to, reason=why,
            )  # fmt: skip

        led_to, event = await self._context.store.write(settle, session=session)
        self._context.tell(event)
        return ReviewerEnd(led_to)

    def _describe(self, current: Review, verdict: ReviewVerdict, counted: VerdictCount) -> run_events.ReviewJudged:
        return run_events.ReviewJudged(
            worker=self._worker.number,
            task=current.task_id,
            review=current.id,
            session=self._begun.session,
            decision=verdict.decision,
            message=verdict.message,
            accepted=len(counted.accepted),
            refused=len(counted.refused),
            reviewers=counted.wanted,
            status=current.status,
        )


def _explain(finished: FinishedIteration) -> tuple[AttemptOutcome, str]:
    """What an agent led to that has not given its verdict, and why."""
    if finished.is_repeating:
        return "repeating", "it did the same again and again, although it was told"
    if finished.is_over_limit:
        return "limit", "it took more than one task may"
    return "unfinished", f"{NO_VERDICT}: {finished.summary}" if finished.summary else NO_VERDICT
