"""The trees of workers: made, brought up to date, and put right after a kill; nothing in them is ever lost."""

import ast
import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

import binnacle.runner.trees
from binnacle.errors import InvalidInput, Refused
from binnacle.git.command import Git
from binnacle.runner.trees import run_trees
from binnacle.runner.trees.merge_results import MergeConflict, MergeDone, MergeHeld, NothingToMerge
from binnacle.runner.trees.person_changes import PersonChanges
from binnacle.runner.trees.run_trees import InPlace, InWorktrees
from runner.repositories import Repository
from runner.run_folders import do, in_tree, opened, run, work


@pytest.fixture
def trees(repo, tmp_path):
    """Makes the trees of a run."""

    def made(name: str = "blue", **options) -> InWorktrees:
        return InWorktrees(start=str(repo.path), folder=str(tmp_path / "data" / "worktrees"), name=name, **options)

    return made


def branches(repo: Repository) -> list[str]:
    return repo.git("branch", "--format=%(refname:short)").splitlines()


def parked(repo: Repository) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)", "refs/binnacle/parked").splitlines()


def test_each_task_has_a_branch_in_the_tree_of_its_worker_and_both_go_when_merged(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            prepared = await these.prepare(1, "bn-1")
            assert (prepared.branch, prepared.conflict) == ("bn/blue/bn-1", None)
            assert prepared.base == repo.git("rev-parse", "HEAD")
            assert in_tree(these, 1).files() == repo.files()
            assert in_tree(these, 1).git("branch", "--show-current") == "bn/blue/bn-1"
            assert isinstance(await these.integrate(1, "bn-1", "nothing"), NothingToMerge)
            done = await do(these, 1, "bn-1", {"a.py": "a"})
            assert isinstance(done, MergeDone)
            assert (done.into, done.files) == ("bn/blue/run", 1)
            assert in_tree(these, 1).git("branch", "--show-current") == "", "detached between two tasks"
            assert branches(repo) == ["bn/blue/run", "main"]
            assert isinstance(await do(these, 2, "bn-2", {"b.py": "b"}, "second"), MergeDone)
            assert isinstance(await do(these, 2, "bn-1", {"c.py": "c"}, "third"), MergeDone), "any worker, any task"
            return await these.close()

    assert run(all_of_it()) == ()
    assert repo.status == ""
    assert repo.files() == ["a.py", "b.py", "c.py", "cart.py", "docs/a.md"]
    assert branches(repo) == ["main"]
    assert parked(repo) == []
    assert len(repo.git("worktree", "list").splitlines()) == 1


def test_a_task_starts_from_what_others_have_integrated(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(2, "bn-2")
            await do(these, 1, "bn-1", {"a.py": "a"})
            assert not os.path.exists(f"{these.folder(2)}/a.py")
            await these.prepare(2, "bn-2")
            assert in_tree(these, 2).read("a.py") == "a"
            in_tree(these, 2).write({"cart.py": "half done"})
            await do(these, 1, "bn-3", {"b.py": "b"})
            await these.prepare(2, "bn-2")
            assert in_tree(these, 2).read("cart.py") == "half done"
            assert not os.path.exists(f"{these.folder(2)}/b.py"), "unfinished work is left as it is"
            await these.keep(2, "bn-2", "now")
            assert await these.changed(2, "bn-2") == ["cart.py"]
            await these.prepare(2, "bn-2")
            assert in_tree(these, 2).read("b.py") == "b"
            assert await these.changed(2, "bn-2") == ["cart.py"]

    run(all_of_it())


def test_the_fingerprint_follows_the_files_of_a_worker(trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            before = await these.fingerprint(1)
            in_tree(these, 1).write({"a.py": "a"})
            assert await these.fingerprint(1) != before

    run(all_of_it())


def test_commits_name_their_task(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await do(these, 1, "bn-1", {"a.py": "a"}, "Add a")

    run(all_of_it())
    assert repo.git("log", "-1", "--format=%s|%(trailers:key=Task,valueonly)").strip() == "Add a|bn-1"


def test_a_branch_is_continued_by_another_worker(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"a.py": "a"})
            in_tree(these, 1).write({"b.py": "uncommitted"})
            prepared = await these.prepare(2, "bn-1")
            assert prepared.was_parked == ()
            assert in_tree(these, 2).read("a.py") == "a"
            assert in_tree(these, 2).read("b.py") == "uncommitted"
            assert in_tree(these, 2).git("log", "-1", "--format=%s") == "Unfinished work of bn-1"
            assert in_tree(these, 1).status == ""
            assert isinstance(await these.integrate(2, "bn-1", "both"), MergeDone)

    run(all_of_it())
    assert repo.files() == ["a.py", "b.py", "cart.py", "docs/a.md"]


def test_unfinished_work_of_another_task_goes_to_its_branch(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            in_tree(these, 1).write({"a.py": "half done"})
            await these.prepare(1, "bn-2")
            assert not os.path.exists(f"{these.folder(1)}/a.py")
            assert repo.at("bn/blue/bn-1", "a.py") == "half done"
            assert repo.git("log", "-1", "--format=%s", "bn/blue/bn-1") == "Unfinished work of bn-1"
            return await these.close()

    assert run(all_of_it()) == ("bn/blue/bn-1",)
    assert repo.at("bn/blue/bn-1", "a.py") == "half done"


def test_a_merge_of_another_task_is_parked_and_begins_again(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"cart.py": "total = 1\n"})
            await do(these, 2, "bn-2", {"cart.py": "total = 2\n"})
            assert isinstance(await these.integrate(1, "bn-1", "x"), MergeConflict)
            in_tree(these, 1).write({"cart.py": "total = 3, I thought\n"})
            (ref,) = (await these.prepare(1, "bn-3")).was_parked
            assert ref.startswith("refs/binnacle/parked/blue/bn-1-")
            assert repo.at(ref, "cart.py") == "total = 3, I thought"
            assert in_tree(these, 1).read("cart.py") == "total = 2\n"
            assert isinstance((await these.prepare(1, "bn-1")).conflict, MergeConflict)
            assert "<<<<<<<" in in_tree(these, 1).read("cart.py")

    run(all_of_it())


@pytest.mark.parametrize("what", ["rebase", "cherry-pick", "revert"])
def test_whatever_an_agent_left_half_done_is_parked(repo, trees, what):
    async def all_of_it():
        async with opened(trees()) as these:
            tree = in_tree(these, 1)
            await work(these, 1, "bn-1", {"cart.py": "total = 1\n"})
            tree.git("checkout", "--quiet", "-b", "other", "main")
            tree.commit("other", {"cart.py": "total = 2\n"})
            tree.commit("more", {"cart.py": "total = 4\n"})
            tree.git("checkout", "--quiet", "bn/blue/bn-1")
            tree.git(*{"revert": ("revert", "other~1")}.get(what, (what, "other")), check=False)
            tree.write({"precious.py": "x"})
            with pytest.raises(Refused):
                await these.keep(1, "bn-1", "x")
            (ref,) = (await these.prepare(1, "bn-2")).was_parked
            assert repo.at(ref, "precious.py") == "x"
            assert tree.status == ""
            assert "nothing to commit" in tree.git("status")
            assert isinstance(await do(these, 1, "bn-2", {"b.py": "b"}), MergeDone)
            await these.prepare(1, "bn-1")
            assert tree.read("cart.py") == "total = 1\n"

    run(all_of_it())


def test_commits_that_an_agent_made_on_another_branch_are_taken_along(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            tree = in_tree(these, 1)
            tree.git("checkout", "--quiet", "-b", "fix/cart")
            tree.commit("fixed", {"a.py": "a"})
            tree.write({"b.py": "b"})
            await these.keep(1, "bn-1", "more")
            assert tree.git("branch", "--show-current") == "bn/blue/bn-1"
            assert isinstance(await these.integrate(1, "bn-1", "x"), MergeDone)
            assert {"a.py", "b.py"} <= set(repo.files("main"))

    run(all_of_it())


def test_commits_on_no_branch_are_parked_and_never_taken_for_the_work(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"a.py": "a"})
            tree = in_tree(these, 1)
            tree.git("checkout", "--quiet", "--detach", "main")
            tree.commit("lost", {"b.py": "b"})
            held = await these.integrate(1, "bn-1", "x")
            assert isinstance(held, MergeHeld)
            assert "something else" in held.reason
            with pytest.raises(Refused, match="is not on bn/blue/bn-1"):
                await these.keep(1, "bn-1", "x")
            (ref,) = (await these.prepare(1, "bn-1")).was_parked
            assert repo.at(ref, "b.py") == "b"
            assert tree.read("a.py") == "a"
            assert isinstance(await these.integrate(1, "bn-1", "x"), MergeDone)

    run(all_of_it())
    assert "a.py" in repo.files()


def test_a_branch_that_a_person_looks_at_is_left_to_them(repo, trees, tmp_path):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"a.py": "a"})
            await these.prepare(1, "bn-2")
            repo.git("checkout", "--quiet", "bn/blue/bn-1")
            with pytest.raises(Refused, match="is checked out in") as refused:
                await these.prepare(1, "bn-1")
            assert str(repo.path) in refused.value.hint
            repo.git("checkout", "--quiet", "main")
            await these.prepare(1, "bn-1")

    run(all_of_it())


def test_uncommitted_work_at_the_end_stays_where_it_is_and_is_parked(repo, trees):
    async def begin():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"a.py": "a"})
            in_tree(these, 1).write({"cart.py": "half done", "new.py": "new"})
            in_tree(these, 1).git("add", "new.py")
            before = in_tree(these, 1).status
            kept = await these.close()
            assert in_tree(these, 1).status == before, "nothing in the tree has changed"
        return kept

    kept = run(begin())
    (ref,) = parked(repo)
    assert kept == (ref, "bn/blue/bn-1")
    assert repo.files(ref) == ["a.py", "cart.py", "docs/a.md", "new.py"]
    assert repo.at(ref, "cart.py") == "half done"
    assert run(begin_and_close(trees())) == kept, "the same again is the same commit"

    async def again():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            assert in_tree(these, 1).read("cart.py") == "half done"
            await these.keep(1, "bn-1", "done")
            assert isinstance(await these.integrate(1, "bn-1", "x"), MergeDone)
            return await these.close()

    assert run(again()) == ()
    assert repo.read("cart.py") == "half done"


