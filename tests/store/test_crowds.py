"""Many processes at once: nothing is taken twice, nothing is lost, no rule is broken between them."""

import pytest

from binnacle.store import dependencies, tasks
from binnacle.store.schema_migration import LATEST_SCHEMA
from binnacle.work.task import NewTask
from store.processes import lines_of
from store.test_dependency_counts import check_counts, check_no_circle, check_shape
from store.verbs import do, ready, rows, see

CROWD = 32
TASKS = 2000


@pytest.mark.timeout(240)
def test_thirty_two_processes_claim_two_thousand_tasks_each_exactly_once(place):
    store = place.open()
    made = do(store, tasks.add, [NewTask(title=f"task {number}", priority=number % 5) for number in range(TASKS)])
    claims = lines_of(place, CROWD, "claim")
    assert sorted(task_id for task_id, _, _ in claims) == sorted(task.id for task in made)
    assert {fence for _, fence, _ in claims} == {"1"}
    held = rows(store, "select id, claimed_by from task where status = 'in_progress'")
    assert sorted(held) == sorted((task_id, agent) for task_id, _, agent in claims)
    started = rows(store, "select entity_id, actor from event where action = 'started'")
    assert sorted(started) == sorted(held)
    assert ready(store) == []


def test_thirty_two_processes_open_a_new_store_at_once(place):
    made = lines_of(place, CROWD, "enter")
    assert len(made) == CROWD
    store = place.open()
    assert sorted(task.id for task in see(store, tasks.list_ready, limit=100)[0]) == sorted(line[0] for line in made)
    with store.read():
        assert store._connection.schema_version() == LATEST_SCHEMA


def test_opposite_dependencies_made_at_once_never_close_a_circle(place):
    store = place.open()
    ids = [task.id for task in do(store, tasks.add, [NewTask(title=f"task {number}") for number in range(6)])]
    said = lines_of(place, 8, "tie", *ids)
    outcomes = {line[0] for line in said}
    assert outcomes == {"tied", "refused"}
    assert {line[1] for line in said if line[0] == "refused"} == {"E_CYCLE"}
    check_no_circle(store)
    check_counts(store)
    check_shape(store)
    tied = {(line[1], line[2]) for line in said if line[0] == "tied"}
    kept = {
        (known.task_id, known.depends_on)
        for found in see(store, dependencies.dependencies_of, ids).values()
        for known in found
    }
    assert kept == tied
