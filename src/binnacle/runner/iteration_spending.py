"""What one iteration takes, counted for it, for its run, and in the store."""

import time

from binnacle.runner import run_events
from binnacle.runner.budget import check_budget
from binnacle.runner.run_context import RunContext
from binnacle.store.attempts import Spending


class IterationSpending:
    """Counts the time, tokens and cost of one iteration, over its interruptions."""

    def __init__(self, context: RunContext, session: str, number: int, before: Spending) -> None:
        """`before` is what it took before it was interrupted."""
        self._context = context
        self._session = session
        self._number = number
        self._before = before
        self._started_at = time.monotonic()
        self._cost_before = before.cost
        """What other sessions of the agent cost."""

        self.tokens = before.tokens
        self.cost = before.cost

    @classmethod
    async def load(cls, context: RunContext, session: str, number: int) -> "IterationSpending":
        """The spending of an iteration, as it is in the store."""
        return cls(context, session, number, await context.store.spent_in_iteration(session, number))

    @property
    def seconds(self) -> float:
        return self._before.seconds + time.monotonic() - self._started_at

    @property
    def is_run_over_budget(self) -> bool:
        """Whether the run has used up its budget."""
        spent = self._context.spent
        return check_budget(self._context.options.budget, spent, iterations_too=False) is not None

    def begin(self, *, was_loaded: bool) -> None:
        """Notes that an agent has begun. Agents report the cost of a session; a loaded one includes what was before."""
        self._cost_before = 0.0 if was_loaded else self.cost

    def add_tokens(self, tokens: int) -> None:
        """Counts the tokens of a turn."""
        self.tokens += tokens
        self._context.spent.tokens += tokens

    def set_cost(self, amount: float) -> None:
        """Counts what the agent's session cost so far."""
        total = max(self.cost, self._cost_before + amount)
        self._context.spent.cost += total - self.cost
        self.cost = total

    def as_event(self, worker: int) -> run_events.CostReported:
        """What the run took so far, as an event."""
        spent = self._context.spent
        return run_events.CostReported(worker=worker, tokens=spent.tokens, cost=spent.cost)

    async def save(self) -> None:
        """Notes it in the store."""
        spent = Spending(seconds=self.seconds, tokens=self.tokens, cost=self.cost)
        await self._context.store.note_spending(self._session, self._number, spent)