async def begin_and_close(trees: InWorktrees):
    await trees.begin()
    return await trees.close()


def test_a_tree_in_which_a_process_works_is_left(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await do(these, 1, "bn-1", {"a.py": "a"})
            at_work = await asyncio.create_subprocess_exec("cat", cwd=these.folder(1), stdin=subprocess.PIPE)
            kept = await these.close()
            await asyncio.wait_for(at_work.communicate(b""), 60)
            assert kept == (these.folder(1),)
            assert os.path.isdir(these.folder(1))

    run(all_of_it())
    assert run(begin_and_close(trees())) == ()


def test_a_repository_in_a_tree_is_left_with_it(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            Repository.new(Path(these.folder(1), "vendored"), {"x": "x"})
            await these.keep(1, "bn-1", "x")
            await these.prepare(1, "bn-2")
            kept = await these.close()
            assert Path(these.folder(1), "vendored", "x").read_text() == "x"
            assert kept == (these.folder(1),)

    run(all_of_it())


def test_the_lock_of_a_git_that_was_killed_goes(trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            folder = in_tree(these, 1).git("rev-parse", "--absolute-git-dir")
            Path(folder, "index.lock").touch()
            assert isinstance(await do(these, 1, "bn-1", {"a.py": "a"}), MergeDone)

    run(all_of_it())


def test_a_lock_of_a_git_that_is_at_work_stays(repo):
    lock = repo.path / ".git" / "index.lock"
    lock.touch()
    with subprocess.Popen(["git", "hash-object", "--stdin"], cwd=repo.path, stdin=subprocess.PIPE) as at_work:
        run(Git(str(repo.path)).remove_dead_locks())
        assert lock.exists()
        at_work.communicate(timeout=60)
    run(Git(str(repo.path)).remove_dead_locks())
    assert not lock.exists()


def test_a_tree_that_was_being_made_is_completed(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            tree = in_tree(these, 1)
            Path(tree.git("rev-parse", "--absolute-git-dir"), "locked").write_text("initializing")
            Path(tree.git("rev-parse", "--absolute-git-dir"), "index").unlink()
            (tree.path / "cart.py").unlink()
            (tree.path / "docs/a.md").write_text("")
            await these.prepare(1, "bn-1")
            assert tree.status == ""
            shutil.rmtree(tree.path)
            await these.prepare(1, "bn-1")
            assert tree.status == ""

    run(all_of_it())


def test_a_tree_that_was_being_removed_is_not_taken_for_one_in_which_files_were_deleted(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            in_tree(these, 1).write({"left": ""})  # so that it is kept
        Path(f"{these.folder(1)}.removing").touch()
        Path(these.folder(1), "cart.py").unlink()
        Path(these.folder(1), ".git").unlink()
        async with opened(trees()) as these:
            assert in_tree(these, 1).status == "?? left"
            assert isinstance(await do(these, 1, "bn-1", {}), MergeDone)
            return await these.close()

    assert run(all_of_it()) == ()
    assert repo.files() == ["cart.py", "docs/a.md", "left"]


def test_what_is_no_tree_any_more_is_put_aside(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"a.py": "a"})
            tree = in_tree(these, 1)
            tree.git("checkout", "--quiet", "--detach")
            lost = tree.commit("on no branch", {"b.py": "b"})
            tree.write({"new.py": "precious"})
            (tree.path / ".git").unlink()
            (tree.path / ".git").mkdir()
            await these.prepare(1, "bn-2")
            assert tree.status == ""
            return lost, await these.close()

    lost, (aside, ref, branch) = run(all_of_it())
    assert Path(aside, "new.py").read_text() == "precious"
    assert repo.git("rev-parse", ref) == lost
    assert branch == "bn/blue/bn-1"


def test_the_trees_of_others_are_never_forgotten(repo, trees, tmp_path):
    """A tree on a disk that is not there now is still that of its owner."""
    repo.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "disk" / "mine"))
    (tmp_path / "disk").rename(tmp_path / "away")

    async def all_of_it():
        async with opened(trees()) as these:
            await do(these, 1, "bn-1", {"a.py": "a"})

    run(all_of_it())
    (tmp_path / "away").rename(tmp_path / "disk")
    assert Repository(tmp_path / "disk" / "mine").status == ""


def test_two_runs_of_one_name_exclude_each_other(trees, monkeypatch):
    monkeypatch.setattr(run_trees, "OWNER_TIMEOUT_SECONDS", 0.1)

    async def all_of_it():
        async with opened(trees()):
            with pytest.raises(Refused, match="is at work here"):
                await trees().begin()
            async with opened(trees("green")):
                pass
        async with opened(trees()):
            pass

    run(all_of_it())


def test_what_is_no_ground_for_branches_is_said(trees, tmp_path):
    async def fails(path, words):
        with pytest.raises(Refused, match=words):
            await InWorktrees(start=str(path), folder=str(tmp_path / "w"), name="blue").begin()

    (tmp_path / "plain").mkdir()
    run(fails(tmp_path / "plain", "not a git repository"))
    run(fails(Repository.new(tmp_path / "new").path, "no commit"))
    for name in ("", "a/b", "-x", "a.lock", "x" * 65):
        with pytest.raises(InvalidInput):
            trees(name)


def test_in_place_only_what_is_wanted_is_committed(repo, tmp_path):
    async def all_of_it(auto_commit):
        git = Git(str(repo.path))
        person = PersonChanges(git, str(tmp_path / "changes"))
        if not auto_commit:
            await person.note(again=True)
        these = InPlace(str(repo.path), git, person=person if auto_commit else None)
        prepared = await these.prepare(1, "bn-1")
        assert (prepared.branch, these.branch, these.folder(1)) == ("main", "", str(repo.path))
        repo.write({"a.py": "a"})
        done = await these.keep(1, "bn-1", "Add a\n")
        assert await these.changed(1, "bn-1") == ["a.py"]
        assert isinstance(await these.integrate(1, "bn-1", "x"), NothingToMerge)
        assert await these.close() == ()
        return done

    assert run(all_of_it(auto_commit=False)) is None
    assert repo.status == "?? a.py"
    assert run(all_of_it(auto_commit=True)).title == "Add a"
    assert repo.status == ""


def test_a_folder_outside_of_git_is_fine_in_place(tmp_path):
    async def all_of_it():
        these = InPlace(str(tmp_path), None)
        assert (await these.prepare(1, "bn-1")).branch == ""
        assert await these.keep(1, "bn-1", "x") is None
        assert (await these.fingerprint(1), await these.changed(1, "bn-1")) == ("", ())

    run(all_of_it())


DESTRUCTIVE = {"--force", "-f", "--hard", "clean", "prune", "-fd", "-fdq", "-D", "--delete", "gc", "stash"}


def test_no_code_of_the_trees_can_delete_work():
    """No word that makes git discard something, and no removal of folders with content."""
    folder = Path(binnacle.runner.trees.__file__).parent
    found = []
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and node.value in DESTRUCTIVE:
                found.append(f"{path.name}:{node.lineno}: {node.value}")
            if isinstance(node, ast.Attribute | ast.Name) and "rmtree" in ast.unparse(node):
                found.append(f"{path.name}:{node.lineno}: rmtree")
    assert found == []
    assert len(list(folder.glob("*.py"))) > 10


def left_half_done(repo: Repository, tmp_path: Path, state: str) -> None:
    """The person's tree as a git leaves it that is killed while it moves it on."""
    repo.git("checkout", "--quiet", "-b", "bn/blue/run")
    (repo.path / "docs/a.md").unlink()
    repo.write({"cart.py": "total = 1\n" * 1000, "deep/new.py": "new\n", "odd\nname": "new\n"})
    (repo.path / "link").symlink_to("cart.py")
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "-m", "work")
    repo.git("checkout", "--quiet", "main")
    old, new = (repo.git("rev-parse", name) for name in ("main", "bn/blue/run"))
    note = {"tree": str(repo.path), "branch": "main", "old": old, "new": new, "is_ours": False}
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "moving.json").write_text(json.dumps(note))
    if state == "all written":
        repo.git("read-tree", "-m", "-u", old, new)
    else:
        repo.write({"cart.py": "total = 1\n" * 400, "deep/new.py": "", "odd\nname": "ne"})
        (repo.path / "link").symlink_to("cart.py")
        (repo.path / "docs/a.md").unlink()
        (repo.path / ".git" / "index.lock").touch()
        (repo.path / ".git" / "refs" / "heads" / "main.lock").touch()


