"""What a person did is undone as one change, on both engines, and nothing that happened since is overwritten."""

# ruff: noqa: ARG005 - every change is given the same tasks
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binnacle.errors import BinnacleError, NotFound, Refused
from binnacle.store import (
    agents,
    comments,
    dependencies,
    features,
    learnings,
    notes,
    queue,
    task_deletion,
    task_moves,
    tasks,
    undo,
)
from binnacle.store.maintenance.importer import clear
from binnacle.store.row_images import MAX_UNDOABLE_CHANGES
from binnacle.store.transaction import MAX_REMEMBERED_ROWS
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask
from places import NOW
from store.verbs import AGENT, ANN, OTHER, actions, again, do, put, rows, see

BOB = Actor("bob")

COLUMNS = {
    "task": "id, number, title, title_key, status, priority, feature, parent, tags, open_dependencies, queue_position, "
    "queue_rank, claimed_by, claim_expires_at, closed_reason, closed_at, description, created_at",
    "dependency": "task_id, depends_on, reason, created_at",
    "comment": "id, task_id, author, body, created_at",
    "learning": "id, text, reason, task_id, hit_count, reviewed",
    "note": "id, type, content",
    "question": "id, task_id, text",
    "search": "entity, id, title, body",
}
"""What undoing restores. When a row was touched and the number of its newest claim are not part of it."""


def content(store):
    return {table: sorted(rows(store, f"select {names} from {table}"), key=repr) for table, names in COLUMNS.items()}


def undo_last(store, count=1, *, by=ANN, now=NOW):
    with store.write(by=by, now=now) as tx:
        return undo.undo(tx, undo.choose_last(tx, by.name, count=count))


def undo_number(store, number, *, by=ANN):
    with store.write(by=by, now=NOW) as tx:
        return undo.undo(tx, [undo.choose(tx, by.name, number)])


def newest(store, actor="ann"):
    return see(store, undo.list_changes, actor, limit=1)[0][0]


CHANGES = {
    "add": lambda tx, a, b: tasks.add(tx, [NewTask(title="new", depends_on=(a,)), NewTask(title="too", parent=b)]),
    "update": lambda tx, a, b: tasks.update(tx, b, {"title": "other", "priority": 0, "tags": ("x",), "parent": a}),
    "start": lambda tx, a, b: task_moves.start(tx, b),
    "claim": lambda tx, a, b: task_moves.claim_next(tx),
    "done": lambda tx, a, b: task_moves.finish(tx, b, reason="merged"),
    "skip": lambda tx, a, b: task_moves.skip(tx, b, reason="not needed"),
    "block": lambda tx, a, b: task_moves.block(tx, b, reason="no access"),
    "block on": lambda tx, a, b: task_moves.block(
        tx, b, reason="no access", on=tasks.add(tx, [NewTask(title="first")])[0].id
    ),
    "needs input": lambda tx, a, b: task_moves.set_status(tx, b, "needs_input", reason="which one?"),
    "reopen": lambda tx, a, b: (
        task_moves.finish(tx, b),
        task_moves.reopen(tx, b),
        task_moves.skip(tx, b, reason="after all"),
    ),
    "split": lambda tx, a, b: task_moves.split(tx, b, [NewTask(title="left"), NewTask(title="right")], chain=True),
    "delete": lambda tx, a, b: task_deletion.delete_task(tx, a),
    "comment": lambda tx, a, b: comments.add(tx, a, "another"),
    "uncomment": lambda tx, a, b: comments.delete(tx, comments.list_comments(tx, a)[0].id),
    "recomment": lambda tx, a, b: comments.update(tx, comments.list_comments(tx, a)[0].id, "other words"),
    "wait": lambda tx, a, b: dependencies.add(tx, a, tasks.add(tx, [NewTask(title="third")])[0].id, reason="why"),
    "wait no more": dependencies.remove,
    "another reason": lambda tx, a, b: dependencies.add(tx, a, b, reason="another"),
    "queue": lambda tx, a, b: queue.add(tx, [b, a], first=True),
    "unqueue": lambda tx, a, b: queue.remove(tx, [a]),
    "learn": lambda tx, a, b: learnings.add(tx, "stars move"),
    "unlearn": lambda tx, a, b: learnings.delete(tx, learnings.list_learnings(tx)[0].id),
    "note": lambda tx, a, b: notes.add(tx, [("tip", "one"), ("tip", "two")]),
    "unnote": lambda tx, a, b: notes.delete(tx, notes.list_notes(tx)[0][0].id),
}


