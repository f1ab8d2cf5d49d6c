"""A project is the same wherever its folder is: its id is in git's folder, and not its path."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from binnacle.config.directories import project_key
from cli.conftest import BN, Bn


def git(*words, at):
    command = ["git", "-c", "user.name=ann", "-c", "user.email=ann@example.com", *words]
    subprocess.run(command, cwd=at, check=True, capture_output=True, timeout=60)


def at(bn: Bn, folder: Path) -> Bn:
    return Bn(folder, bn.env)


def titles(bn: Bn) -> list[str]:
    return [task["title"] for task in bn("ready")["tasks"]]


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def folder(tmp_path):
    """A folder outside of git."""
    path = tmp_path / "plain"
    path.mkdir()
    return path


@pytest.mark.parametrize("first", ["ready", "add"])
def test_moving_a_repository_keeps_its_tasks(bn, tmp_path, first):
    bn.add("One")
    moved = at(bn, bn.repo.rename(tmp_path / "elsewhere"))
    if first == "add":
        moved.add("Two")
    assert titles(moved)[0] == "One"
    assert moved("doctor")["findings"] == []
    again = at(bn, moved.repo.rename(tmp_path / "third"))
    assert titles(again)[0] == "One"
    assert [store["place"] for store in again("store", "list")["stores"]] == [str(tmp_path / "third")]


def test_a_new_repository_at_the_old_place_is_another_project(bn, tmp_path):
    bn.add("One")
    moved = at(bn, bn.repo.rename(tmp_path / "elsewhere"))
    git("init", "repo", at=tmp_path)
    assert titles(bn) == []
    bn.add("New")
    assert titles(bn) == ["New"]
    assert titles(moved) == ["One"]


def test_repositories_that_swap_their_places_keep_their_tasks(bn, tmp_path):
    bn.add("One")
    git("init", "second", at=tmp_path)
    second = at(bn, tmp_path / "second")
    second.add("Two")
    bn.repo.rename(tmp_path / "between")
    second.repo.rename(bn.repo)
    (tmp_path / "between").rename(second.repo)
    assert (titles(bn), titles(second)) == (["Two"], ["One"])


def test_a_new_repository_in_the_same_folder_keeps_the_tasks(bn):
    bn.add("One")
    shutil.rmtree(bn.repo / ".git")
    assert titles(bn) == ["One"], "outside of git it is still this folder"
    git("init", at=bn.repo)
    assert titles(bn) == ["One"]


def test_a_folder_that_becomes_a_repository_keeps_its_tasks(bn, folder, tmp_path):
    plain = at(bn, folder)
    plain.add("One")
    git("init", at=folder)
    assert titles(plain) == ["One"]
    assert titles(at(bn, folder.rename(tmp_path / "moved"))) == ["One"]


def test_a_repository_cloned_again_to_the_same_place_keeps_its_tasks(bn, tmp_path):
    git("init", "--bare", "server.git", at=tmp_path)
    git("clone", str(tmp_path / "server.git"), "work", at=tmp_path)
    work = at(bn, tmp_path / "work")
    work.add("One")
    (tmp_path / "work").rename(tmp_path / "away")
    shutil.rmtree(tmp_path / "away")
    git("clone", str(tmp_path / "server.git"), "work", at=tmp_path)
    assert titles(work) == ["One"]


def test_a_copy_gets_a_store_of_its_own_and_says_so_once(bn, tmp_path):
    bn.add("One")
    shutil.copytree(bn.repo, tmp_path / "copy", symlinks=True)
    copy = at(bn, tmp_path / "copy")
    assert titles(copy) == []
    assert f"copy of {bn.repo}" in copy("doctor")["findings"][0]["message"]
    done = copy.run("task", "add", "Two")
    assert done.err == f"note: this is a copy of {bn.repo}, which keeps its tasks; this copy gets a new, empty store\n"
    assert copy.run("task", "add", "Three").err == ""
    assert (titles(bn), titles(copy)) == (["One"], ["Two", "Three"])


def test_a_clone_takes_nothing_with_it(bn, tmp_path):
    git("commit", "--allow-empty", "-m", "first", at=bn.repo)
    bn.add("One")
    git("clone", str(bn.repo), "clone", at=tmp_path)
    assert titles(at(bn, tmp_path / "clone")) == []


def test_git_clean_takes_nothing_away(bn):
    bn.add("One")
    git("clean", "-fdx", at=bn.repo)
    assert titles(bn) == ["One"]


def test_worktrees_bare_repositories_and_submodules_have_one_project_each(bn, tmp_path):
    git("commit", "--allow-empty", "-m", "first", at=bn.repo)
    git("worktree", "add", str(tmp_path / "side"), at=bn.repo)
    at(bn, tmp_path / "side").add("One")
    assert titles(bn) == ["One"]
    git("clone", "--bare", str(bn.repo), "bare.git", at=tmp_path)
    git("worktree", "add", str(tmp_path / "of-bare"), "-b", "other", at=tmp_path / "bare.git")
    at(bn, tmp_path / "of-bare").add("Two")
    assert titles(at(bn, tmp_path / "bare.git")) == ["Two"]
    git("-c", "protocol.file.allow=always", "submodule", "add", str(bn.repo), "part", at=bn.repo)
    at(bn, bn.repo / "part").add("Three")
    assert titles(bn) == ["One"]
    bn.repo.rename(tmp_path / "moved")
    assert titles(at(bn, tmp_path / "moved" / "part")) == ["Three"]


def test_reading_writes_nothing(bn, tmp_path):
    before = files_below(tmp_path)
    assert titles(bn) == []
    bn("doctor")
    bn("store", "list")
    assert files_below(tmp_path) == before


def test_a_store_made_the_old_way_is_carried_over(bn, tmp_path):
    bn.add("One")
    data = tmp_path / "data" / project_key(str(bn.repo))
    (data / "sessions" / "s1").mkdir(parents=True)
    # Older versions wrote neither file.
    (data / "project").unlink()
    (bn.repo / ".git" / "info" / "binnacle").unlink()
    assert bn("store", "list")["stores"][0]["state"] == "here"
    assert titles(bn) == ["One"], "reading it is enough to write its place down"
    moved = at(bn, bn.repo.rename(tmp_path / "elsewhere"))
    assert titles(moved) == ["One"]
    assert Path(moved("store", "path")["path"], "sessions", "s1").is_dir()


def test_nobody_else_may_look_into_the_data(bn):
    bn.add("One")
    assert os.stat(bn("store", "path")["path"]).st_mode & 0o077 == 0


def test_a_process_killed_between_the_two_records_does_no_harm(bn, tmp_path):
    bn.add("One")
    marker = bn.repo / ".git" / "info" / "binnacle"
    before = marker.read_bytes()
    marker.unlink()
    assert titles(bn) == ["One"], "only the data directory was written"
    moved = at(bn, bn.repo.rename(tmp_path / "moved"))
    assert titles(moved) == ["One"]
    (moved.repo / ".git" / "info" / "binnacle").write_bytes(before)
    assert titles(moved) == ["One"], "the move was written in the data directory only"
    assert moved("doctor")["findings"] == []


def test_a_repository_under_two_paths_is_one_project(bn, tmp_path):
    """A git folder with another name has its work tree at one path, and its worktrees lead to another."""
    place = tmp_path / "proj"
    git("init", "--separate-git-dir", str(place / "hidden"), str(place), at=tmp_path)
    git("commit", "--allow-empty", "-m", "first", at=place)
    git("worktree", "add", str(tmp_path / "side"), at=place)
    at(bn, place).add("One")
    for folder in (tmp_path / "side", place / "hidden", place):
        assert titles(at(bn, folder)) == ["One"]
        assert at(bn, folder)("doctor")["findings"] == []


def test_two_repositories_with_one_id_are_noticed(bn, tmp_path):
    bn.add("One")
    away = bn.repo.rename(tmp_path / "away")
    shutil.copytree(away, bn.repo)
    away.rename(tmp_path / "gone")
    assert titles(bn) == ["One"]
    (tmp_path / "gone").rename(tmp_path / "back")
    assert titles(at(bn, tmp_path / "back")) == [], "the place that is written down has it"


def test_processes_that_come_at_once_agree(bn):
    command = [BN, "task", "add"]
    started = [
        subprocess.Popen([*command, f"Task {n}"], cwd=bn.repo, env=bn.env, stdout=subprocess.DEVNULL) for n in range(6)
    ]
    assert [process.wait(timeout=60) for process in started] == [0] * 6
    assert len(titles(bn)) == 6
    assert len(bn("store", "list")["stores"]) == 1


def test_without_a_place_for_the_id_the_path_does(bn, tmp_path):
    info = bn.repo / ".git" / "info"
    shutil.rmtree(info)
    info.write_text("not a folder")  # as good as read-only, also for root
    bn.add("One")
    assert titles(bn) == ["One"]
    finding = bn("doctor")["findings"][0]
    assert "cannot be kept" in finding["message"]
    info.unlink()
    bn.add("Two")
    assert len(titles(at(bn, bn.repo.rename(tmp_path / "moved")))) == 2


def test_a_bare_repository_in_a_clone_takes_over_no_folder_outside_of_git(bn, folder):
    """Git tracks the files of one as any others, and the id of a folder follows from its path."""
    plain = at(bn, folder)
    plain.add("Private")
    git("init", "--bare", "inner", at=bn.repo)
    (bn.repo / "inner" / "info" / "binnacle").write_text(f"id {project_key(str(folder))}\nplace /nowhere\n")
    inner = at(bn, bn.repo / "inner")
    assert titles(inner) == []
    inner.add("Theirs")
    assert titles(plain) == ["Private"]
    assert titles(inner) == ["Theirs"]


def test_an_id_that_came_with_an_archive_takes_over_no_living_project(bn, tmp_path):
    bn.add("One")
    git("init", "foreign", at=tmp_path)
    planted = tmp_path / "foreign" / ".git" / "info" / "binnacle"
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(f"id {bn('store', 'show')['project']}\nkept git\nplace /nowhere\n")
    assert titles(at(bn, tmp_path / "foreign")) == []
    planted.write_text("id ../../evil\nplace /nowhere\n")
    at(bn, tmp_path / "foreign").add("Two")
    assert not (tmp_path / "evil").exists()
    assert titles(bn) == ["One"]


def test_outside_of_git_a_subfolder_belongs_to_the_project_around(bn, folder):
    plain = at(bn, folder)
    plain.add("One")
    deep = folder / "a" / "b"
    deep.mkdir(parents=True)
    at(bn, deep).add("Two")
    assert titles(plain) == ["One", "Two"]
    (deep / ".binnacle").mkdir()
    assert titles(at(bn, deep)) == [], "a .binnacle folder makes it a project of its own"


def test_a_store_at_home_is_not_the_one_of_every_folder_below(bn, folder, tmp_path):
    at(bn, tmp_path).add("One")
    assert bn.env["HOME"] == str(tmp_path)
    assert titles(at(bn, tmp_path)) == ["One"]
    assert titles(at(bn, folder)) == []


def test_init_makes_a_folder_a_project(bn, folder):
    plain = at(bn, folder)
    made = plain("store", "init")
    assert (made["repo"], made["new"]) == (str(folder), True)
    assert plain("store", "init")["new"] is False
    assert os.path.exists(made["location"])


NAME = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize("kind", ["git", "plain"])
def test_a_path_that_is_not_utf8_works(bn, tmp_path, kind):
    place = tmp_path / NAME
    place.mkdir()
    if kind == "git":
        git("init", at=place)
    odd = at(bn, place)
    odd.add("One")
    assert titles(odd) == ["One"]
    assert odd("doctor")["healthy"] is True
    for words in (
        ["store", "show"],
        ["store", "list"],
        ["status"],
        [],
        ["store", "init"],
        ["store", "path"],
        ["prompt", "show"],
        ["plan", "show"],
        ["log"],
    ):
        assert odd.run(*words).code == odd.run(*words, "-H").code == 0, words
    assert odd("store", "show")["repo"].endswith("caf\\xe9")
    assert odd("store", "list")["stores"][0]["place"].endswith("caf\\xe9")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = [("initialize", hello), ("tools/list", {}), ("tools/call", {"name": "task_list", "arguments": {}})]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(asked)
    ]
    served = odd.run("mcp", "serve", stdin="\n".join(lines) + "\n")
    assert served.code == 0, served.err
    answers = {one["id"]: one for one in map(json.loads, served.out.splitlines()) if "id" in one}
    assert all("result" in answers[number] for number in range(3)), served.out
    assert "One" in json.dumps(answers[2])
    assert "Traceback" not in served.err
