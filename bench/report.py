"""Results: a table for people, JSON for the next run to compare with."""

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from bench.measure import Failed, Taken, run

FOLDER = os.path.join(os.path.dirname(__file__), "results")

NOTICEABLE = 1.4
"""A change by this factor is pointed out. On a busy machine two runs differ by up to 1.1, PostgreSQL by up to 1.35."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One line of the table."""

    group: str
    name: str
    value: float | None = None
    unit: str = "ms"
    pace: float | None = None
    """A time as a multiple of the yardstick's, which a busier or slower machine changes little."""

    ratio: float | None = None
    of: str = ""
    """What the ratio is taken against, in the same rounds."""

    budget: str = ""
    met: bool | None = None
    """Whether the budget is kept; None where there is none."""

    note: str = ""


def timed(
    group: str, name: str, taken: Taken, reference: Taken | None = None, *, of: str = "", limit: float | None = None
) -> Result:
    """The median of what was taken, and its ratio to the reference, which may be at most `limit`."""
    result = Result(group=group, name=name, value=median(taken.times), pace=median(taken.paces))
    if reference is None:
        return result
    factor = taken.ratio(reference)
    budget, met = (f"≤ {limit:.3g}×", factor <= limit) if limit else ("", None)
    return replace(result, ratio=factor, of=of, budget=budget, met=met)


def throughput(
    group: str, name: str, taken: Taken, reference: Taken | None = None, *, of: str = "", least: float | None = None
) -> Result:
    """Calls in a second, from what one took, and how many times the reference's they are: at least `least`."""
    result = Result(group=group, name=name, value=1000 / median(taken.times), unit="calls/s", pace=median(taken.paces))
    if reference is None:
        return result
    factor = 1 / taken.ratio(reference)
    budget, met = (f"≥ {least:g}×", factor >= least) if least else ("", None)
    return replace(result, ratio=factor, of=of, budget=budget, met=met)


def count(number: int) -> str:
    """`100 000 tasks` for 100000."""
    return f"{number:,} tasks".replace(",", " ")


def table(results: Sequence[Result], before: Mapping[tuple[str, str], dict[str, Any]] | None) -> str:
    """The results, a block for each group, with the change since `before`, and how the budgets stand."""
    width = max((len(result.name) for result in results), default=0)
    lines: list[str] = []
    for group in dict.fromkeys(result.group for result in results):
        lines += ["", group]
        for result in (result for result in results if result.group == group):
            change = f"  {_change(result, before.get((group, result.name), {})):<22}" if before else ""
            factor = f"{result.ratio:.2f}× of {result.of}" if result.ratio is not None else ""
            verdict = "" if result.met is None else f"budget {result.budget} {'met' if result.met else 'MISSED'}"
            line = f"  {result.name:<{width}}  {_value(result):>10}  {factor:<23}{change}  {verdict}"
            lines += [line.rstrip(), *([f"      {result.note}"] if result.note else [])]
    missed = [f"{result.group}: {result.name}" for result in results if result.met is False]
    held = sum(result.met is not None for result in results)
    lines += ["", f"budgets: {held - len(missed)} of {held} met" + "".join(f"\n  MISSED {name}" for name in missed)]
    return "\n".join(lines)


def write(results: Sequence[Result]) -> str:
    """Writes the results into a file of their own and returns its path."""
    os.makedirs(FOLDER, exist_ok=True)
    at = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime())
    content = {
        "at": at,
        "commit": _commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "results": [asdict(result) for result in results],
    }
    path = os.path.join(FOLDER, f"{at}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, ensure_ascii=False)
    return path


def _value(result: Result) -> str:
    if result.value is None:
        return ""
    return f"{result.value:.{3 if result.value < 1 else 2 if result.value < 100 else 0}f} {result.unit}"


def _change(result: Result, then: dict[str, Any]) -> str:
    """Now against then: times by their pace, everything else as it is."""
    measure = "pace" if result.pace else "value"
    now, before = getattr(result, measure), then.get(measure)
    if not now or not before:
        return ""
    return f"{now / before:.2f}× of before" + (" WORSE" if now / before > NOTICEABLE else "")


def _commit() -> str:
    try:
        return run(["git", "describe", "--always", "--dirty"], cwd=FOLDER).strip()
    except Failed:
        return "unknown"