@pytest.mark.parametrize("state", ["all written", "partly written"])
def test_a_tree_that_was_being_moved_on_is_put_back(repo, tmp_path, state):
    left_half_done(repo, tmp_path, state)
    repo.write({"mine.txt": "mine"})
    these = InWorktrees(start=str(repo.path), folder=str(tmp_path / "w"), name="other")

    async def all_of_it():
        await these.begin()
        assert repo.status == "?? mine.txt"
        assert repo.read("cart.py") == "total = 0\n"
        assert not (repo.path / "deep").exists()
        await these.close()
        await begin_and_close(InWorktrees(start=str(repo.path), folder=str(tmp_path / "w"), name="blue"))

    run(all_of_it())
    assert repo.status == "?? mine.txt"
    assert repo.files() == ["cart.py", "deep/new.py", "link", '"odd\\nname"']


def test_what_a_person_edited_after_the_kill_is_not_put_back(repo, tmp_path):
    left_half_done(repo, tmp_path, "partly written")
    repo.write({"cart.py": "total = 7\n"})

    async def all_of_it():
        async with opened(InWorktrees(start=str(repo.path), folder=str(tmp_path / "w"), name="blue")) as these:
            assert repo.status == "M cart.py"
            assert repo.read("cart.py") == "total = 7\n"
            assert "uncommitted changes in cart.py" in these.behind

    run(all_of_it())
    assert repo.read("cart.py") == "total = 7\n"


