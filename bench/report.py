"""Results: as a table for people, as JSON for the next run to compare with."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from bench.measure import ratio

FOLDER = os.path.join(os.path.dirname(__file__), "results")

NOTICEABLE = 1.25
"""A change by this factor is pointed out; below it, shared machines differ from one run to the next."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One line of the table."""

    group: str
    name: str
    value: float | None = None
    unit: str = "ms"
    ratio: float | None = None
    of: str = ""
    """What the ratio is taken against, in the same rounds."""

    budget: str = ""
    met: bool | None = None
    """Whether the budget is kept; None where there is none."""

    note: str = ""


def timed(
    group: str,
    name: str,
    taken: Sequence[float],
    reference: Sequence[float] | None = None,
    *,
    of: str = "",
    limit: float | None = None,
) -> Result:
    """The median of what was taken, and its ratio to the reference, which may be at most `limit`."""
    factor = ratio(taken, reference) if reference is not None else None
    result = Result(group=group, name=name, value=median(taken), ratio=factor, of=of)
    if factor is None or limit is None:
        return result
    return replace(result, budget=f"≤ {limit:g}×", met=factor <= limit)


def grouped_digits(number: int) -> str:
    """`100 000` for 100000."""
    return f"{number:,}".replace(",", " ")


def table(results: Sequence[Result], before: dict[str, Any] | None, *, yardstick: float) -> str:
    """The results, a block for each group, with the change since `before` in a last column."""
    then = {(row["group"], row["name"]): row for row in before["results"]} if before else {}
    scale = yardstick / before["yardstick_ms"] if before else 1.0
    lines: list[str] = []
    width = max((len(result.name) for result in results), default=0)
    for index, result in enumerate(results):
        if index == 0 or result.group != results[index - 1].group:
            lines += ["", result.group]
        cells = f"  {result.name:<{width}}  {_value(result):>11}  {_ratio(result):<26}  {_verdict(result)}"
        change = _change(result, then.get((result.group, result.name)), scale) if before else ""
        lines.append(f"{cells:<{width + 62}}  {change}".rstrip())
    return "\n".join(lines)


def summary(results: Sequence[Result]) -> str:
    """How the budgets stand, in a sentence."""
    held = [result for result in results if result.met is not None]
    missed = [f"{result.group}: {result.name}" for result in held if not result.met]
    if missed:
        return f"budgets: {len(missed)} of {len(held)} MISSED: {'; '.join(missed)}"
    return f"budgets: all {len(held)} met" if held else "budgets: none measured"


def write(results: Sequence[Result], *, yardstick: float, quick: bool) -> str:
    """Writes the results into a file of their own and returns its path."""
    os.makedirs(FOLDER, exist_ok=True)
    at = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime())
    content = {
        "at": at,
        "commit": _commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "quick": quick,
        "yardstick_ms": yardstick,
        "results": [asdict(result) for result in results],
    }
    path = os.path.join(FOLDER, f"{at}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    return path


def _value(result: Result) -> str:
    if result.value is None:
        return "–"
    return f"{result.value:.{3 if result.value < 1 else 2 if result.value < 100 else 0}f} {result.unit}"


def _ratio(result: Result) -> str:
    return f"{result.ratio:.2f}× of {result.of}" if result.ratio is not None else ""


def _verdict(result: Result) -> str:
    if result.met is None:
        return result.note
    return f"budget {result.budget} {'met' if result.met else 'MISSED'}  {result.note}".rstrip()


def _change(result: Result, then: dict[str, Any] | None, scale: float) -> str:
    """Now against then. Times are first put on the same footing by the yardstick."""
    if result.value is None or not then or not then["value"]:
        return "(new)" if result.value is not None else ""
    factor = result.value / then["value"] / (scale if result.unit == "ms" else 1)
    word = " WORSE" if factor > NOTICEABLE else " better" if factor < 1 / NOTICEABLE else ""
    return f"{factor:.2f}× of before{word}"


def _commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False, cwd=FOLDER
    )
    return found.stdout.strip()
