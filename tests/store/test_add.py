"""Tasks are added alone or in batches, all or none."""

import pytest

from binnacle.errors import InvalidInput, NotFound
from binnacle.store import dependencies, features, task_deletion, tasks
from binnacle.work.status import STATUSES
from binnacle.work.task import NewTask
from places import NOW
from store.verbs import again, contents, do, put, ready, see


def test_a_task_is_kept_as_it_was_given(store):
    do(store, features.add, "login", {})
    do(store, features.add_discipline, "backend", {})
    parent = put(store, "the whole")
    task = put(
        store,
        "mend the form",
        description="it\nbreaks",
        kind="bug",
        priority=0,
        feature="login",
        discipline="backend",
        parent=parent.id,
        acceptance_criteria=("it works",),
        context_files=("src/form.py",),
        hints="look at the validator",
        pseudocode="read, then write",
        output_artifacts=("form.py",),
        estimated_turns=3,
        tags=("ui", "urgent"),
        covers=("R2", "R7"),
        provenance="agent",
    )
    assert again(store, task) == task
    assert (task.title, task.description, task.kind, task.priority) == ("mend the form", "it\nbreaks", "bug", 0)
    assert (task.feature, task.discipline, task.parent) == ("login", "backend", parent.id)
    assert (task.acceptance_criteria, task.context_files) == (("it works",), ("src/form.py",))
    assert (task.output_artifacts, task.tags) == (("form.py",), ("ui", "urgent"))
    assert (task.hints, task.pseudocode, task.estimated_turns) == ("look at the validator", "read, then write", 3)
    assert task.covers == ("R2", "R7")
    assert (task.provenance, task.status, task.fence) == ("agent", "pending", 0)
    assert task.created_at == task.updated_at == NOW


def test_text_of_any_script_is_kept(store):
    task = put(store, "日本語 ελληνικά हिन्दी 👩‍🚀", description="'; drop table task; -- %s ? \\ {x}")
    assert again(store, task).title == "日本語 ελληνικά हिन्दी 👩‍🚀"
    assert again(store, task).description == "'; drop table task; -- %s ? \\ {x}"


def test_numbers_count_up_and_are_never_used_again(store):
    first, second = put(store), put(store)
    do(store, task_deletion.delete_task, second.id)
    assert first.number < second.number < put(store).number


@pytest.mark.parametrize("status", [status for status in STATUSES if status != "in_progress"])
def test_a_task_may_begin_in_every_status_but_in_progress(store, status):
    task = put(store, status=status)
    assert task.status == status
    assert (task.closed_at is not None) == (status in ("done", "cancelled"))


def test_a_task_does_not_begin_in_progress(store):
    with pytest.raises(InvalidInput, match="cannot be in progress"):
        put(store, status="in_progress")


def test_a_batch_keeps_its_order(store):
    made = do(store, tasks.add, [NewTask(title=f"step {number}") for number in range(20)])
    assert [task.title for task in made] == ready(store) == [f"step {number}" for number in range(20)]


def test_nothing_to_add_is_no_error(store):
    assert do(store, tasks.add, []) == []


def test_a_batch_refers_to_its_earlier_tasks_by_place(store):
    known = put(store, "known")
    one, two, three = do(
        store,
        tasks.add,
        [
            NewTask(title="one"),
            NewTask(title="two", depends_on=("#1",), reason="needs one"),
            NewTask(title="three", depends_on=("#1", "#2", known.id, "#1")),
        ],
    )
    waits = see(store, dependencies.dependencies_of, [two.id, three.id])
    assert [(known.depends_on, known.reason) for known in waits[two.id]] == [(one.id, "needs one")]
    assert {known.depends_on for known in waits[three.id]} == {one.id, two.id, known.id}
    assert (one.open_dependencies, two.open_dependencies, three.open_dependencies) == (0, 1, 3)


@pytest.mark.parametrize("name", ["#2", "#3", "#0", "#", "#x", "#-1", "# 1", "#²"])
def test_a_batch_does_not_refer_to_itself_or_ahead(store, name):
    before = contents(store)
    with pytest.raises(InvalidInput, match="task 2 of the batch depends on"):
        do(store, tasks.add, [NewTask(title="one"), NewTask(title="two", depends_on=(name,))])
    assert contents(store) == before


def test_finished_dependencies_are_not_counted_as_open(store):
    done, cancelled, waiting = put(store, status="done"), put(store, status="cancelled"), put(store)
    task = put(store, depends_on=(done.id, cancelled.id, waiting.id))
    assert task.open_dependencies == 1


@pytest.mark.parametrize(
    ("fields", "message", "hint"),
    [
        ({"feature": "logn"}, "no feature 'logn'", "did you mean 'login'?"),
        ({"discipline": "backedn"}, "no discipline 'backedn'", "did you mean 'backend'?"),
        ({"parent": "bn-00000"}, "no task 'bn-00000'", "bn task list"),
        ({"depends_on": ("bn-00000",)}, "no task 'bn-00000'", "bn task list"),
    ],
)
def test_an_unknown_name_or_id_leaves_the_store_as_it_was(store, fields, message, hint):
    do(store, features.add, "login", {})
    do(store, features.add_discipline, "backend", {})
    before = contents(store)
    with pytest.raises(NotFound, match=message) as caught:
        do(store, tasks.add, [NewTask(title="good"), NewTask(title="bad", **fields)])
    assert hint in caught.value.hint
    assert contents(store) == before


def test_a_failure_after_the_tasks_were_written_undoes_them(store):
    before = contents(store)

    def add_and_fail(tx):
        tasks.add(tx, [NewTask(title="soon gone")])
        raise RuntimeError("by the way")

    with pytest.raises(RuntimeError, match="by the way"):
        do(store, add_and_fail)
    assert contents(store) == before
    assert put(store, "soon gone").title == "soon gone"
