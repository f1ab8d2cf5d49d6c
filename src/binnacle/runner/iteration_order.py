"""The order for one iteration: who is to do what, where, and within which limits."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from binnacle.plan.prompt_data import RunSituation
from binnacle.runner.ports import AgentChoice, Stage
from binnacle.work.session import SessionTerms


class IterationOrder(NamedTuple):
    """What one iteration is to do."""

    number: int
    goes_on: bool
    """Whether it began earlier and was interrupted."""

    stage: Stage
    choice: AgentChoice
    terms: SessionTerms
    situation: RunSituation | None = None
    task: str = ""
    within: float | None = None
    """Seconds that it may take, if its task has little time left."""

    cost_left: float | None = None
    """What it may cost, with what it cost before it was interrupted; the other attempts at its task had the rest."""

    plans: str = ""
    """Of a planner, its part, if there are several."""

    reviewer: int = 0
    """Of a reviewer, which of those of the change it is."""

    has_verdict: Callable[[], Awaitable[bool]] | None = None
    """Of a reviewer, whether it has given its verdict."""

    find_missing: Callable[[], Awaitable[str]] | None = None
    """Finds out what is missing before the task is done, once the agent calls it done; empty if nothing is."""

    @property
    def has_hooks(self) -> bool:
        """Whether the hooks of iterations run: they are about the work, which planners and reviewers do not do."""
        return self.stage not in ("plan", "review")
