"""Dependency graphs drawn: a tree for the terminal, Mermaid and DOT for pages."""

from collections.abc import Sequence

from binnacle.cli.screen import STATUS_MARKS, Screen
from binnacle.work.task import Brief

Edges = Sequence[tuple[str, str]]

MAX_TREE_DEPTH = 20
"""Levels shown on the terminal."""


def print_tree(nodes: Sequence[Brief], edges: Edges, roots: Sequence[str], screen: Screen) -> None:
    """Prints each root with what it waits for beneath it. What was shown above is only named again."""
    known: dict[str, Brief] = {node.id: node for node in nodes}
    targets: dict[str, list[str]] = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    shown: set[str] = set()

    def walk(task_id: str, lead: str, branch: str, depth: int) -> None:
        node = known[task_id]
        again = task_id in shown and targets.get(task_id)
        mark = screen.styled(STATUS_MARKS[node.status][0], STATUS_MARKS[node.status][1])
        text = f"{lead}{branch}{mark} {task_id} {node.title[: screen.width]} ({node.status}){' …' if again else ''}"
        screen.line(text)
        shown.add(task_id)
        if again or depth >= MAX_TREE_DEPTH:
            return
        below = targets.get(task_id, [])
        deeper = lead + {"": "", "├── ": "│   ", "└── ": "    "}[branch]
        for index, target in enumerate(below):
            walk(target, deeper, "└── " if index == len(below) - 1 else "├── ", depth + 1)

    for root in roots:
        walk(root, "", "", 0)


def mermaid(nodes: Sequence[Brief], edges: Edges) -> str:
    """The graph in Mermaid; an arrow points from what comes first to what waits for it."""
    lines = ["graph LR"]
    lines += [f'  {_key(node.id)}["{node.id}: {_escaped(node.title)}"]:::{node.status}' for node in nodes]
    lines += [f"  {_key(target)} --> {_key(source)}" for source, target in edges]
    lines += ["  classDef done fill:#d4edda", "  classDef in_progress fill:#cce5ff", "  classDef blocked fill:#f8d7da"]
    return "\n".join(lines)


def dot(nodes: Sequence[Brief], edges: Edges) -> str:
    """The graph in Graphviz' language; arrows as in `mermaid`."""
    fills = {"done": "palegreen", "in_progress": "lightblue", "blocked": "mistyrose", "cancelled": "lightgrey"}
    lines = ["digraph tasks {", "  rankdir=LR; node [shape=box, style=filled];"]
    for node in nodes:
        title = node.title.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  "{node.id}" [label="{node.id}\\n{title}", fillcolor={fills.get(node.status, "white")}];')
    lines += [f'  "{target}" -> "{source}";' for source, target in edges]
    return "\n".join([*lines, "}"])


def _key(task_id: str) -> str:
    return task_id.replace("-", "_")


def _escaped(title: str) -> str:
    """Mermaid reads HTML entities in labels, so everything that could end one is written as such."""
    return "".join(c if c.isalnum() or c in " .,:/_-+!?" else f"#{ord(c)};" for c in title)
