"""What waits for what: no circles, nothing kept waiting by what was cancelled."""

import pytest

from binnacle.errors import Claimed, Cycle, NotFound, Refused
from binnacle.store import dependencies, task_moves, tasks
from binnacle.work.task import NewTask
from store.verbs import AGENT, OTHER, actions, again, contents, do, put, ready, rows, see


def chain(store, *titles):
    """Tasks of which each waits for the one before it."""
    made = []
    for title in titles:
        made.append(put(store, title, depends_on=(made[-1].id,) if made else ()))
    return made


def test_a_task_waits_for_another_and_says_why(store):
    first, second = put(store, "first"), put(store, "second")
    changed = do(store, dependencies.add, second.id, first.id, reason="needs\x1b its table")
    assert changed.open_dependencies == 1
    (known,) = see(store, dependencies.dependencies_of, [second.id])[second.id]
    assert (known.depends_on, known.reason) == (first.id, "needs its table")
    assert [known.task_id for known in see(store, dependencies.dependents_of, [first.id])[first.id]] == [second.id]
    assert ready(store) == ["first"]


def test_saying_it_again_changes_the_reason_only(store):
    first, second = put(store), put(store)
    do(store, dependencies.add, second.id, first.id, reason="old")
    do(store, dependencies.add, second.id, first.id, reason="new")
    assert rows(store, "select reason from dependency") == [("new",)]
    assert again(store, second).open_dependencies == 1


def test_a_changed_reason_is_in_the_event_log(store):
    first, second = put(store), put(store)
    do(store, dependencies.add, second.id, first.id, reason="old")
    before = len(actions(store))
    do(store, dependencies.add, second.id, first.id, reason="new")
    assert len(actions(store)) == before + 1


def test_a_task_does_not_wait_for_itself(store):
    task = put(store)
    with pytest.raises(Cycle, match="cannot wait for itself"):
        do(store, dependencies.add, task.id, task.id)


def test_a_circle_is_refused_and_spelled_out(store):
    a, b, c = chain(store, "a", "b", "c")
    before = contents(store)
    with pytest.raises(Cycle) as caught:
        do(store, dependencies.add, a.id, c.id)
    assert caught.value.message == f"that would close a cycle: {a.id} → {c.id} → {b.id} → {a.id}"
    assert contents(store) == before


def test_a_circle_through_finished_work_is_a_circle_all_the_same(store):
    a, b, c = chain(store, "a", "b", "c")
    do(store, task_moves.finish, a.id)
    do(store, task_moves.finish, b.id)
    do(store, task_moves.reopen, a.id)
    with pytest.raises(Cycle):
        do(store, dependencies.add, a.id, c.id)


def test_blocking_on_what_waits_for_it_is_refused_whole(store):
    a, b = chain(store, "a", "b")
    before = contents(store)
    with pytest.raises(Cycle):
        do(store, task_moves.block, a.id, reason="needs b", on=b.id)
    assert contents(store) == before


def test_the_parts_of_a_split_do_not_close_a_circle(store):
    a, b = chain(store, "a", "b")
    before = contents(store)
    for target in (a, b):
        with pytest.raises(Cycle):
            do(store, task_moves.split, a.id, [NewTask(title="one", depends_on=(target.id,)), NewTask(title="two")])
        assert contents(store) == before


def test_a_dependency_is_taken_away(store):
    first, second = chain(store, "first", "second")
    assert do(store, dependencies.remove, second.id, first.id).open_dependencies == 0
    assert ready(store) == ["first", "second"]


def test_taking_away_what_is_not_there_tells_what_is(store):
    first, second = chain(store, "first", "second")
    other = put(store)
    with pytest.raises(NotFound, match="does not depend on") as caught:
        do(store, dependencies.remove, second.id, other.id)
    assert caught.value.hint == f"it depends on: {first.id}"


def test_a_finished_task_waits_for_nothing(store):
    done, other = put(store, status="done"), put(store)
    with pytest.raises(Refused, match="is done and waits for nothing"):
        do(store, dependencies.add, done.id, other.id)


def test_an_agent_does_not_change_what_another_holds(store):
    task, other = put(store), put(store)
    do(store, task_moves.start, task.id, by=AGENT)
    with pytest.raises(Claimed):
        do(store, dependencies.add, task.id, other.id, by=OTHER)


def test_a_cancelled_dependency_does_not_block_for_ever_and_is_said_in_a_warning(store):
    first, second = chain(store, "first", "second")
    moved = do(store, task_moves.skip, first.id, reason="obsolete")
    assert moved.unblocked == (second.id,)
    assert ready(store) == ["second"]
    assert see(store, dependencies.list_cancelled, second.id) == [first.id]
    assert do(store, task_moves.start, second.id).warnings == (f"depends on cancelled work: {first.id}",)


def test_claiming_also_warns_of_a_cancelled_dependency(store):
    first, _second = chain(store, "first", "second")
    do(store, task_moves.skip, first.id, reason="obsolete")
    with store.claim(by=AGENT) as tx:
        move = task_moves.claim_next(tx)
    assert move.warnings == (f"depends on cancelled work: {first.id}",)


def test_reopening_makes_those_who_wait_wait_again(store):
    first, second = chain(store, "first", "second")
    do(store, task_moves.finish, first.id)
    do(store, task_moves.reopen, first.id)
    assert again(store, second).open_dependencies == 1
    assert ready(store) == ["first"]


def test_finishing_tells_what_can_go_on_now(store):
    first, other = put(store, "first"), put(store, "other")
    waits = put(store, "waits", depends_on=(first.id,))
    put(store, "waits for both", depends_on=(first.id, other.id))
    put(store, "over already", depends_on=(first.id,), status="cancelled")
    assert do(store, task_moves.finish, first.id).unblocked == (waits.id,)


def test_a_task_that_many_wait_for_frees_them_all(store):
    first = put(store, "first")
    drafts = [NewTask(title=f"waits {number}", depends_on=(first.id,)) for number in range(1100)]
    do(store, tasks.add, drafts)
    assert len(do(store, task_moves.finish, first.id).unblocked) == 1100
    assert see(store, tasks.list_ready, limit=1)[1] == 1100