@pytest.mark.parametrize("state", ["files", "files and index"])
def test_a_conflict_that_was_being_begun_is_begun_again(repo, trees, state):
    """A git that is killed after it wrote the files of a merge, and before it noted the merge."""

    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"cart.py": "total = 1\n"})
            await do(these, 2, "bn-2", {"cart.py": "total = 2\n", "new.py": "x\n" * 100})
            found = await these.integrate(1, "bn-1", "x")
            tree = in_tree(these, 1)
            folder = Path(tree.git("rev-parse", "--absolute-git-dir"))
            merged = tree.git("rev-parse", "MERGE_HEAD")
            with_conflict = tree.git("merge-tree", "--write-tree", "HEAD", merged, check=False).split()[0]
            note = {"tree": str(tree.path), "branch": "bn/blue/bn-1", "old": tree.git("rev-parse", "HEAD")}
            (folder / "MERGE_HEAD").unlink()
            if state == "files":
                tree.git("read-tree", "HEAD")
                (tree.path / "new.py").write_text("x\n" * 50)
                (folder / "index.lock").touch()
            moving = Path(these.folder(1)).parents[2] / "moving.json"
            moving.write_text(json.dumps(note | {"new": with_conflict, "is_ours": True}))
            again = await these.integrate(1, "bn-1", "x")
            assert again == found
            assert tree.git("rev-parse", "MERGE_HEAD") == repo.git("rev-parse", "bn/blue/run")
            assert tree.read("new.py") == "x\n" * 100
            assert parked(repo) == []

    run(all_of_it())


