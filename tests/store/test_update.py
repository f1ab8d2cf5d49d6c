"""What is said about a task is changed, and tasks nobody refers to are deleted."""

from datetime import timedelta

import pytest

from binnacle.errors import Claimed, Duplicate, InvalidInput, NotFound, Referenced, Refused
from binnacle.store import comments, dependencies, features, learnings, task_deletion, task_moves, tasks
from places import NOW
from store.verbs import AGENT, OTHER, actions, again, contents, do, put, rows, see

LATER = NOW + timedelta(hours=1)


def test_an_update_changes_what_it_names(store):
    do(store, features.add, "login", {})
    task = put(store, "old", tags=("ui",), description="same")
    changed = do(store, tasks.update, task.id, {"title": "new", "priority": 0, "feature": "login"}, now=LATER)
    assert (changed.title, changed.priority, changed.feature) == ("new", 0, "login")
    assert (changed.tags, changed.description, changed.created_at) == (("ui",), "same", NOW)
    assert changed.updated_at == LATER
    assert again(store, task) == changed


def test_the_event_tells_the_old_and_the_new(store):
    task = put(store, "old")
    do(store, tasks.update, task.id, {"title": "new", "description": ""})
    (changes,) = rows(store, "select changes from event where action = 'updated'")
    assert changes == ('{"title":["old","new"]}',)


def test_nothing_to_change_is_no_error_and_no_event(store):
    task = put(store, "same")
    assert do(store, tasks.update, task.id, {"title": " same ", "priority": 2}, now=LATER) == task
    assert actions(store, task.id) == ["added"]


def test_an_update_does_not_take_the_title_of_another(store):
    put(store, "taken")
    task = put(store, "mine")
    before = contents(store)
    with pytest.raises(Duplicate):
        do(store, tasks.update, task.id, {"title": "TAKEN", "priority": 0})
    assert contents(store) == before


def test_a_title_may_change_its_case(store):
    task = put(store, "mend it")
    assert do(store, tasks.update, task.id, {"title": "Mend it"}).title == "Mend it"


def test_the_freed_title_can_be_used(store):
    task = put(store, "old")
    do(store, tasks.update, task.id, {"title": "new"})
    assert put(store, "old").title == "old"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"feature": "nowhere"}, NotFound),
        ({"discipline": "nobody"}, NotFound),
        ({"parent": "bn-00000"}, NotFound),
        ({"status": "done"}, InvalidInput),
        ({"titel": "x"}, InvalidInput),
        ({"title": ""}, InvalidInput),
        ({"priority": 9}, InvalidInput),
        ({"title": 3}, InvalidInput),
    ],
)
def test_a_wrong_change_leaves_the_store_as_it_was(store, changes, error):
    task = put(store)
    before = contents(store)
    with pytest.raises(error) as caught:
        do(store, tasks.update, task.id, {"description": "new", **changes})
    assert caught.value.hint
    assert contents(store) == before


def test_a_task_is_not_its_own_ancestor(store):
    a = put(store)
    b = put(store, parent=a.id)
    c = put(store, parent=b.id)
    for parent in (a, b, c):
        with pytest.raises(Refused, match="would be its own ancestor"):
            do(store, tasks.update, a.id, {"parent": parent.id})
    assert do(store, tasks.update, c.id, {"parent": a.id}).parent == a.id


def test_a_parent_is_named_by_a_prefix(store):
    parent, task = put(store), put(store)
    assert do(store, tasks.update, task.id, {"parent": parent.id[3:]}).parent == parent.id


def test_an_agent_does_not_change_what_another_holds_unless_forced(store):
    task = put(store)
    do(store, task_moves.start, task.id, by=AGENT)
    with pytest.raises(Claimed):
        do(store, tasks.update, task.id, {"priority": 0}, by=OTHER)
    assert do(store, tasks.update, task.id, {"priority": 0}, by=OTHER, force=True).priority == 0
    assert do(store, tasks.update, task.id, {"priority": 1}, by=AGENT).priority == 1


def test_a_task_nobody_refers_to_is_deleted_with_what_belongs_to_it(store):
    target = put(store)
    task = put(store, "soon gone", depends_on=(target.id,))
    do(store, comments.add, task.id, "a remark")
    learning = do(store, learnings.add, "something found out on the way", task=task.id).learning
    assert do(store, task_deletion.delete_task, task.id).title == "soon gone"
    with pytest.raises(NotFound):
        again(store, task)
    assert rows(store, "select 1 from comment") == []
    assert rows(store, "select 1 from dependency") == []
    assert see(store, learnings.get, learning.id).task_id is None
    assert actions(store, task.id)[-1] == "deleted"


def test_a_task_that_others_wait_for_is_not_deleted(store):
    task = put(store)
    waits = put(store, depends_on=(task.id,))
    part = put(store, parent=task.id)
    before = contents(store)
    with pytest.raises(Referenced, match=f"{task.id} is still referred to by") as caught:
        do(store, task_deletion.delete_task, task.id)
    assert sorted(caught.value.details["referrers"]) == sorted([waits.id, part.id])
    assert "bn task skip" in caught.value.hint
    assert contents(store) == before


def test_a_task_is_deleted_once_nothing_refers_to_it(store):
    task = put(store)
    waits = put(store, depends_on=(task.id,))
    do(store, dependencies.remove, waits.id, task.id)
    do(store, task_deletion.delete_task, task.id)
    assert see(store, tasks.get_many, [task.id]) == {}


def test_an_agent_does_not_delete_what_another_holds(store):
    task = put(store)
    do(store, task_moves.start, task.id, by=AGENT)
    with pytest.raises(Claimed):
        do(store, task_deletion.delete_task, task.id, by=OTHER)
