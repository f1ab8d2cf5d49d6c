"""Titles are told apart among the open tasks of one feature. Everywhere else they repeat."""

import msgspec
import pytest

from binnacle.errors import Duplicate, Refused
from binnacle.store import dependencies, feature_merge, features, task_moves, tasks, undo
from binnacle.store.maintenance.export_format import TABLES, ExportContent, ExportManifest
from binnacle.store.maintenance.importer import import_content
from binnacle.work.task import NewTask
from store.overlap import Meanwhile, wait_until_someone_waits
from store.verbs import AGENT, ANN, NOW, contents, do, put, ready, see


@pytest.fixture
def two_features(store):
    do(store, features.add, "login", {})
    do(store, features.add, "billing", {})
    return store


@pytest.mark.parametrize("title", ["mend the form", "  Mend  THE form\n", "MEND THE FORM"])
def test_a_title_that_repeats_is_refused_with_who_has_it(store, title):
    task = put(store, "mend the form")
    before = contents(store)
    with pytest.raises(Duplicate, match=f"a task with this title exists: {task.id}") as caught:
        put(store, title)
    assert caught.value.details == {"existing": task.id, "status": "pending"}
    assert f"bn task show {task.id}" in caught.value.hint
    assert contents(store) == before


@pytest.mark.parametrize("title", ["Mend forms.", "mend a form", "mend the form!"])
def test_a_title_that_nearly_repeats_is_refused_with_who_has_it(store, title):
    task = put(store, "mend the form")
    with pytest.raises(Duplicate, match=f"a task with nearly this title exists: {task.id}"):
        put(store, title)


def test_a_small_typo_makes_no_new_title(store):
    task = put(store, "send notifications of the calendar")
    with pytest.raises(Duplicate, match=task.id):
        put(store, "Send notificatons of the calendar")
    assert put(store, "send notifications of the calendar v2").id != task.id


def test_a_title_that_repeats_within_a_batch_is_refused(store):
    before = contents(store)
    with pytest.raises(Duplicate, match="the same title twice in one batch: 'mend it'"):
        do(store, tasks.add, [NewTask(title="mend it"), NewTask(title="other"), NewTask(title=" MEND it")])
    with pytest.raises(Duplicate, match="nearly the same title twice in one batch: 'mend a form' and 'mend forms'"):
        do(store, tasks.add, [NewTask(title="mend a form"), NewTask(title="mend forms")])
    assert contents(store) == before


@pytest.mark.parametrize("status", ["done", "cancelled"])
def test_the_title_of_a_closed_task_is_free(store, status):
    old = put(store, "write tests", status=status)
    new = put(store, "write tests")
    assert new.id != old.id
    assert put(store, "write tests", status=status).id != new.id


def test_the_same_title_in_another_feature_is_free(two_features):
    one, two = (put(two_features, "write tests", feature=name) for name in ("login", "billing"))
    assert len({one.id, two.id, put(two_features, "write tests").id}) == 3
    with pytest.raises(Duplicate, match=two.id):
        put(two_features, "write tests", feature="billing")


def test_titles_of_a_large_batch_are_all_checked(store):
    put(store, "step 1150")
    with pytest.raises(Duplicate, match="'step 1150'"):
        do(store, tasks.add, [NewTask(title=f"step {number}") for number in range(1200)])
    assert ready(store) == ["step 1150"]


def test_what_exists_is_left_out_of_a_batch_and_named(store):
    known = put(store, "mend the form")
    added = do(
        store,
        tasks.add_new,
        [
            NewTask(title="Mend forms"),
            NewTask(title="test it", depends_on=("#1",)),
            NewTask(title="test it!"),
            NewTask(title="ship it", depends_on=("#3",)),
        ],
    )
    test, ship = added.tasks
    assert [task.title for task in added.tasks] == ["test it", "ship it"]
    assert [(one.title, one.existing, one.existing_title) for one in added.skipped] == [
        ("Mend forms", known.id, "mend the form"),
        ("test it!", test.id, "test it"),
    ]
    waits = see(store, dependencies.targets_of, [test.id, ship.id])
    assert (waits[test.id], waits[ship.id]) == ([known.id], [test.id])


