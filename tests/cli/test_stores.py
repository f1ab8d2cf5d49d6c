"""The stores of a machine: which place each belongs to, how a lost one is found again, and how they go."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cli.conftest import Bn


def repository(bn: Bn, path: Path) -> Bn:
    subprocess.run(["git", "init", "--quiet", str(path)], check=True, timeout=60)
    return Bn(path, bn.env)


def states(bn: Bn) -> dict[str, str]:
    return {Path(store["place"]).name: store["state"] for store in bn("store", "list")["stores"]}


@pytest.fixture
def lost(bn, tmp_path):
    """A repository that is in place of one that went, id and all; returns it with the id of what is left."""
    old = repository(bn, tmp_path / "shop")
    old.add("One")
    key = old("store", "show")["project"]
    shutil.rmtree(old.repo)
    return repository(bn, tmp_path / "new" / "shop"), key


def test_the_list_has_every_store_with_its_place(bn, tmp_path):
    bn.add("One")
    other = repository(bn, tmp_path / "other")
    other.add("Two")
    other.add("Three")
    assert states(bn) == {"repo": "here", "other": "there"}
    (first, second) = bn("store", "list")["stores"]
    assert (first["tasks"], second["tasks"]) == (2, 1), "the one that changed last is first"
    assert first["bytes"] > 0
    shown = bn.human("store", "list")
    assert "this project" in shown
    assert other("store", "show")["project"] in shown
    shutil.rmtree(other.repo)
    assert states(bn) == {"repo": "here", "other": "gone"}


def test_a_store_left_behind_is_named_when_a_new_one_begins(lost):
    shop, key = lost
    done = shop.run("task", "add", "Two")
    assert f"'bn store adopt {key}' takes them over" in done.err
    assert shop.run("task", "add", "Three").err == ""


def test_the_doctor_does_not_call_it_well_when_a_store_was_left_behind(lost):
    shop, key = lost
    found = shop.run("doctor")
    assert found.code == 1
    (finding,) = found.json["findings"]
    assert finding["check"] == "lost store"
    assert f"bn store adopt {key}" in finding["hint"]
    shop.add("Two")
    assert shop("doctor")["healthy"] is True, "with tasks of its own it is only a hint"


@pytest.mark.parametrize("words", [["adopt"], ["adopt", "a prefix"]])
def test_adopting_a_store_brings_its_tasks_here(lost, tmp_path, words):
    shop, key = lost
    adopted = shop("store", "adopt", key if len(words) == 1 else key[:8])
    assert (adopted["id"], adopted["state"], adopted["place"]) == (key, "here", str(shop.repo))
    assert shop("ready")["tasks"][0]["title"] == "One"
    assert shop("doctor")["findings"] == []
    shop.repo.rename(tmp_path / "later")
    assert Bn(tmp_path / "later", shop.env)("ready")["tasks"][0]["title"] == "One"


def test_outside_of_git_a_moved_folder_adopts_what_it_left(bn, tmp_path):
    (tmp_path / "a" / "notes").mkdir(parents=True)
    Bn(tmp_path / "a" / "notes", bn.env).add("One")
    (tmp_path / "a").rename(tmp_path / "b")
    moved = Bn(tmp_path / "b" / "notes", bn.env)
    (store,) = moved("store", "list")["stores"]
    assert store["state"] == "gone"
    moved("store", "init")
    moved("store", "adopt", store["id"])
    assert moved("ready")["tasks"][0]["title"] == "One"
    assert moved("doctor")["findings"] == []
    assert [one["state"] for one in moved("store", "list")["stores"]] == ["here"]


def test_a_store_in_use_or_over_other_tasks_is_not_adopted(bn, lost, tmp_path):
    shop, key = lost
    bn.add("Mine")
    error = shop.fails("store", "adopt", bn("store", "show")["project"])
    assert str(bn.repo) in error["message"]
    error = bn.fails("store", "adopt", key)
    assert "already has 1 task" in error["message"]
    assert shop.fails("store", "adopt", "nothing")["code"] == "E_NOT_FOUND"
    (tmp_path / "data" / key / "project").unlink()
    assert "older" in shop.fails("store", "adopt", key)["message"]
    assert shop("store", "adopt", key, "--force")["state"] == "here"


def test_an_emptied_store_gives_way_to_an_adopted_one(lost):
    shop, key = lost
    shop.add("Two")
    shop("store", "clear", "--yes")
    assert shop("store", "adopt", key)["id"] == key
    assert shop("ready")["tasks"][0]["title"] == "One"
    assert len(shop("store", "prune")["stores"]) == 1, "the emptied one is of no use any more"


def test_prune_removes_what_is_empty_and_whose_place_is_gone(bn, lost, tmp_path):
    _, key = lost
    empty = repository(bn, tmp_path / "empty")
    empty("store", "init")
    name = empty("store", "show")["project"]
    bn("store", "init")
    shutil.rmtree(empty.repo)
    assert [store["id"] for store in bn("store", "prune", "--dry-run")["stores"]] == [name]
    assert (tmp_path / "data" / name).exists()
    assert f"removed {name}" in bn.human("store", "prune")
    assert {path.name for path in (tmp_path / "data").iterdir()} == {key, bn("store", "show")["project"]}
    assert bn.human("store", "prune") == "nothing to remove\n"


@pytest.mark.parametrize("words", [["--all"], ["shop-"]])
def test_tasks_are_removed_only_by_somebody_who_says_so(bn, lost, tmp_path, words):
    _, key = lost
    assert "--yes" in bn.fails("store", "prune", *words, code=2)["hint"]
    assert (tmp_path / "data" / key / "store.db").exists()
    bn("store", "prune", *words, "--yes")
    assert not (tmp_path / "data" / key).exists()


@pytest.mark.parametrize("words", [[], ["--all"], ["shop-"]])
def test_a_store_with_working_trees_of_runs_is_never_removed(bn, lost, tmp_path, words):
    """Their repository is gone, so they may be the last copy of somebody's work."""
    _, key = lost
    work = tmp_path / "data" / key / "worktrees" / "night" / "trees" / "1" / "cart.py"
    work.parent.mkdir(parents=True)
    work.write_text("half done")
    if words == ["shop-"]:
        assert "worktrees" in bn.fails("store", "prune", *words, "--yes")["hint"]
    else:
        assert bn("store", "prune", *words, "--yes")["stores"] == []
    assert work.read_text() == "half done"


def test_a_store_in_use_is_never_pruned(bn, tmp_path):
    bn.add("One")
    other = repository(bn, tmp_path / "other")
    assert bn("store", "prune", "--all", "--yes")["stores"] == []
    for one in (bn, other):
        assert "in use" in one.fails("store", "prune", "repo-", "--yes")["message"]
    assert bn("ready")["total"] == 1


def test_what_a_killed_removal_left_goes_with_the_next(bn, tmp_path):
    bn.add("One")
    left = tmp_path / "data" / ".removed-x"
    left.mkdir()
    bn("store", "prune")
    assert not left.exists()
