"""Every change leaves an event with who made it; what failed leaves none."""

from datetime import timedelta

import pytest

from binnacle.errors import BinnacleError
from binnacle.store import (
    agents,
    comments,
    dependencies,
    events,
    features,
    learnings,
    notes,
    queue,
    sessions,
    task_deletion,
    task_moves,
    tasks,
)
from binnacle.work.task import NewTask
from places import NOW
from store.verbs import AGENT, ANN, contents, do, put, see

CHANGES = {
    "task add": lambda tx, _: tasks.add(tx, [NewTask(title="new")]),
    "task update": lambda tx, made: tasks.update(tx, made["task"], {"priority": 0}),
    "task delete": lambda tx, made: task_deletion.delete_task(tx, made["task"]),
    "start": lambda tx, made: task_moves.start(tx, made["task"]),
    "claim": lambda tx, _: task_moves.claim_next(tx),
    "finish": lambda tx, made: task_moves.finish(tx, made["task"]),
    "skip": lambda tx, made: task_moves.skip(tx, made["task"], reason="because"),
    "block": lambda tx, made: task_moves.block(tx, made["task"], reason="because"),
    "reopen": lambda tx, made: task_moves.reopen(tx, made["done"]),
    "partial": lambda tx, made: task_moves.set_status(tx, made["task"], "partial"),
    "enrich": lambda tx, made: task_moves.enrich(tx, made["draft"], {"pseudocode": "1."}),
    "split": lambda tx, made: task_moves.split(tx, made["task"], [NewTask(title="a"), NewTask(title="b")]),
    "wait": lambda tx, made: dependencies.add(tx, made["task"], made["draft"]),
    "queue": lambda tx, made: queue.add(tx, [made["task"]]),
    "comment": lambda tx, made: comments.add(tx, made["task"], "remark"),
    "comment update": lambda tx, made: comments.update(tx, made["comment"], "changed"),
    "comment delete": lambda tx, made: comments.delete(tx, made["comment"]),
    "note": lambda tx, _: notes.add(tx, [("tip", "remember")]),
    "progress": lambda tx, _: notes.add_progress(tx, "half way"),
    "learning": lambda tx, _: learnings.add(tx, "water is wet"),
    "learning review": lambda tx, made: learnings.review(tx, made["learning"]),
    "learning delete": lambda tx, made: learnings.delete(tx, made["learning"]),
    "feature": lambda tx, _: features.add(tx, "search", {}),
    "feature update": lambda tx, _: features.update(tx, "login", {"title": "new"}),
    "feature delete": lambda tx, _: features.delete(tx, "login"),
    "discipline": lambda tx, _: features.add_discipline(tx, "backend", {}),
    "session": lambda tx, _: sessions.start(tx),
    "iteration": lambda tx, made: sessions.begin_iteration(tx, made["session"]),
    "abort": lambda tx, made: sessions.abort(tx, made["session"], reason="because"),
    "agent": lambda tx, _: agents.register(tx, name="worker"),
    "agent update": lambda tx, made: agents.update(tx, made["agent"], name="renamed"),
    "agent end": lambda tx, made: agents.end(tx, made["agent"]),
}


@pytest.fixture
def made(store):
    """One thing of every kind, by kind."""
    task = put(store, "task").id
    do(store, features.add, "login", {})
    return {
        "task": task,
        "done": put(store, "finished", status="done").id,
        "draft": put(store, "draft", status="draft").id,
        "comment": do(store, comments.add, put(store, "remarked").id, "remark").id,
        "learning": do(store, learnings.add, "needles point north").learning.id,
        "session": do(store, sessions.start).id,
        "agent": do(store, agents.register, name="known").id,
    }


@pytest.mark.parametrize("change", list(CHANGES.values()), ids=list(CHANGES))
def test_every_change_appends_events_in_the_name_of_who_made_it(store, made, change):
    before = see(store, events.last_number)
    later = NOW + timedelta(minutes=1)
    do(store, change, made, by=AGENT, session="bns-0001", now=later)
    new = [event for event in see(store, events.list_events, limit=100) if event.seq > before]
    assert new
    assert {(event.actor, event.session, event.at) for event in new} == {(AGENT.name, "bns-0001", later)}
    assert all(event.entity and event.entity_id and event.action for event in new)


@pytest.mark.parametrize("change", list(CHANGES.values()), ids=list(CHANGES))
def test_a_change_that_is_undone_leaves_nothing(store, made, change):
    before = contents(store)

    def change_and_fail(tx):
        change(tx, made)
        raise BinnacleError("after all")

    with pytest.raises(BinnacleError, match="after all"):
        do(store, change_and_fail)
    assert contents(store) == before


def test_looking_leaves_no_event(store):
    put(store)
    before = see(store, events.last_number)
    see(store, tasks.list_ready, limit=5)
    with store.write(by=ANN):
        pass
    assert see(store, events.last_number) == before


def test_events_tell_what_changed(store):
    task = put(store, "old", priority=1)
    do(store, tasks.update, task.id, {"title": "new"})
    do(store, task_moves.skip, task.id, reason="obsolete")
    added, updated, cancelled = see(store, events.list_events, limit=10)
    assert added.changes == {"title": "old", "status": "pending", "priority": 1}
    assert updated.changes == {"title": ["old", "new"]}
    assert cancelled.changes == {"status": ["pending", "cancelled"], "reason": "obsolete"}


def test_events_are_listed_by_thing_actor_and_time(store):
    first, second = put(store), put(store, now=NOW + timedelta(hours=1))
    do(store, comments.add, first.id, "remark", by=AGENT, now=NOW + timedelta(hours=2))
    do(store, task_moves.start, first.id, by=AGENT, now=NOW + timedelta(hours=3))
    assert [event.action for event in see(store, events.list_events, limit=9, entity_id=first.id)] == [
        "added",
        "started",
    ]
    assert [event.action for event in see(store, events.list_events, limit=9, actor=AGENT.name)] == ["added", "started"]
    since = see(store, events.list_events, limit=9, since=NOW + timedelta(hours=1))
    assert [event.action for event in since] == ["added", "added", "started"]
    assert since[0].entity_id == second.id


def test_the_newest_are_given_oldest_first(store):
    for number in range(5):
        put(store, f"step {number}")
    found = see(store, events.list_events, limit=2)
    assert [event.changes["title"] for event in found] == ["step 3", "step 4"]
    assert found[-1].seq == see(store, events.last_number)


def test_an_empty_log_ends_at_zero(store):
    assert see(store, events.last_number) == 0
    assert see(store, events.list_events, limit=5) == []
