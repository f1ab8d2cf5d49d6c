"""The planning of a run: one planner after another, a part of the specification each, until everything is planned.

The steps are in `work.planning_steps`, and what is done of them in the store (`store.run_planning`): a run that was
killed continues with the same step, on whatever machine. Only one machine plans at a time, under a lease.

What an agent cannot be given, and what no task covers in the end, is said to the person before the work begins. Then
the run continues only if that was allowed: with `--allow-gaps`, or by the person's answer on a terminal.
"""

from collections.abc import Callable, Sequence
from functools import partial

from binnacle.errors import AgentLimited, AgentLogin, AgentStart, BinnacleError, HookFailed
from binnacle.plan.prompt_data import PlannedPart, RunSituation, UncoveredRequirement
from binnacle.runner import run_events
from binnacle.runner.attempt import BACKOFF_SECONDS
from binnacle.runner.end_rules import EndReason, TaskCounts, find_end_reason
from binnacle.runner.iteration import iterate
from binnacle.runner.iteration_order import IterationOrder
from binnacle.runner.outage import OutageWait
from binnacle.runner.ports import PLANNING_RECIPE, Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.run_control import RunStopped
from binnacle.runner.run_events import ListedRequirement
from binnacle.runner.task_watch import POLL_SECONDS
from binnacle.store.run_planning import PlanningState, RunCoverage
from binnacle.work.planning_steps import PlanningStep, SpecChange, cut_part, name_some
from binnacle.work.specification import Requirement, find_problems, outline

ALLOW_GAPS = "bn run --resume --allow-gaps"


class PlanningStage:
    """The planning of one run, in the person's folder. `make` is called once."""

    def __init__(self, context: RunContext, worker: Worker, *, find_stop: Callable[[], EndReason | None]) -> None:
        """`find_stop` says whether the run was stopped, or has used up its budget."""
        self._context = context
        self._worker = worker
        self._find_stop = find_stop
        self._end: EndReason | None = None

    async def make(self, change: SpecChange | None) -> EndReason | None:
        """Plans what is not planned yet. Returns why the run has to end, or None if the work can begin.

        `change` is how the specification differs from what was planned before.

        Raises:
            HookFailed: a required hook failed.
        """
        state = await self._context.store.planning_state()
        if state.is_finished:
            return None
        self._report_change(change)
        if reason := await self._check_problems(state.found.spec.text) or await self._wait_for_turn():
            return reason
        async with self._context.store.keep_lease(self._lease, self._worker.session):
            return await self._plan() or await self._check_coverage()

    @property
    def _lease(self) -> str:
        return f"plan {self._context.store.run}"

    def _report_change(self, change: SpecChange | None) -> None:
        if change is not None:
            added, removed = list_requirements(change.added), list_requirements(change.removed)
            self._context.tell(run_events.SpecificationChanged(added=added, removed=removed))

    async def _check_problems(self, text: str) -> EndReason | None:
        """Says what of the specification an agent cannot be given."""
        problems = find_problems(text)
        for problem in problems:
            message = f"the agent cannot be given all of the specification: {problem}"
            self._context.tell(run_events.WarningReported(message=message))
        if not problems or await self._is_allowed("Plan what can be given?"):
            return None
        hint = f"change the specification, for example divide it; or plan what can be given: {ALLOW_GAPS}"
        return EndReason("needs_input", f"the agent cannot be given all of the specification: {problems[0]}", hint)

    async def _wait_for_turn(self) -> EndReason | None:
        """Waits until no other machine plans."""
        is_told = False
        while not await self._context.store.take_lease(self._lease, self._worker.session):
            if reason := self._find_stop():
                return reason
            if not is_told:
                self._context.tell(run_events.WorkerWaiting(why="the tasks are being planned on another machine"))
            is_told = True
            await self._context.control.sleep(POLL_SECONDS)
        return None

    async def _plan(self) -> EndReason | None:
        """Starts planners until no step is left."""
        failures = 0
        while not (state := await self._context.store.planning_state()).is_finished and state.step is not None:
            await self._context.control.wait_to_go_on()
            if reason := self._find_stop() or find_end_reason(TaskCounts(ready=1), failures=failures):
                return reason
            failures = await self._plan_step(state, state.step, failures)
            if self._end is not None:
                return self._end
        return None

    async def _plan_step(self, state: PlanningState, step: PlanningStep, failures: int) -> int:
        """Makes an iteration that plans. Returns how many have failed in a row."""
        begun = await self._context.store.begin_planning(self._worker.session, step.key)
        choice = self._context.options.choose("plan", None)._replace(recipe=PLANNING_RECIPE)
        order = IterationOrder(
            begun.number,
            begun.goes_on,
            "plan",
            choice,
            self._context.services.terms(PLANNING_RECIPE),
            situation=RunSituation(part=describe_part(state.found, step)),
            plans=step.name,
        )
        try:
            await OutageWait(self._context, self._worker).bear(partial(iterate, self._context, self._worker, order))
        except HookFailed:
            raise
        except BinnacleError as error:
            return await self._after_failure(error, failures)
        return 0

    async def _after_failure(self, error: BinnacleError, failures: int) -> int:
        """Reports a failure of a planner and waits. Returns the number of failures."""
        worker, control = self._worker, self._context.control
        self._context.tell(run_events.WarningReported(worker=worker.number, message=error.message, hint=error.hint))
        await self._context.run_hooks("on_error", worker, error=error.message)
        if isinstance(error, AgentStart | AgentLogin | AgentLimited) and not control.is_stopped:
            self._end = EndReason("agent_failing", error.message, error.hint)
        elif not self._find_stop():
            await control.sleep(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)])
        return failures + 1

    async def _check_coverage(self) -> EndReason | None:
        """Says what no task covers, and lets the work begin if that is nothing or is allowed."""
        state = await self._context.store.planning_state()
        if state.is_finished:
            return None
        total, missing = len(state.found.spec.requirements), state.found.coverage.missing
        self._context.tell(run_events.CoverageReported(total=total, missing=list_requirements(missing)))
        if missing and not await self._is_allowed("Begin without tasks for these?"):
            if self._context.control.is_stopped:
                return self._find_stop()
            name = self._context.options.name
            hint = f"see: bn plan coverage {name}; add tasks (bn task add --covers), or continue: {ALLOW_GAPS}"
            said = f"no task covers {len(missing)} of {total} requirements: {name_some(missing)}"
            return EndReason("needs_input", said, hint)
        await self._context.store.finish_planning()
        return None

    async def _is_allowed(self, question: str) -> bool:
        """Whether the run continues with gaps: as its options say, or as a person answers."""
        if self._context.options.allows_gaps:
            return True
        if self._context.confirm is None:
            return False
        try:
            return await self._context.control.unless_stopped(self._context.confirm(question))
        except RunStopped:
            return False


def list_requirements(some: Sequence[Requirement]) -> tuple[ListedRequirement, ...]:
    """Requirements as an event names them."""
    return tuple(ListedRequirement(id=one.id, text=one.summary) for one in some)


def describe_part(found: RunCoverage, step: PlanningStep) -> PlannedPart:
    """What the prompt of a planner says about its part."""
    return PlannedPart(
        number=step.part.number,
        total=step.part.total,
        outline=outline(found.spec) if step.part.total > 1 else "",
        text=cut_part(step.part.text),
        uncovered=tuple(UncoveredRequirement(id=one.id, text=one.summary) for one in step.uncovered),
        covered=len(step.part.requirements) - len(step.uncovered),
        is_repeated=step.is_repeated,
    )