def two_tasks(store):
    """A task with everything around it, which waits for another."""
    do(store, features.add, "login", {})
    b = put(store, "b", priority=1)
    a = put(store, "a", description="text", tags=("sky",), feature="login", depends_on=(b.id,), reason="needs it")
    do(store, comments.add, a.id, "a remark")
    do(store, queue.add, [a.id])
    do(store, learnings.add, "tokens expire", task=a.id, reason="seen it")
    do(store, notes.add, [("tip", "wait for dusk")])
    return a.id, b.id


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_undone_and_made_again(store, name):
    a, b = two_tasks(store)
    before = content(store)
    do(store, CHANGES[name], a, b)
    after = content(store)
    assert after != before
    undo_last(store)
    assert content(store) == before
    undo_number(store, newest(store).number)
    assert content(store) == after


def test_undoing_again_goes_further_back(store):
    task = put(store, "one")
    for priority in (0, 1, 3):
        do(store, tasks.update, task.id, {"priority": priority})
    found = []
    for _ in range(3):
        undo_last(store)
        found.append(again(store, task).priority)
    assert found == [1, 0, 2]
    undo_last(store)
    with pytest.raises(NotFound, match="no change of ann"):
        undo_last(store)


def test_several_changes_are_undone_as_one(store):
    task = put(store, "one")
    do(store, tasks.update, task.id, {"priority": 0})
    do(store, task_moves.start, task.id)
    undone = undo_last(store, 2)
    assert (again(store, task).status, again(store, task).priority) == ("pending", 2)
    assert len(undone.changes) == 2
    undo_number(store, newest(store).number)
    assert (again(store, task).status, again(store, task).priority) == ("in_progress", 0)
    with pytest.raises(NotFound, match="only 3 of the 9"):
        undo_last(store, 9)


def test_undoing_is_on_record(store):
    task = put(store, "one")
    do(store, task_moves.finish, task.id)
    undo_last(store)
    undo_number(store, newest(store).number)
    assert actions(store, task.id) == ["added", "done", "undone", "redone"]
    do(store, task_moves.reopen, task.id)
    reopened = newest(store).number
    undo_last(store)
    with pytest.raises(Refused, match="already undone"):
        undo_number(store, reopened)


