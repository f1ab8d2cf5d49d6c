"""`bn undo`, as people use it."""

import pytest


def statuses(bn, *ids):
    return [bn("task", "show", one)["task"]["status"] for one in ids]


def test_deleting_says_so_and_how_to_bring_it_back(bn):
    task = bn.add("Mend the login", "+login", "-d", "It fails.", "--after", bn.add("Design it"))
    bn("task", "comment", task, "tried it")
    before = bn("task", "show", task)
    said = bn.human("task", "delete", task)
    assert f"deleted {task} Mend the login" in said
    assert "restore it with: bn undo" in said
    shown = bn.human("undo")
    assert f'deleted {task} "Mend the login"' in shown
    after = bn("task", "show", task)
    for one in (before, after):
        del one["task"]["updated_at"]
    assert after == before


def test_one_command_on_several_tasks_is_one_change(bn):
    ids = [bn.add(f"Task {n}") for n in range(3)]
    bn("task", "done", *ids)
    answer = bn("undo")
    assert [task["id"] for task in answer["tasks"]] == ids
    assert statuses(bn, *ids) == ["pending"] * 3
    bn("undo", str(answer["number"]))
    assert statuses(bn, *ids) == ["done"] * 3


def test_the_last_changes_are_listed_with_their_numbers(bn):
    assert "no changes" in bn.human("undo", "--list")
    task = bn.add("One")
    bn("feature", "add", "auth")
    bn("task", "update", task, "+login")
    bn("undo")
    listed = bn("undo", "--list")
    assert [(one["state"], one["what"][0].split()[0]) for one in listed["changes"]] == [
        ("", "undid:"),
        ("undone", "changed"),
        ("cannot be undone", "added"),
        ("", "added"),
    ]
    assert listed["total"] == 4
    assert len(bn("undo", "--list", "-n", "2")["changes"]) == 2
    assert len(bn("undo", "--list", "-n", "0")["changes"]) == 4
    assert "2 older; -n 0 shows all" in bn.human("undo", "--list", "-n", "2")


def test_several_changes_are_undone_at_once_and_tried_first(bn):
    first, second = bn.add("One"), bn.add("Two")
    bn("task", "start", first)
    bn("task", "done", first)
    before = bn("task", "show", first, second), bn("log", "-n", "0")
    tried = bn("undo", "-n", "2", "--dry-run")
    assert [one["what"][0].split()[0] for one in tried["undone"]] == ["finished", "started"]
    assert (bn("task", "show", first, second), bn("log", "-n", "0")) == before
    bn("undo", "-n", "2")
    assert statuses(bn, first, second) == ["pending", "pending"]


def test_what_changed_since_is_named(bn):
    task = bn.add("One")
    bn("task", "update", task, "-p", "high")
    bn("task", "update", task, "-p", "low", env={"BN_USER": "bob"})
    for words in ([], ["--dry-run"]):
        error = bn.fails("undo", *words)
        assert error["code"] == "E_REFUSED"
        assert f"{task} was changed since by bob (updated)" in error["message"]
        assert f"bn log --of {task}" in error["hint"]
    assert bn("task", "show", task)["task"]["priority"] == 3


def test_what_cannot_be_undone_is_skipped_by_its_number(bn):
    task = bn.add("One")
    bn("task", "done", task)
    bn("feature", "add", "auth")
    error = bn.fails("undo")
    assert "feature auth" in error["message"]
    assert "bn undo --list" in error["hint"]
    number = bn("undo", "--list")["changes"][1]["number"]
    bn("undo", str(number))
    assert statuses(bn, task) == ["pending"]


def test_the_log_tells_of_it(bn):
    task = bn.add("One")
    bn("task", "done", task)
    again = bn("undo")["number"]
    bn("undo", str(again))
    told = [line[20:] for line in bn.human("log", "--of", task).splitlines()]
    assert told[2:] == [f'ann undid: finished {task} "One"', f'ann did again: finished {task} "One"']


def test_an_agent_undoes_nothing(bn):
    task = bn.add("One")
    bn("task", "done", task)
    agent = bn.agent("bob")
    error = bn.fails("undo", env=agent)
    assert error["code"] == "E_PERSON_NEEDED"
    other = bn("task", "add", "Two", env=agent)["tasks"][0]["id"]
    assert "undo" not in bn.human("task", "delete", other, env=agent)
    assert bn("undo", "--list", env=agent)["changes"] == []
    assert statuses(bn, task) == ["done"]


@pytest.mark.parametrize(
    "words", [["-n", "0"], ["-n", "-1"], ["3", "-n", "2"], ["x"], ["--list", "3"], ["--list", "-n", "-1"]]
)
def test_what_makes_no_sense_is_refused(bn, words):
    assert bn.fails("undo", *words, code=2)["hint"]


def test_an_unknown_change_is_not_found(bn):
    assert bn.fails("undo")["code"] == "E_NOT_FOUND"
    bn.add("One")
    assert "bn undo --list" in bn.fails("undo", "99")["hint"]


def test_clearing_the_store_leaves_nothing_to_undo(bn):
    bn.add("One")
    bn("store", "clear", "--yes")
    assert [one["state"] for one in bn("undo", "--list")["changes"]] == ["cannot be undone"]
