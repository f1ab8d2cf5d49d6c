"""Time, tokens and cost as people read them."""

from collections.abc import Mapping

NOT_REPORTED = "not reported"
"""Stands for tokens and a cost that no agent reported: this is not the same as 0."""


def count(number: int, word: str) -> str:
    """A number of things: `1 file`, `2 files`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def describe_seconds(seconds: float) -> str:
    """A time in at most two units: `45 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    left = round(seconds)
    if left < 60:
        return f"{left} s"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    place = next(place for place, (_, size) in enumerate(units) if left >= size)
    parts = []
    for unit, size in units[place : place + 2]:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts)


def describe_tokens(tokens: int | None) -> str:
    """A number of tokens in thousands or millions: `812`, `8.1 k`, `1.2 M`."""
    if tokens is None:
        return NOT_REPORTED
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if tokens >= size:
            return f"{tokens / size:.1f} {unit}"
    return str(tokens)


def describe_cost(cost: Mapping[str, float], *, iterations: int = 0, reported: int = 0) -> str:
    """A cost by currency: `1.20 USD`. Says so if only some of the iterations `reported` one."""
    if not cost:
        return NOT_REPORTED
    said = " + ".join(f"{describe_amount(amount)} {currency}" for currency, amount in cost.items())
    return f"{said} ({reported} of {iterations} reported)" if reported < iterations else said


def describe_amount(amount: float) -> str:
    """An amount of money: two digits after the point, or four where that would be nothing."""
    return f"{amount:.2f}" if amount == 0 or amount >= 0.01 else f"{amount:.4f}"


def describe_budget(kind: str, used: float, limit: float) -> str:
    """How much of a budget is used: `cost 1.20 of 5.00`."""
    if kind == "cost":
        return f"cost {describe_amount(used)} of {describe_amount(limit)}"
    if kind == "tokens":
        return f"tokens {describe_tokens(round(used))} of {describe_tokens(round(limit))}"
    return f"{kind} {round(used, 1):g} of {limit:g}"
