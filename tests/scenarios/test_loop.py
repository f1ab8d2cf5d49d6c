"""Scenarios about iterations: an agent that does one task, sums it up, and stops."""

from binnacle.store import sessions as store_sessions
from binnacle.work.actor import Actor


def test_42_a_session_is_not_complete_while_tasks_are_open(connect, bn, sessions):
    agent = connect("--recipe", "loop")
    (made,) = agent("task-add", tasks=[{"content": "The only task"}])["tasks"]
    error = agent.fails("session-complete")
    assert error["code"] == "E_REFUSED"
    assert made["id"] in error["message"]
    agent("task-update", id=made["id"], status="in_progress")
    agent("task-update", id=made["id"], status="completed")
    agent("session-complete")
    agent.leave()
    assert [session.status for session in sessions()] == ["complete"]


def test_43_a_second_summary_of_one_iteration(connect, bn, store, sessions):
    agent = connect("--recipe", "loop")
    agent("iteration-summary", summary="wrote the endpoint")
    error = agent.fails("iteration-summary", summary="wrote it even better")
    assert error["code"] == "E_REFUSED"
    (session,) = sessions()
    with store.read() as tx:
        assert [one.summary for one in store_sessions.list_iterations(tx, session.id)] == ["wrote the endpoint"]
    assert "wrote the endpoint" in agent.prompt()


def test_44_a_second_task_in_one_iteration(connect, bn, store, sessions):
    first, second = bn.add("First"), bn.add("Second")
    agent = connect("--recipe", "loop")
    (session,) = sessions()
    with store.write(by=Actor("ann")) as tx:
        store_sessions.begin_iteration(tx, session.id)
    agent("task-update", id=first, status="in_progress")
    agent("task-update", id=first, status="completed")
    error = agent.fails("task-update", id=second, status="in_progress")
    assert error["code"] == "E_REFUSED"
    assert first in error["message"]
    assert bn("task", "show", second)["task"]["status"] == "pending"
    with store.write(by=Actor("ann")) as tx:
        store_sessions.begin_iteration(tx, session.id)
    agent("task-update", id=second, status="in_progress")


def test_45_notes_reach_the_next_iteration(connect, bn):
    agent = connect("--recipe", "loop")
    agent("note-add", notes=[{"content": "the tests need a running Redis", "type": "tip"}])
    assert agent.fails("note-add", notes=[{"content": "x", "type": "gossip"}])["code"] == "E_INVALID_PARAMS"
    assert "the tests need a running Redis" in agent.prompt()
    assert "the tests need a running Redis" in agent.text("note-list")
    assert [note["type"] for note in bn("note", "list")["notes"]] == ["tip"]
