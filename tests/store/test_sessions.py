"""Sessions with their iterations, and the agents that carry them out."""

from datetime import timedelta

import pytest

from binnacle.errors import NotFound, Refused
from binnacle.store import agents, features, sessions, task_moves, tasks
from binnacle.work.actor import Actor
from places import NOW
from store.verbs import actions, again, do, put, see

LATER = NOW + timedelta(hours=1)


def test_a_session_is_kept_as_it_was_given(store):
    made = do(
        store, sessions.start, name="night run", recipe="loop", discipline="backend", feature="login", task_id="bn-1"
    )
    assert (made.status, made.reason, made.ended_at) == ("active", "", None)
    assert see(store, sessions.get, made.id) == made
    with pytest.raises(NotFound, match="no session 'bns-0'"):
        see(store, sessions.get, "bns-0")


def test_the_newest_session_comes_first(store):
    made = [do(store, sessions.start, name=str(number)).id for number in range(3)]
    assert [session.id for session in see(store, sessions.list_sessions, limit=2)] == [made[2], made[1]]


def test_iterations_count_from_zero_without_a_gap_also_after_a_crash(store):
    session = do(store, sessions.start).id
    assert do(store, sessions.begin_iteration, session).number == 0
    # The first one never ended: its process died.
    assert do(store, sessions.begin_iteration, session, now=LATER).number == 1
    first, second = see(store, sessions.list_iterations, session)
    assert (first.ended_at, second.ended_at) == (LATER, None)


def test_an_iteration_works_on_one_task(store):
    session = do(store, sessions.start).id
    do(store, sessions.begin_iteration, session)
    do(store, sessions.note_task, session, "bn-aaaa")
    do(store, sessions.note_task, session, "bn-aaaa")
    with pytest.raises(Refused, match="already works on bn-aaaa"):
        do(store, sessions.note_task, session, "bn-bbbb")
    do(store, sessions.begin_iteration, session)
    do(store, sessions.note_task, session, "bn-bbbb")
    assert [known.task_started for known in see(store, sessions.list_iterations, session)] == ["bn-aaaa", "bn-bbbb"]


def test_the_task_of_an_iteration_is_in_the_event_log(store):
    session = do(store, sessions.start).id
    do(store, sessions.begin_iteration, session)
    before = len(actions(store))
    do(store, sessions.note_task, session, "bn-aaaa")
    assert len(actions(store)) == before + 1


def test_an_iteration_has_one_summary(store):
    session = do(store, sessions.start).id
    with pytest.raises(Refused, match="has no iteration yet"):
        do(store, sessions.summarize, session, "nothing")
    do(store, sessions.begin_iteration, session)
    done = do(store, sessions.summarize, session, "mended\x1b it", now=LATER)
    assert (done.summary, done.ended_at) == ("mended it", LATER)
    with pytest.raises(Refused, match="already has a summary"):
        do(store, sessions.summarize, session, "again")
    do(store, sessions.begin_iteration, session)
    assert do(store, sessions.summarize, session, "again").number == 1


@pytest.mark.parametrize("status", ["pending", "partial"])
def test_a_session_is_complete_only_when_nothing_is_open(store, status):
    session = do(store, sessions.start).id
    task = put(store, status=status)
    with pytest.raises(Refused, match=f"not finished: {task.id}"):
        do(store, sessions.complete, session)
    do(store, task_moves.start, task.id)
    with pytest.raises(Refused, match=task.id):
        do(store, sessions.complete, session)
    do(store, task_moves.finish, task.id)
    ended = do(store, sessions.complete, session, reason="all done", now=LATER)
    assert (ended.status, ended.reason, ended.ended_at) == ("complete", "all done", LATER)


def test_a_session_of_a_feature_looks_at_that_feature_only(store):
    do(store, features.add, "login", {})
    session = do(store, sessions.start, feature="login").id
    put(store, "of no feature")
    mine = put(store, feature="login")
    with pytest.raises(Refused, match=mine.id):
        do(store, sessions.complete, session)
    do(store, task_moves.finish, mine.id)
    assert do(store, sessions.complete, session).status == "complete"


