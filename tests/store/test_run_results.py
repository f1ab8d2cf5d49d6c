"""What a run led to, on both engines."""

import pytest

from binnacle.store import runs, sessions, task_moves
from binnacle.store.sessions import ITERATIONS
from binnacle.store.tasks import TASKS
from binnacle.store.views.run_results import count_closed_tasks
from binnacle.work.actor import SYSTEM
from binnacle.work.closed_count import ClosedCount
from store.verbs import ANN, do, put, see


@pytest.fixture
def run(store):
    return do(store, runs.start, "words", feature=None, asked="", asked_file="", by=SYSTEM)


@pytest.fixture
def session(store, run):
    session = do(store, sessions.start, name=run.name, by=SYSTEM)
    do(store, sessions.join_run, session.id, run.id, "here", by=SYSTEM)
    return session.id


def close(store, session, level="said", move=task_moves.finish, **options):
    """A task that was closed in a session, and is known to be done at a level."""
    task = put(store)
    do(store, move, task.id, by=SYSTEM, session=session, **options)
    with store.write(by=SYSTEM) as tx:
        TASKS.update(tx, {"evidence_level": level}, "id = ?", task.id)
    return task


def test_what_a_run_closed_is_counted_by_level(store, run, session):
    for level in ("checked", "merged", "merged", "accepted", "observed", "said"):
        close(store, session, level)
    close(store, session, "", task_moves.skip, reason="not needed")
    put(store)
    assert see(store, count_closed_tasks, run.id) == ClosedCount(checked=3, accepted=1, observed=1, said=1, cancelled=1)


def test_what_others_closed_does_not_count(store, run, session):
    close(store, None, "checked")
    other = do(store, runs.start, "other", feature=None, asked="", asked_file="", by=SYSTEM)
    assert see(store, count_closed_tasks, run.id) == ClosedCount()
    close(store, session, "checked")
    assert see(store, count_closed_tasks, other.id) == ClosedCount()


def test_what_was_reopened_does_not_count(store, run, session):
    task = close(store, session, "checked")
    do(store, task_moves.reopen, task.id, by=ANN)
    assert see(store, count_closed_tasks, run.id) == ClosedCount()


def test_what_it_tried_and_a_person_closed_counts_once(store, run, session):
    task = put(store)
    do(store, sessions.begin_iteration, session, by=SYSTEM)
    with store.write(by=SYSTEM) as tx:
        ITERATIONS.update(tx, {"task_started": task.id}, "session = ?", session)
    assert see(store, count_closed_tasks, run.id) == ClosedCount()
    do(store, task_moves.finish, task.id, by=ANN)
    assert see(store, count_closed_tasks, run.id) == ClosedCount(said=1)
