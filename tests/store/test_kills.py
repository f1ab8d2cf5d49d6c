"""A process killed in the middle of its writes leaves nothing half done, and nothing it acknowledged is lost."""

import os
import signal
import sqlite3

from binnacle.store.views import search
from store.processes import crowd
from store.test_dependency_counts import check_counts, check_no_circle, check_shape
from store.verbs import ANN, put, rows, see

ROUNDS = 10


def killed_while_writing(place, patience):
    """What a writer acknowledged until it was killed, `patience` lines after it began."""
    with crowd(place, 2, "toil") as process:
        said = [process.stdout.readline() for _ in range(patience)]
        os.killpg(process.pid, signal.SIGKILL)
        rest, _ = process.communicate(timeout=60)
    # The last line may be cut off by the kill.
    return [line.split() for line in ("".join(said) + rest).split("\n")[:-1]]


def check_whole(store):
    """Every transaction is there with all it did, or not at all."""
    # A server may still be ending what its dead client began; a writer waits for that.
    with store.write(by=ANN):
        pass
    check_counts(store)
    check_no_circle(store)
    check_shape(store)
    (tasks_there,) = rows(store, "select count(*) from task")
    assert rows(store, "select count(*) from event where entity = 'task' and action = 'added'") == [tasks_there]
    assert tasks_there[0] % 3 == 0
    for table, share in (("dependency", 1), ("comment", 1 / 3), ("search", 4 / 3)):
        assert rows(store, f"select count(*) from {table}") == [(round(tasks_there[0] * share),)]
    by_status = dict(rows(store, "select status, count(*) from task group by status"))
    by_action = dict(rows(store, "select action, count(*) from event where entity = 'task' group by action"))
    assert by_status.get("in_progress", 0) == 0
    assert by_status.get("done", 0) == by_action.get("done", 0) == by_action.get("started", 0)


def test_killed_writers_lose_nothing_they_acknowledged_and_leave_nothing_half_written(place):
    store = place.open()
    added, finished = set(), set()
    for number in range(ROUNDS):
        said = killed_while_writing(place, patience=1 + number * 3)
        added |= {task_id for line in said if line[0] == "added" for task_id in line[1:]}
        finished |= {task_id for line in said if line[0] == "finished" for task_id in line[1:]}
        check_whole(store)
        there = dict(rows(store, "select id, status from task"))
        assert added <= there.keys()
        assert {task_id for task_id in finished if there[task_id] != "done"} == set()
    assert len(finished) >= ROUNDS
    # And it goes on working.
    put(store, "after all that")
    assert [hit.title for hit in see(store, search.find_text, "after all that")] == ["after all that"]


def test_a_killed_sqlite_writer_leaves_a_sound_file(sqlite_place):
    for number in range(5):
        killed_while_writing(sqlite_place, patience=2 + number)
        with sqlite3.connect(sqlite_place.where) as db:
            assert db.execute("pragma integrity_check").fetchall() == [("ok",)]
            assert db.execute("pragma foreign_key_check").fetchall() == []
        db.close()
