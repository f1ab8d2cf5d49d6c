"""What one iteration takes, counted for it, for its run, and in the store."""

import asyncio
import math
import time
from contextlib import suppress

from binnacle.errors import BinnacleError
from binnacle.runner import run_events
from binnacle.runner.budget import check_budget
from binnacle.runner.run_context import RunContext
from binnacle.store.attempts import Spending
from binnacle.work.text import clean_optional_line

SAVE_SECONDS = 10.0
"""Seconds between two notes of the time that an iteration took so far."""

SAVE_PAUSE_SECONDS = 1.0
"""Seconds between two notes of its tokens and cost, which are made when they change."""

MAX_CURRENCY_CHARACTERS = 8
ROUNDING = 1e-9
"""Costs that differ by less are the same."""


class IterationSpending:
    """Counts the time, tokens and cost of one iteration, over its interruptions.

    Agents report what their session cost so far. An iteration can have several sessions of agents: each adds to what
    those before it cost. A loaded session reports what it cost before it was interrupted, too.
    """

    def __init__(self, context: RunContext, session: str, number: int, before: Spending) -> None:
        """`before` is what it took before it was interrupted."""
        self._context = context
        self._session = session
        self._number = number
        self._before = before
        self._started_at = time.monotonic()
        self._left_out = 0.0
        self._changed = asyncio.Event()
        self._is_restart_possible = False
        """Whether the agent may count from zero, although its session was loaded."""

        self.cost_before = before.cost
        """What the other sessions of agents in this iteration cost."""

        self.tokens = before.tokens
        self.cost = before.cost
        self.currency = before.currency

    @classmethod
    async def load(cls, context: RunContext, session: str, number: int) -> "IterationSpending":
        """The spending of an iteration, as it is in the store."""
        return cls(context, session, number, await context.store.spent_in_iteration(session, number))

    @property
    def seconds(self) -> float:
        return self._before.seconds + time.monotonic() - self._started_at - self._left_out

    def leave_out(self, seconds: float) -> None:
        """Leaves out time in which the agent waited for us."""
        self._left_out += seconds

    @property
    def is_run_over_budget(self) -> bool:
        """Whether the run has used up its budget."""
        spent = self._context.spent
        return check_budget(self._context.options.budget, spent, iterations_too=False) is not None

    def begin(self, *, loaded_after: float | None) -> None:
        """Notes that a session of an agent has begun; `loaded_after` is its `cost_before` if it is a loaded one."""
        self.cost_before = self.cost if loaded_after is None else min(loaded_after, self.cost)
        self._is_restart_possible = loaded_after is not None

    def add_tokens(self, tokens: int) -> None:
        """Counts the tokens of a turn."""
        self.tokens += tokens
        self._context.spent.tokens += tokens
        self._changed.set()

    def set_cost(self, amount: float, currency: str) -> None:
        """Counts what the agent's session cost so far."""
        if not math.isfinite(amount):
            return
        if self._is_restart_possible and amount > 0:
            self._is_restart_possible = False
            if amount < self.cost - self.cost_before - ROUNDING:
                self.cost_before = self.cost
        total = max(self.cost, self.cost_before + amount)
        self._context.spent.cost += total - self.cost
        self.cost, self.currency = total, clean_optional_line(currency[:MAX_CURRENCY_CHARACTERS], what="currency")
        self._changed.set()

    def as_event(self, worker: int) -> run_events.CostReported:
        """What the run took so far, as an event."""
        spent = self._context.spent
        return run_events.CostReported(worker=worker, tokens=spent.tokens, cost=spent.cost)

    async def save(self) -> None:
        """Notes it in the store."""
        spent = Spending(seconds=self.seconds, tokens=self.tokens, cost=self.cost, currency=self.currency)
        await self._context.store.note_spending(self._session, self._number, spent)

    async def keep_saved(self) -> None:
        """Notes what changes, until it is cancelled. So a killed run forgets at most the last seconds."""
        while True:
            with suppress(TimeoutError):
                # Not wait_for: in Python 3.11 it can lose a cancellation that comes with the event.
                async with asyncio.timeout(SAVE_SECONDS):
                    await self._changed.wait()
            self._changed.clear()
            # The next round tries again; a store that stays away fails the agent's calls.
            with suppress(BinnacleError):
                await self.save()
            await asyncio.sleep(SAVE_PAUSE_SECONDS)
