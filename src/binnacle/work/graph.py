"""Finds cycles in the graph of dependencies between tasks."""

from collections.abc import Callable, Collection, Mapping, Sequence

Edges = Callable[[Collection[str]], Mapping[str, Sequence[str]]]
"""The dependencies of each of some tasks. Called once per level, so that a database can answer in bulk."""


def find_path(start: str, goal: str, edges: Edges) -> list[str] | None:
    """The shortest path from `start` to `goal` along dependencies, including both."""
    came_from: dict[str, str] = {}
    frontier = [start]
    seen = {start}
    while frontier:
        reached: list[str] = []
        for node, targets in edges(frontier).items():
            for target in targets:
                if target in seen:
                    continue
                seen.add(target)
                came_from[target] = node
                reached.append(target)
        if goal in seen:
            break
        frontier = reached
    if goal not in seen:
        return None
    path = [goal]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def find_cycle(task: str, depends_on: str, edges: Edges) -> list[str] | None:
    """The cycle that a dependency of `task` on `depends_on` would close, from `task` to `task`."""
    path = find_path(depends_on, task, edges)
    return [task, *path] if path is not None else None
