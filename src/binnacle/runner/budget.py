"""What a run may cost."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from binnacle.errors import InvalidInput, did_you_mean
from binnacle.runner.end_rules import EndReason

BUDGET_KINDS = ("iterations", "minutes", "tokens", "cost")


class RunBudget(Struct, frozen=True, kw_only=True):
    """The most that a run may take of each; None for no limit."""

    iterations: float | None = None
    minutes: float | None = None
    tokens: float | None = None
    cost: float | None = None
    """In the agent's currency."""

    @property
    def limits(self) -> dict[str, float]:
        """The limits that there are, by kind."""
        return {kind: limit for kind in BUDGET_KINDS if (limit := getattr(self, kind)) is not None}


class RunSpending(Struct, kw_only=True):
    """What a run has used so far."""

    iterations: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0
    iterations_before: int = 0
    """How many of them before it was resumed."""

    seconds_before: float = 0.0
    default_iterations: int | None = None
    """The most iterations of a run whose budget does not say."""


def parse_budget(words: Iterable[str]) -> RunBudget:
    """A budget from words such as `minutes=30`.

    Raises:
        InvalidInput: a word is not of that form.
    """
    budget = RunBudget()
    for word in words:
        kind, _, amount = word.partition("=")
        if kind not in BUDGET_KINDS:
            hint = did_you_mean(kind, list(BUDGET_KINDS))
            raise InvalidInput(f"not a budget: {word!r}", hint=hint)
        budget = replace(budget, **{kind: _positive(word, amount)})
    return budget


def _positive(word: str, amount: str) -> float:
    digits = amount.lower().removesuffix("k")
    try:
        number = float(digits) * (1 if digits == amount.lower() else 1000)
    except ValueError:
        number = 0
    if not 0 < number < 1e12:
        raise InvalidInput(f"not a budget: {word!r}", hint="a number above 0, as in tokens=500k")
    return number


def seconds_left(budget: RunBudget, spent: RunSpending) -> float | None:
    """How much longer the run may take."""
    return None if budget.minutes is None else max(0.0, budget.minutes * 60 - spent.seconds)


def check_budget(budget: RunBudget, spent: RunSpending, *, iterations_too: bool = True) -> EndReason | None:
    """The end of a run that has used up its budget. An iteration under way does not end because they are used up."""
    used: dict[str, Any] = {
        "iterations": spent.iterations,
        "minutes": spent.seconds / 60,
        "tokens": spent.tokens,
        "cost": spent.cost,
    }
    for kind in BUDGET_KINDS:
        limit = getattr(budget, kind)
        if limit is not None and used[kind] >= limit and (iterations_too or kind != "iterations"):
            hint = f"raise it with: bn run --resume --budget {kind}=N"
            return EndReason("budget", f"{limit:g} {kind} are used up", hint)
    most = spent.default_iterations
    if iterations_too and budget.iterations is None and most is not None and spent.iterations >= most:
        said = f"{most} iterations are used up, which should have been enough for its tasks"
        return EndReason("budget", said, "see what they led to with: bn session show; go on with: bn run --resume")
    return None
