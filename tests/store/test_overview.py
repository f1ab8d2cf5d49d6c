"""The state of a project in numbers."""

from binnacle.store import comments, features, learnings, notes, queue, task_moves
from binnacle.store.views import overview
from binnacle.store.views.overview import FeatureCount
from binnacle.work.closed_count import ClosedCount
from store.verbs import AGENT, do, put, see


def test_an_empty_project_counts_nothing(store):
    found = see(store, overview.load_stats)
    assert (found.overview.tasks, found.overview.ready, found.overview.by_status) == (0, 0, {})
    assert (found.features, found.claims, found.events) == ([], {}, 0)


def test_tasks_are_counted_as_they_stand(store):
    first = put(store)
    put(store, depends_on=(first.id,))
    put(store, status="draft")
    put(store, status="done")
    do(store, queue.add, [first.id])
    found = see(store, overview.load_overview)
    assert (found.tasks, found.ready, found.waiting, found.queued) == (4, 1, 1, 1)
    assert found.by_status == {"draft": 1, "pending": 2, "done": 1}


def test_everything_worth_counting_is_counted(store):
    do(store, features.add, "login", {})
    mine = put(store, feature="login", priority=0, kind="bug")
    put(store, feature="login", status="done")
    put(store, feature="login", status="cancelled")
    put(store, priority=4)
    do(store, task_moves.start, mine.id, by=AGENT)
    do(store, comments.add, mine.id, "remark")
    do(store, learnings.add, "water is wet")
    do(store, notes.add, [("tip", "remember"), ("tip", "or not")])
    found = see(store, overview.load_stats)
    assert found.open_by_priority == {"critical": 1, "backlog": 1}
    assert found.by_kind == {"bug": 1, "task": 3}
    assert found.features == [
        FeatureCount(feature="", open=1, done=0),
        FeatureCount(feature="login", open=1, done=1, proof=ClosedCount(said=1, cancelled=1)),
    ]
    assert found.overview.proof == ClosedCount(said=1, cancelled=1)
    assert see(store, overview.count_by_feature, "login") == found.features[1:]
    assert see(store, overview.count_by_feature, "nowhere") == []
    assert found.claims == {AGENT.name: 1}
    assert (found.comments, found.learnings, found.notes) == (1, 1, 2)
    assert found.events == 10
