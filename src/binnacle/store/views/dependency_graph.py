"""Parts of the dependency graph, read in bulk."""

from collections.abc import Sequence

from msgspec import Struct

from binnacle.store import dependencies, tasks
from binnacle.store.transaction import Reader
from binnacle.work.task import Brief, brief

MAX_GRAPH_TASKS = 2000
"""Tasks that a graph shows; a larger one is of no use."""


class DependencyGraph(Struct, frozen=True, kw_only=True):
    """Tasks and what they wait for."""

    nodes: list[Brief]
    edges: list[tuple[str, str]]
    """A task, and one it waits for."""

    cut: bool
    """Whether there were more tasks than a graph shows."""


def load_reachable(tx: Reader, roots: Sequence[str]) -> DependencyGraph:
    """The tasks that `roots` wait for, directly or not."""
    seen: dict[str, None] = dict.fromkeys(roots)
    edges: list[tuple[str, str]] = []
    frontier = list(roots)
    while frontier and len(seen) <= MAX_GRAPH_TASKS:
        found = dependencies.dependencies_of(tx, frontier)
        edges += [(one.task_id, one.depends_on) for several in found.values() for one in several]
        frontier = [on for _, on in edges if on not in seen]
        frontier = list(dict.fromkeys(frontier))
        seen.update(dict.fromkeys(frontier))
    return _make_graph(tx, list(seen), edges)


def load_graph(tx: Reader, *, feature: str | None, closed_too: bool) -> DependencyGraph:
    """The graph of all tasks, or of one feature's."""
    which = tasks.TaskFilter(feature=feature, closed_too=closed_too)
    page, _ = tasks.list_tasks(tx, which, limit=MAX_GRAPH_TASKS + 1)
    ids: list[str] = [task.id for task in page]
    found = dependencies.dependencies_of(tx, ids)
    inside = set(ids)
    edges: list[tuple[str, str]] = [
        (one.task_id, one.depends_on) for several in found.values() for one in several if one.depends_on in inside
    ]
    return _make_graph(tx, ids, edges)


def _make_graph(tx: Reader, ids: list[str], edges: list[tuple[str, str]]) -> DependencyGraph:
    kept = ids[:MAX_GRAPH_TASKS]
    known = tasks.get_many(tx, kept)
    return DependencyGraph(
        nodes=[brief(known[task_id]) for task_id in kept],
        edges=[edge for edge in dict.fromkeys(edges) if edge[0] in known and edge[1] in known],
        cut=len(ids) > MAX_GRAPH_TASKS,
    )
