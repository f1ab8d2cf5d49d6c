"""The graph of dependencies between tasks: cycles in it, and how much waits for each task."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

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


def count_dependents(edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """How many tasks wait for each task, directly or not. An edge is a task, and one it waits for.

    The edges have no cycle. Tasks that none waits for are left out.
    """
    waiting: dict[str, list[str]] = {}
    numbers: dict[str, int] = {}
    open_ends: dict[str, int] = {}
    for source, target in edges:
        waiting.setdefault(target, []).append(source)
        for task in (source, target):
            numbers.setdefault(task, len(numbers))
        open_ends[target] = open_ends.get(target, 0) + 1
    # A set of tasks is the bits of a number: thousands of tasks are united in one step.
    above: dict[str, int] = dict.fromkeys(numbers, 0)
    settled = [task for task in numbers if task not in open_ends]
    targets: dict[str, list[str]] = {}
    for target, sources in waiting.items():
        for source in sources:
            targets.setdefault(source, []).append(target)
    while settled:
        task = settled.pop()
        for target in targets.get(task, ()):
            above[target] |= above[task] | (1 << numbers[task])
            open_ends[target] -= 1
            if not open_ends[target]:
                settled.append(target)
    return {task: count for task, several in above.items() if (count := several.bit_count())}
