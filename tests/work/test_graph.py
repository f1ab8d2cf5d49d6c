"""Circles of dependencies are found and spelled out, and what waits for a task is counted."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from binnacle.work.graph import count_dependents, find_cycle, find_path

NODES = "abcdefg"
GRAPHS = st.dictionaries(
    st.sampled_from(NODES), st.lists(st.sampled_from(NODES), unique=True, max_size=4), max_size=len(NODES)
)


def edges_of(graph):
    return lambda nodes: {node: graph[node] for node in nodes if node in graph}


def reaches(graph, start, goal) -> bool:
    """The slow way: every node reachable, by repetition until nothing is new."""
    found = {start}
    for _ in NODES:
        found |= {target for node in found for target in graph.get(node, ())}
    return goal in found


def test_a_circle_begins_and_ends_with_the_task():
    graph = {"b": ["c"], "c": ["a"]}
    assert find_cycle("a", "b", edges_of(graph)) == ["a", "b", "c", "a"]


def test_the_shortest_circle_is_told():
    graph = {"b": ["c", "d"], "c": ["e"], "e": ["a"], "d": ["a"]}
    assert find_cycle("a", "b", edges_of(graph)) == ["a", "b", "d", "a"]


def test_a_task_cannot_wait_for_itself():
    assert find_cycle("a", "a", edges_of({})) == ["a", "a"]


def test_a_circle_elsewhere_is_not_ours():
    graph = {"b": ["c"], "c": ["b"]}
    assert find_cycle("a", "b", edges_of(graph)) is None


def test_the_edges_are_asked_for_level_by_level():
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["e"]}
    asked = []

    def edges(nodes):
        asked.append(sorted(nodes))
        return edges_of(graph)(nodes)

    find_path("a", "e", edges)
    assert asked == [["a"], ["b", "c"], ["d"]]


@given(GRAPHS, st.sampled_from(NODES), st.sampled_from(NODES))
def test_a_circle_is_found_exactly_when_there_is_one(graph, task, target):
    circle = find_cycle(task, target, edges_of(graph))
    assert (circle is not None) == reaches(graph, target, task)
    if circle:
        assert circle[0] == circle[-1] == task
        assert circle[1] == target
        assert all(b in graph[a] for a, b in pairwise(circle[1:]))


@given(GRAPHS, st.sampled_from(NODES), st.sampled_from(NODES))
def test_no_path_is_shorter_than_the_one_found(graph, start, goal):
    path = find_path(start, goal, edges_of(graph))
    if path is None:
        return
    level, distance = {start}, 0
    while goal not in level:
        level, distance = {target for node in level for target in graph.get(node, ())}, distance + 1
    assert len(path) == distance + 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_all_that_waits_for_a_task_is_counted_once(pairs):
    edges = [(f"t{max(pair)}", f"t{min(pair)}") for pair in pairs if pair[0] != pair[1]]  # no circle
    edges = list(dict.fromkeys(edges))
    graph = {}
    for source, target in edges:
        graph.setdefault(source, []).append(target)
    counted = count_dependents(edges)
    for target in {end for edge in edges for end in edge}:
        waiting = [source for source in graph if source != target and find_path(source, target, edges_of(graph))]
        assert counted.get(target, 0) == len(waiting)
