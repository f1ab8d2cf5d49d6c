"""Results: a table for people, JSON for the next run to compare with and for `docs/performance.md`."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from bench.measure import Taken, quartiles

FOLDER = os.path.join(os.path.dirname(__file__), "results")

PUBLISHED = os.path.join(os.path.dirname(__file__), "results.json")
"""The results of the run that `docs/performance.md` shows."""

NOTICEABLE = 1.4
"""A change by this factor is pointed out. On a busy machine two runs differ by up to 1.1, PostgreSQL by up to 1.35."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One line of the table."""

    group: str
    name: str
    value: float | None = None
    """The median of several rounds."""

    spread: tuple[float, float] | None = None
    """Between which two values the middle half of the rounds lies."""

    unit: str = "ms"
    pace: float | None = None
    """A time as a multiple of the yardstick's, which a busier or slower machine changes little."""

    ratio: float | None = None
    ratio_spread: tuple[float, float] | None = None
    of: str = ""
    """What the ratio is taken against, in the same rounds: a peer, a floor, or fewer tasks."""

    budget: str = ""
    met: bool | None = None
    """Whether the budget is kept; None where there is none."""

    note: str = ""


def timed(
    group: str, name: str, taken: Taken, reference: Taken | None = None, *, of: str = "", limit: float | None = None
) -> Result:
    """The median of what was taken, and its ratio to the reference, which may be at most `limit`."""
    spread = quartiles(taken.times)
    result = Result(group=group, name=name, value=median(taken.times), spread=spread, pace=median(taken.paces))
    if reference is None:
        return result
    ratios = taken.ratios(reference)
    factor = median(ratios)
    budget, met = (f"≤ {limit:.3g}×", factor <= limit) if limit else ("", None)
    return replace(result, ratio=factor, ratio_spread=quartiles(ratios), of=of, budget=budget, met=met)


def throughput(
    group: str, name: str, taken: Taken, reference: Taken | None = None, *, of: str = "", least: float | None = None
) -> Result:
    """Calls in a second, from what one took, and how many times the reference's they are: at least `least`."""
    rates = [1000 / one for one in taken.times]
    pace, spread = median(taken.paces), quartiles(rates)
    result = Result(group=group, name=name, value=median(rates), spread=spread, unit="calls/s", pace=pace)
    if reference is None:
        return result
    ratios = [1 / one for one in taken.ratios(reference)]
    factor = median(ratios)
    budget, met = (f"≥ {least:g}×", factor >= least) if least else ("", None)
    return replace(result, ratio=factor, ratio_spread=quartiles(ratios), of=of, budget=budget, met=met)


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


def write(results: Sequence[Result], facts: Mapping[str, Any], failures: Sequence[str], *, is_published: bool) -> str:
    """Writes the results into a file of their own, or where the documentation finds them, and returns its path."""
    path = PUBLISHED if is_published else os.path.join(FOLDER, time.strftime("%Y-%m-%dT%H%M%SZ.json", time.gmtime()))
    content = {"at": _now(), **facts, "failures": [one.splitlines()[0] for one in failures]}
    _write(path, content, [_compact(asdict(result)) for result in results])
    return path


def add(results: Sequence[Result], facts: Mapping[str, Any], failures: Sequence[str], *, groups: Sequence[str]) -> str:
    """Puts some groups into the published results, in place of what was there of them, and returns the path."""
    with open(PUBLISHED, encoding="utf-8") as file:
        found = json.load(file)
    rows = [_compact(asdict(result)) for result in results]
    kept = [row for row in found.pop("results") if row["group"] not in {one["group"] for one in rows}]
    still = [one for one in found["failures"] if one.partition(" ")[0] not in groups]
    found["failures"] = [*still, *(one.splitlines()[0] for one in failures)]
    load = {"load": facts["machine"]["load at the start"]}
    part = {"groups": list(groups), "at": _now(), "commit": facts["commit"], "seconds": facts["seconds"], **load}
    for name, version in facts["versions"].items():
        found["versions"].setdefault(name, version)  # what only these groups use
    found["later"] = [one for one in found.get("later", []) if one["groups"] != list(groups)] + [part]
    _write(PUBLISHED, found, kept + rows)
    return PUBLISHED


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def _write(path: str, content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    head = json.dumps(content, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{head},\n "results": [\n{lines}\n ]\n}}\n')


def _compact(row: dict[str, Any]) -> dict[str, Any]:
    """A result without what it does not say, and without digits that the next run changes."""
    return {key: _rounded(value) for key, value in row.items() if value not in (None, "")}


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


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
