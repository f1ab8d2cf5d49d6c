"""Tasks are found by their id, by the beginning of it, and nearly by a wrong one."""

import pytest

from binnacle.errors import Ambiguous, InvalidInput, NotFound
from binnacle.store import tasks
from store.verbs import ANN, put, see


def with_ids(store, *ids):
    """Tasks that have just these ids."""
    for task_id in ids:
        task = put(store, f"the task {task_id}")
        with store.write(by=ANN) as tx:
            tx.run("update task set id = ? where id = ?", task_id, task.id)


@pytest.mark.parametrize("text", ["bn-1f3a", "1F3A", " bn-1f3 ", "1f3"])
def test_a_task_is_found_by_a_prefix_of_its_id(store, text):
    with_ids(store, "bn-1f3a", "bn-2f3a")
    assert see(store, tasks.resolve, text) == "bn-1f3a"


def test_a_whole_id_wins_over_longer_ones(store):
    with_ids(store, "bn-1f3a1", "bn-1f3a2", "bn-1f3a")
    assert see(store, tasks.resolve, "1f3a") == "bn-1f3a"


def test_a_whole_id_wins_however_many_begin_with_it(store):
    with_ids(store, *(f"bn-1f3a{digit:x}" for digit in range(16)), "bn-1f3a")
    # The engine now knows how few rows there are, and may read them in the order they were written.
    with store.write(by=ANN) as tx:
        tx.run("analyze task")
    assert see(store, tasks.resolve, "1f3a") == "bn-1f3a"


def test_several_that_begin_alike_are_told(store):
    with_ids(store, "bn-1f3a", "bn-1f3b", "bn-2f3a")
    with pytest.raises(Ambiguous, match="several tasks begin with 'bn-1f3'") as caught:
        see(store, tasks.resolve, "1f3")
    assert "bn-1f3a" in caught.value.hint
    assert "bn-1f3b" in caught.value.hint
    assert "bn-2f3a" not in caught.value.hint


def test_the_last_hex_digit_is_within_the_prefix(store):
    with_ids(store, "bn-1f3f")
    assert see(store, tasks.resolve, "1f3") == "bn-1f3f"


@pytest.mark.parametrize("text", ["bn-1f3b", "1fa3", "f13a", "1f3aa", "1e3a", "11f3a"])
def test_a_typing_slip_gets_the_nearest_task(store, text):
    with_ids(store, "bn-1f3a", "bn-9999")
    with pytest.raises(NotFound) as caught:
        see(store, tasks.get, text)
    assert caught.value.hint == "did you mean bn-1f3a (the task bn-1f3a)?"


def test_an_id_like_no_other_gets_the_command_that_lists_them(store):
    with_ids(store, "bn-1f3a")
    with pytest.raises(NotFound, match="no task 'bn-dddd'") as caught:
        see(store, tasks.get, "dddd")
    assert "bn task list" in caught.value.hint


def test_an_empty_store_has_no_task(store):
    with pytest.raises(NotFound):
        see(store, tasks.get, "1f3a")


@pytest.mark.parametrize("text", ["", "xyz", "12", "' or 1=1 --", "%%%%", "bn-", "f" * 5000])
def test_what_cannot_be_an_id_is_refused(store, text):
    with pytest.raises(InvalidInput):
        see(store, tasks.get, text)


def test_a_commit_hash_pasted_by_mistake_is_just_not_found(store):
    with_ids(store, "bn-1f3a")
    with pytest.raises(NotFound):
        see(store, tasks.get, "1f3a" * 10)


def test_many_are_found_at_once(store):
    made = [put(store).id for _ in range(3)]
    found = see(store, tasks.get_many, [*made, "bn-ffffff"])
    assert sorted(found) == sorted(made)
