"""A closed task that no longer holds is opened again, or another task is opened for it."""

from datetime import timedelta

from msgspec.structs import replace

from binnacle.store import comments, evidence, questions, regressions, runs, sessions, task_moves
from binnacle.store.transaction import StoreOutlook
from binnacle.store.views import closed_work
from binnacle.work.actor import SYSTEM
from binnacle.work.done_gate import TrustedCheck
from binnacle.work.regression import BrokenTests, Culprit, CulpritSearch, Regression
from places import NOW
from store.test_evidence import a_result
from store.verbs import actions, again, do, put, see

CULPRIT = CulpritSearch(culprit=Culprit(commit="c7" * 20, title="the seventh", task="bn-0007"))


def broken(task_id: str = "", **changes) -> Regression:
    made = Regression(
        task_id=task_id, check="tests", broken_tests=BrokenTests(failed=("a::b",)), commit="d9" * 20, search=CULPRIT
    )
    return replace(made, **changes)


def close(store, **fields):
    task = put(store, **fields)
    return do(store, task_moves.finish, task.id, force=True).task


def begin_session(store, run: str) -> str:
    """A session of a run."""
    session = do(store, sessions.start).id
    do(store, sessions.join_run, session, run, "here")
    return session


def test_it_is_reopened_with_what_broke_it(store):
    task = close(store)
    opened = do(store, regressions.reopen, [broken(task.id), broken(task.id, check="lint")])
    assert (opened.task.id, opened.task.status, opened.how) == (task.id, "pending", "reopened")
    assert opened.task.evidence_level == ""
    (comment,) = see(store, comments.list_comments, task.id)
    assert "c7c7c7c7 (the seventh), of bn-0007 broke it" in comment.body
    assert "'lint'" in comment.body
    assert actions(store, task.id)[-2:] == ["reopened", "regressed"]
    assert do(store, regressions.reopen, [broken(task.id)]).how == "noted"
    assert len(see(store, comments.list_comments, task.id)) == 1


def test_what_cannot_be_reopened_gets_a_task_that_names_the_commit(store):
    task = close(store, title="the parser")
    put(store, title="the parser")
    opened = do(store, regressions.reopen, [broken(task.id)])
    assert (opened.how, opened.task.kind, opened.task.priority) == ("added", "bug", 1)
    assert "c7c7c7c7" in opened.task.title
    assert opened.task.checks == ("tests",)
    assert again(store, task).status == "done"
    for gone in ("bn-ffff", do(store, task_moves.skip, put(store).id, reason="not needed").task.id):
        assert do(store, regressions.reopen, [broken(gone)]).how == "added"
    first = do(store, regressions.reopen, [broken(tasks=("bn-0001",))], feature=None)
    assert first.how == "added"
    again_found = do(store, regressions.reopen, [broken(tasks=("bn-0001",))])
    assert (again_found.task.id, again_found.how) == (first.task.id, "noted")


def test_after_so_many_times_a_person_has_to_look(store):
    task = close(store)
    run = do(store, runs.start, "words", feature=None, asked="", asked_file="")
    session = begin_session(store, run.id)
    for how in ("reopened", "reopened", "handed over"):
        opened = do(store, regressions.reopen, [broken(task.id)], max_times=2, by=SYSTEM, session=session)
        assert opened.how == how
        if how == "reopened":
            do(store, task_moves.finish, task.id, force=True)
    assert again(store, task).status == "needs_input"
    (question,) = see(store, questions.list_task_questions, task.id)
    assert "done and broken again 3 times" in question.text
    do(store, questions.answer, question.id, "try once more", now=NOW + timedelta(minutes=1))
    do(store, task_moves.finish, task.id, force=True)
    later = {"by": SYSTEM, "session": session, "now": NOW + timedelta(minutes=2)}
    assert do(store, regressions.reopen, [broken(task.id)], max_times=2, **later).how == "reopened"


