"""Changes that share one commit: each can fail alone, and none is lost unless all are."""

import contextlib

import pytest

from binnacle.errors import Duplicate, StoreError
from binnacle.store import events, tasks
from binnacle.work.task import NewTask
from store.verbs import AGENT, ANN, contents


def add(store, *titles, by=ANN):
    with store.write(by=by) as tx:
        return tasks.add(tx, [NewTask(title=title) for title in titles])


def titles(store):
    with store.read() as tx:
        return [task.title for task in tasks.list_ready(tx, limit=100)[0]]


def test_changes_of_a_group_last_once_it_is_committed(place):
    store, other = place.open(), place.open()
    store.begin_group()
    add(store, "one")
    add(store, "two", by=AGENT)
    assert titles(other) == []
    store.commit_group()
    assert titles(other) == ["one", "two"]
    with other.read() as tx:
        assert [(event.actor, event.action) for event in events.list_events(tx, limit=9)] == [
            (ANN.name, "added"),
            (AGENT.name, "added"),
        ]


@pytest.mark.parametrize("place_of_failure", [0, 1, 2])
def test_a_change_that_fails_undoes_only_itself(store, place_of_failure):
    add(store, "taken")
    store.begin_group()
    for number in range(3):
        if number == place_of_failure:
            with pytest.raises(Duplicate):
                add(store, "new", "taken")
        else:
            add(store, f"good {number}")
    store.commit_group()
    assert titles(store) == ["taken", *(f"good {number}" for number in range(3) if number != place_of_failure)]


def test_after_a_group_every_change_commits_by_itself_again(place):
    store, other = place.open(), place.open()
    store.begin_group()
    add(store, "one")
    store.commit_group()
    add(store, "two")
    assert titles(other) == ["one", "two"]


def test_closing_in_the_middle_of_a_group_leaves_nothing_of_it(place):
    store, other = place.open(), place.open()
    store.begin_group()
    add(store, "one")
    store.close()
    assert titles(other) == []


def test_when_the_engine_undoes_everything_every_change_of_the_group_hears_of_it(store):
    add(store, "before")
    known = contents(store)
    store.begin_group()
    add(store, "one")
    with contextlib.suppress(StoreError), store.write(by=ANN):
        store._connection.rollback()  # as an engine does of its own accord on an input/output error
        raise StoreError("the disk has failed")
    with pytest.raises(StoreError, match="nothing was changed"):
        add(store, "two")
    with pytest.raises(StoreError, match="nothing was changed"):
        store.commit_group()
    assert contents(store) == known
    add(store, "after")
    assert titles(store) == ["before", "after"]
