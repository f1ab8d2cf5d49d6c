"""What all workers of a run share: its options, and the services it uses."""

from collections.abc import Callable, Coroutine
from typing import NamedTuple

from binnacle.errors import HookFailed
from binnacle.processes.keeper import Keeper
from binnacle.runner import run_events
from binnacle.runner.agents.permissions import AskPermission
from binnacle.runner.budget import RunSpending
from binnacle.runner.hooks.hook_file import HookEvent
from binnacle.runner.hooks.hook_runner import HookInput, HookOutcome, HookRunner, output_for_agent
from binnacle.runner.ports import RunOptions, SessionServices, Worker
from binnacle.runner.run_control import RunControl
from binnacle.runner.run_events import Tell
from binnacle.runner.run_store import RunStore
from binnacle.runner.task_prover import TaskProver
from binnacle.work.run import Attention

Confirm = Callable[[str], Coroutine[object, object, bool]]


class RunContext(NamedTuple):
    """Everything that the parts of a run need."""

    options: RunOptions
    services: SessionServices
    store: RunStore
    hooks: HookRunner
    keeper: Keeper
    control: RunControl
    tell: Tell
    prover: TaskProver
    decide: AskPermission
    """Decides on agents' requests for permission."""

    decide_review: AskPermission
    """The same for agents that review: they have their tools and nothing else."""

    confirm: Confirm | None
    """Asks the person a question with yes or no; None if nobody is there."""

    spent: RunSpending
    pending: list[str]
    """What hooks wrote since the last prompt, for the next agent."""

    async def run_hooks(
        self,
        event: HookEvent,
        worker: Worker,
        *,
        iteration: int | None = None,
        task_id: str = "",
        task_title: str = "",
        error: str = "",
        attention: Attention | None = None,
    ) -> str:
        """Runs the hooks of an event. Returns their output for the agent.

        Raises:
            HookFailed: a required hook failed.
        """
        about = HookInput(
            run=self.options.name,
            session=worker.session,
            iteration=iteration,
            task_id=task_id,
            task_title=task_title,
            error=error,
            attention_id=attention.id if attention else "",
            attention_kind=attention.kind if attention else "",
            attention_title=attention.title if attention else "",
        )
        outcomes = await self.hooks.run(event, about, cwd=worker.cwd)
        for one in outcomes:
            self._report(worker, one)
        return output_for_agent(outcomes)

    def _report(self, worker: Worker, outcome: HookOutcome) -> None:
        hook, said = outcome.hook, "" if outcome.is_ok else outcome.description
        self.tell(
            run_events.HookRan(
                worker=worker.number, hook=hook.event, command=hook.words, is_ok=outcome.is_ok, said=said
            )
        )
        if outcome.stops:
            hint = f"fix it, or remove `required` from it in {hook.place}; then: bn run --resume"
            raise HookFailed(f"a required hook failed: {outcome.description}", hint=hint)
