"""Lists of tasks: filtered, in pages, with how many there are."""

import pytest

from binnacle.store import features, task_moves, tasks
from binnacle.store.tasks import TaskFilter
from store.verbs import AGENT, do, put, see


def titles(store, *, limit=100, offset=0, **which):
    found, total = see(store, tasks.list_tasks, TaskFilter(**which), limit=limit, offset=offset)
    return [task.title for task in found], total


def test_what_is_not_closed_is_listed_most_urgent_first(store):
    put(store, "later", priority=4)
    put(store, "soon", priority=1)
    put(store, "at once", priority=0)
    put(store, "soon too", priority=1)
    put(store, "finished", status="done")
    assert titles(store) == (["at once", "soon", "soon too", "later"], 4)
    assert titles(store, closed_too=True)[1] == 5
    assert titles(store, status=("done",)) == (["finished"], 1)
    assert titles(store, status=("done", "pending"))[1] == 5


def test_pages_know_how_many_there_are_in_all(store):
    for number in range(5):
        put(store, f"step {number}")
    assert titles(store, limit=2) == (["step 0", "step 1"], 5)
    assert titles(store, limit=2, offset=4) == (["step 4"], 5)
    assert titles(store, limit=2, offset=6) == ([], 5)
    assert titles(store, limit=5)[1] == 5


def test_every_filter_restricts(store):
    do(store, features.add, "login", {})
    do(store, features.add_discipline, "backend", {})
    whole = put(store, "whole")
    put(store, "of the feature", feature="login")
    put(store, "of the discipline", discipline="backend")
    put(store, "a bug", kind="bug")
    put(store, "critical", priority=0)
    put(store, "a part", parent=whole.id)
    put(store, "tagged", tags=("ui", "ux"))
    taken = put(store, "taken")
    do(store, task_moves.start, taken.id, by=AGENT)
    assert titles(store, feature="login") == (["of the feature"], 1)
    assert titles(store, discipline="backend") == (["of the discipline"], 1)
    assert titles(store, kind="bug") == (["a bug"], 1)
    assert titles(store, priority=0) == (["critical"], 1)
    assert titles(store, parent=whole.id) == (["a part"], 1)
    assert titles(store, tag="ux") == (["tagged"], 1)
    assert titles(store, claimed_by=AGENT.name) == (["taken"], 1)
    assert titles(store, kind="bug", priority=0) == ([], 0)


@pytest.mark.parametrize("tag", ["front_end", "front-end"])
def test_a_tag_is_matched_as_a_whole_and_to_the_letter(store, tag):
    put(store, "front_end", tags=("front_end",))
    put(store, "front-end", tags=("front-end",))
    put(store, "several front-ends", tags=("front-ends",))
    assert titles(store, tag=tag) == ([tag], 1)


def test_a_tag_is_matched_in_any_case_on_both_engines(store):
    put(store, "tagged", tags=("ui",))
    assert titles(store, tag="UI") == (["tagged"], 1)


def test_a_percent_sign_is_no_wildcard(store):
    put(store, "tagged", tags=("ui",))
    assert titles(store, tag="%") == ([], 0)


def test_what_cannot_go_on_is_listed_as_blocked(store):
    first = put(store, "first", priority=0)
    put(store, "waiting", depends_on=(first.id,))
    put(store, "partial", status="partial")
    put(store, "needs input", status="needs_input")
    put(store, "draft", status="draft")
    stuck = put(store, "stuck", priority=1)
    do(store, task_moves.block, stuck.id, reason="no access")
    found, total = see(store, tasks.list_blocked, limit=10)
    assert [task.title for task in found] == ["stuck", "waiting", "partial", "needs input"]
    assert total == 4
    assert see(store, tasks.list_blocked, limit=2)[1] == 4


def test_the_parts_of_a_task_come_in_the_order_they_were_made(store):
    whole = put(store)
    for title in ("b", "a", "c"):
        put(store, title, parent=whole.id)
    assert [task.title for task in see(store, tasks.list_parts, whole.id)] == ["b", "a", "c"]
