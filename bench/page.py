"""`docs/performance.md` and its chart, made from the published results and from nothing else.

    python -m bench.page        writes both again from bench/results.json

`make bench` does this at its end, and a test compares: page and chart always belong to the results.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from bench import chart
from bench.report import PUBLISHED

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")

INTRODUCTION = """\
# Performance

Written by `make bench` from [`bench/results.json`](../bench/results.json); do not edit it. The benchmarks are in
[`bench/`](../bench/): every program does the same work on the same machine, and contestants take turns, so that what
else the machine does falls on all of them alike.

**Read the ratios.** They are taken round by round between programs that ran side by side, so they hold on other
machines, too. The times next to them belong to the machine below. A value is the median of the rounds; in brackets is
where the middle half of them lies.

*Peers* are other people's programs that do the same. A *floor* is the least that the work can cost: a Python that does
nothing, or the same SQL statements run by the bare `sqlite3` module on a copy of the same store. A *budget* is what we
hold ourselves to; missing one is a defect, but no test fails by it, because a machine may be busy."""

Row = Mapping[str, Any]


def files() -> dict[str, str]:
    """The page and its chart, by file name."""
    with open(PUBLISHED, encoding="utf-8") as file:
        found = json.load(file)
    return {"performance.md": render(found), "performance.svg": chart.draw(found["results"])}


def write() -> list[str]:
    """Writes both and returns where."""
    for name, text in files().items():
        with open(os.path.join(DOCS, name), "w", encoding="utf-8") as file:
            file.write(text)
    return [os.path.join("docs", name) for name in files()]


def render(found: Mapping[str, Any]) -> str:
    """The page of a run."""
    rows: Sequence[Row] = found["results"]
    parts = [
        INTRODUCTION,
        "![Medians with the spread of the rounds](performance.svg)",
        f"## Machine and versions\n\n{_facts(found)}",
        f"## Budgets\n\n{_budgets(rows)}",
    ]
    parts += [f"> {failure}" for failure in found["failures"]]
    for group in dict.fromkeys(row["group"] for row in rows):
        parts.append(f"## {group[0].upper()}{group[1:]}\n\n{_table([row for row in rows if row['group'] == group])}")
    return "\n\n".join(parts) + "\n"


def _facts(found: Mapping[str, Any]) -> str:
    later = {f"{', '.join(one['groups'])} measured": _run(one) for one in found.get("later", ())}
    facts = {"measured": _run(found), **later, **found["machine"], **found["versions"]}
    return "\n".join(("| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items())))


def _run(one: Mapping[str, Any]) -> str:
    load = f", with a load of {one['load']} at the start" if "load" in one else ""
    return f"{one['at']}, commit `{one['commit']}`, in {one['seconds'] / 60:.0f} minutes{load}"


def _budgets(rows: Sequence[Row]) -> str:
    held = [row for row in rows if "budget" in row]
    missed = sum(not row["met"] for row in held)
    lines = [
        f"{len(held) - missed} of {len(held)} are met.",
        "",
        "| what | measured | against | budget | |",
        "|---|---:|---|---|---|",
    ]
    for row in held:
        measured = _ratio(row) if row["budget"].endswith("×") else _value(row)
        verdict = "met" if row["met"] else "**missed**"
        name = f"{row['group']}: {row['name']}"
        lines.append(f"| {_cell(name)} | {measured} | {_cell(row.get('of', ''))} | {row['budget']} | {verdict} |")
    return "\n".join(lines)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| | median | ratio | of |", "|---|---:|---:|---|"]
    for row in rows:
        note = f"<br>{_cell(row['note'])}" if "note" in row else ""
        lines.append(f"| {_cell(row['name'])}{note} | {_value(row)} | {_ratio(row)} | {_cell(row.get('of', ''))} |")
    return "\n".join(lines)


def _value(row: Row) -> str:
    if "value" not in row:
        return ""
    return f"{chart.number(row['value'])} {row['unit']}{_spread(row.get('spread'))}"


def _ratio(row: Row) -> str:
    return f"{chart.number(row['ratio'])}×{_spread(row.get('ratio_spread'))}" if "ratio" in row else ""


def _spread(spread: Sequence[float] | None) -> str:
    return f" ({chart.number(spread[0])}–{chart.number(spread[1])})" if spread else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    print("\n".join(write()))
