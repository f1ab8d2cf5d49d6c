"""Results of checks, quarantine and waivers are kept, found, moved with a store, and restored."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from binnacle.errors import InvalidInput, NotFound, PersonNeeded
from binnacle.store import evidence, quarantine, task_moves, tasks, undo, waivers
from binnacle.store.maintenance.checks import check_store
from binnacle.store.maintenance.export_format import export_lines, read_lines
from binnacle.store.maintenance.importer import clear, import_content
from binnacle.store.task_deletion import delete_task
from binnacle.store.transaction import StoreOutlook
from binnacle.store.views.task_details import load_details
from binnacle.work.evidence import MAX_KEPT_IDS, Evidence
from places import NOW
from store.verbs import AGENT, ANN, actions, again, do, put, rows, see

DAY = timedelta(days=1)


def a_result(task=None, **changes):
    made = Evidence(
        id="", check_name="tests", definition="d1", commit_id="c1", tree="t1", base="c0", environment="e1",
        verdict="pass", ran=3, failed=("a::b",), exit_code=0, seconds=1.5, task_id=task, machine="box", created_at=NOW,
    )  # fmt: skip
    return replace(made, **changes)


def test_a_result_is_kept_as_it_is_and_found_by_what_it_belongs_to(store):
    task = put(store)
    kept = do(store, evidence.add, a_result(task.id))
    assert kept == a_result(task.id, id=kept.id)
    assert kept.id.startswith("bne-")
    assert see(store, evidence.get, kept.id) == kept
    key = {"tree": "t1", "base": "c0", "definition": "d1", "environment": "e1"}
    assert see(store, evidence.find, **key) == kept
    for other in ({"tree": "t2"}, {"base": "c9"}, {"definition": "d2"}, {"environment": "e2"}, {"is_bug": True}):
        assert see(store, evidence.find, **(key | other)) is None
    assert see(store, evidence.list_of_task, task.id) == see(store, evidence.list_of_commit, "c1") == [kept]
    assert see(store, evidence.list_evidence, limit=5) == ([kept], 1)
    assert see(store, load_details, task.id).evidence == (kept,)
    assert actions(store, kept.id) == ["checked"]
    with pytest.raises(NotFound):
        see(store, evidence.get, "bne-ffff")


def test_the_newest_result_counts_and_failures_stay_on_record(store):
    failed = do(store, evidence.add, a_result(verdict="fail"))
    passed = do(store, evidence.add, a_result())
    assert see(store, evidence.find, tree="t1", base="c0", definition="d1", environment="e1") == passed
    assert see(store, evidence.list_failures, "t1") == [failed]
    assert see(store, evidence.list_failures, "t2") == []


def test_a_flood_of_ids_is_cut(store):
    kept = do(store, evidence.add, a_result(failed=tuple(f"t{n}" for n in range(MAX_KEPT_IDS + 5)), reason="x" * 9000))
    assert (len(kept.failed), len(kept.reason)) == (MAX_KEPT_IDS, 2000)


def test_a_quarantine_has_an_owner_and_an_end_after_which_it_does_not_count(store):
    kept = do(store, quarantine.add, "tests", "a::b", ends_at=NOW + DAY, reason="waits for the clock")
    assert (kept.owner, see(store, quarantine.list_active), see(store, quarantine.list_active, "lint")) == (
        ANN.name, [kept], []
    )  # fmt: skip
    later = do(store, quarantine.add, "tests", "a::b", ends_at=NOW + 2 * DAY, owner="bob")
    assert see(store, quarantine.list_active, "tests") == [later]
    with store.read(now=NOW + 2 * DAY) as tx:
        assert quarantine.list_active(tx) == []
        assert quarantine.list_all(tx) == [later]
    do(store, quarantine.end, "tests", "a::b")
    assert see(store, quarantine.list_all) == []
    with pytest.raises(NotFound):
        do(store, quarantine.end, "tests", "a::b")


def test_agents_decide_neither_about_quarantine_nor_about_waivers(store):
    task = put(store)
    do(store, quarantine.add, "tests", "a::b", ends_at=NOW + DAY)
    for change, arguments in (
        (quarantine.add, ("tests", "c", )),
        (quarantine.end, ("tests", "a::b")),
        (waivers.add, (task.id, "no need")),
    ):  # fmt: skip
        options = {quarantine.add: {"ends_at": NOW + DAY}, waivers.add: {"checks": ()}}.get(change, {})
        with pytest.raises(PersonNeeded):
            do(store, change, *arguments, by=AGENT, **options)
    with pytest.raises(InvalidInput, match="future"):
        do(store, quarantine.add, "tests", "c", ends_at=NOW)


def test_evidence_survives_its_task_and_is_given_back_with_it(store):
    task = put(store)
    kept = do(store, evidence.add, a_result(task.id))
    do(store, delete_task, task.id)
    assert see(store, evidence.get, kept.id).task_id is None
    with store.write(by=ANN, now=NOW) as tx:
        undo.undo(tx, undo.choose_last(tx, ANN.name, count=1))
    assert see(store, evidence.get, kept.id) == kept


def test_a_store_takes_its_evidence_along(place, store):
    with place.open(outlook=StoreOutlook(find_checks=lambda: ())) as gated:
        task = put(gated, checks=("tests",), acceptance_criteria=("x [test: a::b]",))
        do(gated, task_moves.finish, task.id, waive="the vendor is down")
        kept = do(gated, evidence.add, a_result(task.id))
        held = do(gated, quarantine.add, "tests", "a::b", ends_at=NOW + DAY)
        before = again(gated, task)
        with gated.read() as tx:
            lines = list(export_lines(tx))
        do(gated, clear)
        assert see(gated, evidence.list_evidence, limit=5) == ([], 0)
        do(gated, import_content, read_lines(lines))
        assert again(gated, task) == replace(before, number=again(gated, task).number)
        assert see(gated, evidence.get, kept.id) == kept
        assert see(gated, quarantine.list_all) == [held]
        assert [one.reason for one in see(gated, waivers.list_waivers, task.id)] == ["the vendor is down"]
        again_imported = do(gated, import_content, read_lines(lines))
        assert not set(again_imported.added) & {"task", "evidence", "waiver", "quarantine"}


def test_doctor_notices_levels_that_nothing_shows(store):
    said, proven, still_open = put(store, status="done"), put(store, status="done"), put(store)
    assert check_store(store) == []
    with store.write(by=ANN) as tx:
        tx.run("update task set evidence_level = '' where id = ?", said.id)
        tx.run("update task set evidence_level = 'checked', evidence_commit = 'c1' where id = ?", proven.id)
        tx.run("update task set evidence_level = 'said' where id = ?", still_open.id)
    found = check_store(store, fix=True)
    assert sorted((one.check, one.fixed) for one in found) == [
        ("evidence", False), ("evidence levels", True), ("evidence levels", True)
    ]  # fmt: skip
    assert (again(store, said).evidence_level, again(store, still_open).evidence_level) == ("said", "")
    do(store, evidence.add, a_result(proven.id))
    assert check_store(store) == []


def test_what_was_done_before_there_were_levels_is_said(store):
    assert put(store, status="done").evidence_level == "said"
    assert rows(store, "select evidence_level from task") == [("said",)]
    assert see(store, tasks.list_tasks, tasks.TaskFilter(closed_too=True), limit=5)[0][0].evidence_commit == ""