def test_what_a_task_was_closed_with_is_found_by_commit_and_by_tree(place):
    checks = (TrustedCheck(name="tests", definition="d1", is_for_all=True), TrustedCheck(name="lint", definition="d9"))
    store = place.open()
    task = put(store, checks=("lint",), acceptance_criteria=("it adds up [check: gone] [test: a::b]",))
    kept = do(store, evidence.add, a_result(task.id))
    with_checks = place.open(outlook=StoreOutlook(find_checks=lambda: checks))
    do(store, task_moves.finish, task.id, force=True)
    with store.write(by=SYSTEM) as tx:
        tx.run("update task set evidence_level = 'checked', evidence_commit = 'c1' where id = ?", task.id)
    later = do(store, evidence.add, a_result(task.id, definition="d2"), now=NOW + timedelta(days=1))
    (work,) = see(with_checks, closed_work.read_closed_work, [task.id], {"c1": "t1"})
    assert work.tests == ("a::b",)
    assert [(one.name, one.definition, one.is_own) for one in work.checks] == [
        ("lint", "d9", True),
        ("gone", "", True),
        ("tests", "d1", False),
    ]
    assert work.checks[2].then == later  # when it was proven is not known
    assert "no check 'gone' is trusted here" in work.checks[1].problem
    with store.write(by=SYSTEM) as tx:
        tx.run("update task set evidence_at = ? where id = ?", "2026-03-01T12:00:00.000Z", task.id)
    (work,) = see(with_checks, closed_work.read_closed_work, [task.id], {})
    assert work.checks[2].then == kept
    elsewhere = do(store, evidence.add, a_result(check_name="lint"), now=NOW + timedelta(days=1))
    do(store, evidence.add, a_result(check_name="another"), now=NOW + timedelta(days=1))
    (work,) = see(with_checks, closed_work.read_closed_work, [task.id], {})
    assert [(one.name, one.then) for one in work.checks] == [("lint", elsewhere), ("gone", None), ("tests", kept)]
    with store.write(by=SYSTEM) as tx:
        tx.run("update task set evidence_commit = 'c5' where id = ?", task.id)
    (work,) = see(with_checks, closed_work.read_closed_work, [task.id], {"c5": "t1"})
    assert work.checks[2].then == kept
    assert see(store, closed_work.find_task_of_commits, ["c5"], []) == (task.id, task.title)
    assert see(store, closed_work.find_task_of_commits, ["c6"], ["bn-ffff", task.id]) == (task.id, task.title)
    assert see(store, closed_work.find_task_of_commits, ["c6"], []) == ("", "")


def test_tasks_of_a_run_are_those_that_it_closed_and_that_still_are(store):
    run = do(store, runs.start, "words", feature=None, asked="", asked_file="")
    session = begin_session(store, run.id)
    first, second, other = put(store), put(store), put(store)
    for task in (second, first):
        do(store, task_moves.finish, task.id, by=SYSTEM, session=session)
    do(store, task_moves.finish, other.id)
    assert [one.id for one in see(store, closed_work.list_done_in_run, run.id)] == [first.id, second.id]
    do(store, task_moves.reopen, first.id)
    assert [one.id for one in see(store, closed_work.list_done_in_run, run.id)] == [second.id]
    assert {one.id for one in see(store, closed_work.list_done)} == {second.id, other.id}


def test_a_tree_is_known_by_its_passes_and_by_what_was_said_of_it_alone(store):
    key = {"tree": "t1", "definition": "d1", "environment": "e1"}
    do(store, evidence.add, a_result(verdict="fail"))
    assert see(store, evidence.find_of_tree, **key) is None
    passed = do(store, evidence.add, a_result())
    assert see(store, evidence.find_of_tree, **key) == passed
    alone = do(store, evidence.add, a_result(verdict="fail", base="c1"))
    assert see(store, evidence.find_of_tree, **key) == alone
    for other in ({"tree": "t2"}, {"definition": "d2"}, {"environment": "e2"}):
        assert see(store, evidence.find_of_tree, **(key | other)) is None
    trees = [f"t{number}" for number in range(600)]
    assert see(store, evidence.find_passing_trees, definition="d1", environment="e1", trees=trees) == {"t1"}
    assert see(store, evidence.find_passing_trees, definition="d1", environment="e1", trees=[]) == set()