def test_a_batch_of_nothing_new_adds_nothing(store):
    known = put(store, "mend the form")
    before = contents(store)
    added = do(store, tasks.add_new, [NewTask(title="mend the form")])
    assert (added.tasks, added.skipped[0].existing) == ([], known.id)
    assert contents(store) == before


def test_a_task_does_not_take_the_title_of_another_when_it_changes(two_features):
    store = two_features
    known = put(store, "write tests", feature="login")
    other = put(store, "write tests", feature="billing")
    with pytest.raises(Duplicate, match=known.id):
        do(store, tasks.update, other.id, {"feature": "login"})
    renamed = do(store, tasks.update, other.id, {"feature": "login", "title": "write tests of bills"})
    with pytest.raises(Duplicate, match=known.id):
        do(store, tasks.update, renamed.id, {"title": "Write the tests"})
    assert do(store, tasks.update, known.id, {"title": "Write the tests"}).title == "Write the tests"
    with pytest.raises(Duplicate, match=known.id):
        put(store, "write tests", feature="login")


@pytest.mark.parametrize("status", ["done", "cancelled"])
def test_a_closed_task_is_not_reopened_while_another_has_its_title(store, status):
    old = put(store, "mend it", status=status)
    new = put(store, "Mend it")
    with pytest.raises(Duplicate, match=new.id):
        do(store, task_moves.reopen, old.id)
    do(store, task_moves.skip, new.id, reason="twice")
    assert do(store, task_moves.reopen, old.id).task.status == "pending"


def test_features_with_the_same_open_title_are_not_merged(two_features):
    store = two_features
    one = put(store, "write tests", feature="login")
    two = put(store, "Write the tests", feature="billing")
    put(store, "write docs", feature="login", status="done")
    put(store, "write docs", feature="billing")
    before = contents(store)
    with pytest.raises(Duplicate, match=f"{one.id} of 'login' and {two.id} of 'billing'") as caught:
        do(store, feature_merge.merge_features, "login", "billing")
    assert contents(store) == before
    assert one.id in caught.value.hint
    do(store, task_moves.skip, one.id, reason="twice")
    assert do(store, feature_merge.merge_features, "login", "billing").name == "billing"


def test_undoing_does_not_bring_a_title_back_that_another_task_has_now(store):
    task = put(store, "mend it")
    do(store, task_moves.finish, task.id)
    other = put(store, "mend it", by=AGENT)
    with store.write(by=ANN, now=NOW) as tx, pytest.raises(Refused, match=other.id):
        undo.undo(tx, undo.choose_last(tx, ANN.name, count=1))


def test_an_imported_open_task_gets_another_title_and_a_closed_one_keeps_its_own(two_features):
    store = two_features
    put(store, "write tests", feature="login")
    put(store, "write docs")
    elsewhere = [
        (put(store, "a", feature="login"), {"title": "Write tests"}),
        (put(store, "b", feature="billing"), {"title": "write tests"}),
        (put(store, "c", status="done"), {"title": "write docs"}),
    ]
    moved = [
        msgspec.structs.replace(task, id=f"bn-aaa{number}", **changes)
        for number, (task, changes) in enumerate(elsewhere)
    ]
    manifest = ExportManifest(format="", version=1, binnacle="", schema=6, exported_at="", counts={})
    entities = {name: moved if name == "task" else [] for name in TABLES}
    report = do(store, import_content, ExportContent(manifest=manifest, entities=entities))
    assert report.renamed == {"bn-aaa0": "Write tests (2)"}
    assert [see(store, tasks.get, f"bn-aaa{number}").title for number in range(3)] == [
        "Write tests (2)",
        "write tests",
        "write docs",
    ]


def test_two_writers_do_not_give_out_nearly_the_same_title(place):
    store, other = place.open(), place.open()
    with store.write(by=AGENT) as tx:
        meanwhile = Meanwhile(lambda: put(other, "Write the tests"))
        wait_until_someone_waits(place)
        mine = tasks.add(tx, [tasks.NewTask(title="write tests")])
    assert meanwhile.result().details["existing"] == mine[0].id