LATER = {
    "the same field": (
        lambda tx, task: tasks.update(tx, task, {"priority": 0}),
        lambda tx, task: tasks.update(tx, task, {"priority": 4}),
    ),
    "a claim": (task_moves.release, task_moves.start),
    "a comment on what was added": (None, lambda tx, task: comments.add(tx, task, "hello")),
    "a claim on what was added": (None, task_moves.start),
    "a task that waits for what was added": (
        None,
        lambda tx, task: tasks.add(tx, [NewTask(title="waits", depends_on=(task,))]),
    ),
    "a part of what was added": (None, lambda tx, task: tasks.add(tx, [NewTask(title="part", parent=task)])),
    "a learning from what was added": (None, lambda tx, task: learnings.add(tx, "tokens expire", task=task)),
    "the title of what was deleted": (
        task_deletion.delete_task,
        lambda tx, task: tasks.add(tx, [NewTask(title="One")]),
    ),
    "the title of what was cancelled": (
        lambda tx, task: task_moves.skip(tx, task, reason="no"),
        lambda tx, task: tasks.add(tx, [NewTask(title="one")]),
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_what_others_did_since_is_not_overwritten(store, name):
    mine, theirs = LATER[name]
    task = put(store, "one").id
    if name == "a claim":
        do(store, task_moves.start, task)
    if mine:
        do(store, mine, task)
    do(store, theirs, task, by=AGENT)
    before = content(store), actions(store)
    with pytest.raises(Refused, match="cannot be undone") as refused:
        undo_last(store)
    assert refused.value.hint
    assert (content(store), actions(store)) == before


def test_another_field_changed_since_is_kept(store):
    task = put(store, "one")
    do(store, tasks.update, task.id, {"priority": 0})
    do(store, tasks.update, task.id, {"description": "theirs"}, by=AGENT)
    undo_last(store)
    assert (again(store, task).priority, again(store, task).description) == (2, "theirs")


def test_a_dependency_does_not_come_back_as_a_circle(store):
    a, b = put(store, "a").id, put(store, "b").id
    do(store, dependencies.add, a, b)
    do(store, dependencies.remove, a, b)
    do(store, dependencies.add, b, a, by=AGENT)
    with pytest.raises(Refused, match="cycle"):
        undo_last(store)


def test_a_dependency_on_what_is_gone_does_not_come_back(store):
    a, b = put(store, "a").id, put(store, "b").id
    do(store, dependencies.add, a, b)
    do(store, dependencies.remove, a, b)
    do(store, task_deletion.delete_task, b, by=AGENT)
    with pytest.raises(Refused, match="no task"):
        undo_last(store)


def test_a_part_does_not_come_back_beneath_itself(store):
    a, b = put(store, "a").id, put(store, "b").id
    do(store, tasks.update, a, {"parent": b})
    do(store, tasks.update, a, {"parent": ""})
    do(store, tasks.update, b, {"parent": a}, by=AGENT)
    with pytest.raises(Refused, match="own ancestor"):
        undo_last(store)


def test_a_task_does_not_come_back_into_a_feature_that_is_gone(store):
    do(store, features.add, "login", {})
    task = put(store, "one", feature="login")
    do(store, task_deletion.delete_task, task.id)
    do(store, features.delete, "login", by=BOB)
    with pytest.raises(Refused, match="login"):
        undo_last(store)


def working(store, actor):
    """An agent with a task in its hands."""
    do(store, agents.register, name=actor.name, agent_id=actor.name)
    task = put(store)
    do(store, task_moves.start, task.id, by=actor)
    return task


def test_an_agent_gets_back_the_claim_that_a_person_took(store):
    task = working(store, AGENT)
    held = again(store, task)
    do(store, task_moves.finish, task.id)
    assert undo_last(store).warnings == ()
    assert again(store, task).claimed_by == AGENT.name
    do(store, task_moves.finish, task.id, by=AGENT, fence=held.fence)


def test_a_claim_that_is_over_does_not_come_back(store):
    tasks_of = {"lease": working(store, AGENT), "another": working(store, OTHER)}
    for task in tasks_of.values():
        do(store, task_moves.finish, task.id)
    do(store, task_moves.start, put(store).id, by=OTHER)
    with store.write(by=ANN, now=NOW + timedelta(minutes=29)) as tx:
        done = [one for one in undo.list_changes(tx, "ann", limit=99)[0] if one.events[0].action == "done"]
        warned = undo.undo(tx, [done[0]]).warnings
    assert OTHER.name in warned[0], "it works on another task now"
    with store.write(by=ANN, now=NOW + timedelta(hours=2)) as tx:
        warned = undo.undo(tx, [done[1]]).warnings
    assert AGENT.name in warned[0], "its time is over"
    for task in tasks_of.values():
        assert (again(store, task).status, again(store, task).claimed_by) == ("pending", None)


def test_a_fence_never_goes_back(store):
    task = put(store, "one")
    do(store, task_moves.start, task.id)
    undo_last(store)
    assert again(store, task).fence == 1
    do(store, task_moves.start, task.id, by=AGENT)
    assert again(store, task).fence == 2


def test_a_claim_that_ran_out_beside_a_change_stays_so(store):
    task, other = working(store, AGENT), put(store, "other")
    with store.write(by=ANN, now=NOW + timedelta(hours=2)) as tx:
        task_moves.claim_next(tx)
    undo_last(store, now=NOW + timedelta(hours=2))
    assert [again(store, one).claimed_by for one in (task, other)] == [None, None]


def test_another_person_s_hands_are_respected(store):
    task = put(store, "one")
    do(store, tasks.update, task.id, {"priority": 0})
    do(store, task_moves.start, task.id, by=BOB)
    with pytest.raises(Refused, match="held by bob"):
        undo_last(store)


def test_everybody_undoes_what_is_their_own(store):
    task = put(store, "one")
    do(store, tasks.update, task.id, {"priority": 0}, by=BOB)
    do(store, tasks.update, task.id, {"description": "agent"}, by=AGENT)
    with pytest.raises(NotFound):
        undo_number(store, newest(store, "bob").number)
    assert see(store, undo.list_changes, AGENT.name, limit=9) == ([], 0)
    undo_last(store, by=BOB)
    assert again(store, task).priority == 2


def test_what_cannot_be_undone_says_so(store):
    do(store, features.add, "login", {})
    with pytest.raises(Refused, match="it added feature login") as refused:
        undo_last(store)
    assert "only changes of tasks" in refused.value.hint
    do(store, tasks.add, [NewTask(title=f"task {n}") for n in range(MAX_REMEMBERED_ROWS + 1)])
    with pytest.raises(Refused, match="it changed too much"):
        undo_last(store)
    assert [one.can_be_undone for one in see(store, undo.list_changes, "ann", limit=9)[0]] == [False, False]


def test_only_the_newest_changes_are_kept(store):
    task = put(store, "one")
    for number in range(MAX_UNDOABLE_CHANGES + 5):
        do(store, tasks.update, task.id, {"description": str(number)})
    put(store, "two", by=BOB)
    assert see(store, undo.list_changes, "ann", limit=1)[1] == MAX_UNDOABLE_CHANGES
    assert see(store, undo.list_changes, "bob", limit=1)[1] == 1


@settings(max_examples=25)
@given(names=st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=8))
def test_whatever_was_done_is_undone_step_by_step(sqlite_place, names):
    with sqlite_place.open() as store:
        do(store, clear)
        a, b = two_tasks(store)
        states = []
        for name in names:
            before = content(store)
            try:
                do(store, CHANGES[name], a, b)
            except (BinnacleError, IndexError):
                assert content(store) == before
                continue
            if content(store) != before:
                states.append(before)
        for before in reversed(states):
            undo_last(store)
            assert content(store) == before