@pytest.mark.parametrize("status", ["blocked", "needs_input", "draft"])
def test_what_waits_for_people_does_not_keep_a_session_open(store, status):
    put(store, status=status)
    assert do(store, sessions.complete, do(store, sessions.start).id).status == "complete"


def test_an_ended_session_is_over(store):
    session = do(store, sessions.start).id
    do(store, sessions.begin_iteration, session)
    assert do(store, sessions.abort, session, reason="out of budget").status == "aborted"
    for change, *arguments in (
        (sessions.begin_iteration,),
        (sessions.note_task, "bn-aaaa"),
        (sessions.summarize, "late"),
        (sessions.complete,),
    ):
        with pytest.raises(Refused, match="is aborted"):
            do(store, change, session, *arguments)


def test_an_agent_is_registered_from_a_shell_or_by_mcp(store):
    shell = do(
        store, agents.register, name="worker\x1b one", is_shell=True, pid=123, process_started="9876", parent_pid=1
    )
    mcp = do(store, agents.register, name="other", kind="reviewer")
    assert (shell.registered, shell.name, shell.pid, shell.process_started) == ("shell", "worker one", 123, "9876")
    assert (mcp.registered, mcp.type, mcp.pid) == ("mcp", "reviewer", None)
    assert see(store, agents.list_agents) == [shell, mcp]
    assert see(store, agents.get, mcp.id) == mcp


def test_an_agent_may_be_called_otherwise(store):
    agent = do(store, agents.register, name="worker")
    changed = do(store, agents.update, agent.id, name=" mender\n", kind="reviewer")
    assert (changed.name, changed.type, changed.created_at) == ("mender", "reviewer", agent.created_at)
    assert do(store, agents.update, agent.id, name="mender") == changed
    assert actions(store, agent.id) == ["registered", "updated"]


def test_an_unknown_agent_gets_the_nearest(store):
    agent = do(store, agents.register, name="worker")
    with pytest.raises(NotFound) as caught:
        see(store, agents.get, agent.id[:-1])
    assert caught.value.hint == f"did you mean {agent.id!r}?"


def test_a_sign_of_life_is_noted_without_an_event(store):
    agent = do(store, agents.register, name="worker")
    before = actions(store)
    do(store, agents.touch, agent.id, now=LATER)
    assert see(store, agents.get, agent.id).active_at == LATER
    assert actions(store) == before


def test_an_agent_that_ends_gives_back_what_it_held(store):
    agent = do(store, agents.register, name="worker")
    actor = Actor(agent.id, "agent")
    task = do(store, task_moves.start, put(store).id, by=actor).task
    finished = do(store, task_moves.start, put(store).id, by=actor, force=True).task
    do(store, task_moves.finish, finished.id, by=actor)
    assert do(store, agents.end, agent.id, reason="goodbye", now=LATER) == [task.id]
    assert (again(store, task).status, again(store, finished).status) == ("pending", "done")
    assert see(store, agents.list_agents) == []
    assert see(store, agents.get, agent.id).ended_at == LATER
    assert actions(store, agent.id) == ["registered", "ended"]
    assert see(store, tasks.list_held_by, agent.id) == []


def test_an_iteration_starts_one_task(store):
    session = do(store, sessions.start).id
    first, second = put(store), put(store)
    do(store, task_moves.start, first.id, session=session)  # before the first iteration anything goes
    do(store, task_moves.finish, first.id, session=session)
    do(store, task_moves.reopen, first.id)
    do(store, sessions.begin_iteration, session)
    do(store, task_moves.start, first.id, session=session)
    do(store, task_moves.finish, first.id, session=session)
    for take in (lambda tx: task_moves.start(tx, second.id), task_moves.claim_next):
        with pytest.raises(Refused, match=f"already works on {first.id}"):
            do(store, take, session=session)
    assert again(store, second).status == "pending"
    do(store, sessions.begin_iteration, session)
    do(store, task_moves.start, second.id, session=session)
    assert [known.task_started for known in see(store, sessions.list_iterations, session)] == [first.id, second.id]
