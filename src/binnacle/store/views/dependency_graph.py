"""Parts of the dependency graph, read in bulk."""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from binnacle.store import dependencies, tasks
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader
from binnacle.work.task import Brief, Dependency, Task, brief

MAX_GRAPH_TASKS = 2000
"""Tasks that a graph shows; a larger one is of no use."""

FindEdges = Callable[[Reader, Collection[str]], Mapping[str, Sequence[Dependency]]]


class DependencyGraph(Struct, frozen=True, kw_only=True):
    """Tasks and what they wait for."""

    nodes: list[Brief]
    edges: list[tuple[str, str]]
    """A task, and one it waits for."""

    cut: bool
    """Whether there were more tasks than a graph shows."""


def load_reachable(tx: Reader, roots: Sequence[str]) -> DependencyGraph:
    """The tasks that `roots` wait for, directly or not."""
    ids, edges = _walk(tx, roots, dependencies.dependencies_of)
    return _make_graph(tx, ids, edges)


def load_around(tx: Reader, root: str, *, closed_too: bool) -> DependencyGraph:
    """A task with everything it waits for and everything that waits for it, directly or not."""
    below, waits = _walk(tx, [root], dependencies.dependencies_of)
    above, waited_for = _walk(tx, [root], dependencies.dependents_of)
    graph = _make_graph(tx, list(dict.fromkeys([*below, *above])), [*waits, *waited_for])
    return graph if closed_too else _without_closed(graph, root)


def load_graph(
    tx: Reader, *, feature: str | None = None, closed_too: bool, which: TaskFilter | None = None, linked: bool = False
) -> DependencyGraph:
    """The graph of all tasks, or of those that a filter names.

    With `linked`, only tasks that wait for another of them that is shown too, or are waited for.
    """
    which = which or TaskFilter(feature=feature, closed_too=closed_too)
    page, _ = _list_linked(tx, which) if linked else tasks.list_tasks(tx, which, limit=MAX_GRAPH_TASKS + 1)
    ids: list[str] = [task.id for task in page]
    found = dependencies.dependencies_of(tx, ids)
    inside = set(ids)
    edges: list[tuple[str, str]] = [
        (one.task_id, one.depends_on) for several in found.values() for one in several if one.depends_on in inside
    ]
    return _make_graph(tx, ids, edges)


def _list_linked(tx: Reader, which: TaskFilter) -> tuple[list[Task], int]:
    """The tasks that the filter lets through and that a dependency connects with another of them."""
    where, values = which.where()
    chosen = f"select id from task where {where}"
    rows = tx.rows(
        f"with chosen as ({chosen}), edge as (select task_id, depends_on from dependency "
        "where task_id in (select id from chosen) and depends_on in (select id from chosen)) "
        "select id from task where id in (select task_id from edge union select depends_on from edge) "
        "order by priority, number limit ?",
        *values,
        MAX_GRAPH_TASKS + 1,
    )
    known = tasks.get_many(tx, [row[0] for row in rows])
    return [known[row[0]] for row in rows], len(rows)


def _walk(tx: Reader, roots: Sequence[str], find_edges: FindEdges) -> tuple[list[str], list[tuple[str, str]]]:
    """The tasks that are reached from `roots`, and the dependencies on the way, up to more than a graph shows."""
    seen: dict[str, None] = dict.fromkeys(roots)
    edges: list[tuple[str, str]] = []
    frontier = list(roots)
    while frontier and len(seen) <= MAX_GRAPH_TASKS:
        found = [one for several in find_edges(tx, frontier).values() for one in several]
        edges += [(one.task_id, one.depends_on) for one in found]
        reached = dict.fromkeys(end for one in found for end in (one.task_id, one.depends_on))
        frontier = [task_id for task_id in reached if task_id not in seen]
        seen.update(dict.fromkeys(frontier))
    return list(seen), edges


def _make_graph(tx: Reader, ids: list[str], edges: list[tuple[str, str]]) -> DependencyGraph:
    kept = ids[:MAX_GRAPH_TASKS]
    known = tasks.get_many(tx, kept)
    return DependencyGraph(
        nodes=[brief(known[task_id]) for task_id in kept],
        edges=[edge for edge in dict.fromkeys(edges) if edge[0] in known and edge[1] in known],
        cut=len(ids) > MAX_GRAPH_TASKS,
    )


def _without_closed(graph: DependencyGraph, root: str) -> DependencyGraph:
    """The graph without closed tasks, except the one that was asked about."""
    nodes = [node for node in graph.nodes if node.id == root or node.status not in ("done", "cancelled")]
    there = {node.id for node in nodes}
    edges = [edge for edge in graph.edges if edge[0] in there and edge[1] in there]
    return DependencyGraph(nodes=nodes, edges=edges, cut=graph.cut)
