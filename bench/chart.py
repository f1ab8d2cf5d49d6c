"""The chart of `docs/performance.md`: bars as plain SVG, which every code host shows, and no script."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

WIDTH, LABELS, VALUES = 860, 250, 150
"""Of the picture, and of it what the names left of the bars and the values right of them take, in pixels."""

BAR, GAP, TITLE = 16, 7, 30
"""Heights in pixels."""

OURS, OTHERS, INK = "#2f6fb0", "#b9c3cd", "#24292f"

Row = Mapping[str, Any]


class Panel(NamedTuple):
    """Bars that belong on one scale."""

    title: str
    group: str
    bars: dict[str, str]
    """Name of a result in the group → how the bar is labelled."""


def _calls(transport: str, mode: str, tool: str) -> Panel:
    names = {"FastMCP, echo, throughput": "FastMCP, echo", f"bn, {tool}, throughput": f"bn, {tool}"}
    return Panel(f"Calls a second on {transport}, {mode}: more is better", f"calls on {transport}, {mode}", names)


def _gateway(front: str, behind: str, *peers: str) -> Panel:
    group = f"gateway, {front} to one server on {behind}, one at a time"
    bars = {f"{name}, added to p50": name for name in (*peers, "bn")}
    return Panel(f"What a gateway adds to a call, {front} to {behind}", group, bars)


PANELS = (
    Panel(
        "A command",
        "cold start",
        {
            "python -c pass": "python -c pass (floor)",
            "bn --version": "bn --version",
            "bn ready, 1 000 tasks, from a wheel": "bn ready, from a wheel",
            "bn ready, 1 000 tasks, from a checkout": "bn ready, from a checkout",
        },
    ),
    Panel(
        "A server, from its start to the first list of tools",
        "start to first tools/list",
        {"official SDK": "official SDK, one tool", "FastMCP": "FastMCP, one tool", "bn mcp serve": "bn, all tools"},
    ),
    _calls("stdio", "16 at once", "task_get"),
    Panel(
        "Adding a task on stdio, 16 at once",
        "calls on stdio, 16 at once",
        {
            "the same statements by sqlite3, of task_add, each": "the statements by sqlite3 (floor)",
            "bn, task_add, each": "bn, task_add",
        },
    ),
    _gateway("stdio", "stdio", "FastMCP"),
    _gateway("HTTP", "stdio", "FastMCP", "mcp-proxy", "mcp-hub"),
    Panel(
        "Evaluating an expression in a program that stands",
        "debug, evaluate",
        {"mcp-debugger": "mcp-debugger", "bn": "bn"},
    ),
    Panel(
        "The tasks that are ready, of 1 000",
        "peers",
        {
            "ready, 1 000 tasks, Task Master": "Task Master",
            "ready, 1 000 tasks, Backlog.md": "Backlog.md",
            "ready, 1 000 tasks, bn": "bn",
        },
    ),
    Panel(
        "The board in a browser: the first card of 10 000 tasks",
        "page, first card",
        {
            "10 000 tasks, Cline's board": "Cline's board",
            "10 000 tasks, Backlog.md": "Backlog.md",
            "10 000 tasks, bn": "bn gui",
        },
    ),
    Panel(
        "Taking the next task, SQLite",
        "store",
        {
            "next --claim, sqlite, 1 000 tasks": "bn, of 1 000 tasks",
            "next --claim, sqlite, 10 000 tasks": "bn, of 10 000 tasks",
            "next --claim, sqlite, 100 000 tasks": "bn, of 100 000 tasks",
        },
    ),
)


def draw(rows: Sequence[Row]) -> str:
    """The picture of a run. What was not measured is left out."""
    found = {(row["group"], row["name"]): row for row in rows if "value" in row}
    parts: list[str] = []
    y = 8
    for panel in PANELS:
        shown = {label: found[key] for name, label in panel.bars.items() if (key := (panel.group, name)) in found}
        if shown:
            parts.append(_panel(panel.title, shown, y))
            y += TITLE + len(shown) * (BAR + GAP) + 10
    style = f"font: 13px sans-serif; fill: {INK}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}">'
    ground = f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>'
    return "\n".join((head, ground, f'<g style="{style}">', *parts, "</g>", "</svg>")) + "\n"


def _panel(title: str, shown: Mapping[str, Row], top: int) -> str:
    largest = max(max(row["value"], *row.get("spread", ())) for row in shown.values())
    scale = (WIDTH - LABELS - VALUES) / largest
    lines = [f'<text x="12" y="{top + 18}" font-weight="bold">{escape(title)}</text>']
    for index, (label, row) in enumerate(shown.items()):
        lines.append(_bar(label, row, top + TITLE + index * (BAR + GAP), scale))
    return "\n".join(lines)


def _bar(label: str, row: Row, y: int, scale: float) -> str:
    length = max(row["value"] * scale, 1.0)
    colour = OURS if label.startswith("bn") else OTHERS
    low, high = row.get("spread", (row["value"], row["value"]))
    middle, end = y + BAR / 2, LABELS + max(length, high * scale)
    return "\n".join(
        (
            f'<text x="{LABELS - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<path d="M{LABELS + low * scale:.1f} {middle}H{LABELS + high * scale:.1f}" stroke="{INK}"/>',
            f'<text x="{end + 8:.1f}" y="{y + 13}">{number(row["value"])} {row["unit"]}</text>',
        )
    )


def number(value: float) -> str:
    """Three digits, or all before the point."""
    size = abs(value)
    return f"{value:.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"