def test_names_that_are_no_text_are_no_hindrance(repo, trees):
    name = os.fsdecode(b"gr\xfc\xdfe.txt")
    repo.commit("odd", {name: "a\n"})

    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 2, "bn-2", {name: "c\n"})
            assert isinstance(await do(these, 1, "bn-1", {name: "b\n"}), MergeDone)
            found = await these.integrate(2, "bn-2", "x")
            assert msgspec.json.encode([found.reason, found.description, found])
            assert isinstance(await do(these, 2, "bn-2", {name: "d\n"}), MergeDone)
            assert repo.read(name) == "d\n"

    run(all_of_it())


WORKERS = 2


def check_sound(repo: Repository, merged: set[str]) -> None:
    """Whatever was said to be merged is there, nothing is half done, and the person's own is as it was."""
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    assert merged <= set(repo.files("main"))
    assert repo.status == "?? mine.txt"
    assert repo.read("mine.txt") == "mine\n"
    assert not (repo.path / ".git" / "index.lock").exists()
    for name in repo.files("main"):
        if name.startswith("made/"):
            assert repo.read(name) == name * 200


def descendants(pid: int) -> list[int]:
    """Of a process, by the mark that they all inherit."""
    mark = f"MERGER={pid}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("whom", ["the run", "the run and its git"])
def test_a_run_killed_at_any_moment_is_put_right_by_the_next(repo, tmp_path, whom):
    repo.write({"mine.txt": "mine\n"})
    chance = random.Random(7)
    log = tmp_path / "merged"
    log.touch()
    for number in range(12):
        script = Path(__file__).with_name("merger.py")
        words = [sys.executable, str(script), str(repo.path), str(tmp_path / "w"), str(log)]
        with subprocess.Popen([*words, str(number)], start_new_session=True, stderr=subprocess.PIPE) as process:
            try:
                process.wait(chance.uniform(0.2, 2.5))
            except subprocess.TimeoutExpired:
                children = descendants(process.pid) if whom != "the run" else []
                process.kill()
                for child in children:
                    with suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
            else:
                assert process.returncode == 0, process.stderr.read().decode()
    last = subprocess.run([*words, "last"], capture_output=True, timeout=100, check=False)
    assert last.returncode == 0, last.stderr.decode()
    merged = set(log.read_text().split())
    assert len(merged) >= 2 * WORKERS, "something was done between the kills"
    check_sound(repo, merged)
    assert branches(repo) == ["main"]
    assert len(repo.git("worktree", "list").splitlines()) == 1
