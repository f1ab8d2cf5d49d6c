"""The trees of workers: made, refreshed, merged, and put right after a kill."""

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from binnacle.errors import InvalidInput, Refused
from binnacle.runner.trees import worktrees
from binnacle.runner.trees.branch_merges import BranchMerger
from binnacle.runner.trees.merge_results import MergeConflict, MergeDone, MergeHeld, NothingToMerge
from binnacle.runner.trees.worktrees import RunWorktrees
from runner.repositories import Repository


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 100))


@pytest.fixture
def trees(repo, tmp_path):
    """Opens the trees of a run."""

    def opened(name: str = "blue", **options) -> RunWorktrees:
        return RunWorktrees(str(repo.path), str(tmp_path / "data" / "worktrees"), name, **options)

    return opened


def in_tree(tree) -> Repository:
    return Repository(Path(tree.path))


async def do(run, tree, files: dict[str, str], message: str = "work"):
    """An iteration that changes files."""
    in_tree(tree).write(files)
    await run.commit(tree, message)
    return await run.merge(tree, f"Merge {message}\n")


def test_each_worker_has_a_tree_and_a_branch_and_both_go_when_merged(repo, trees, tmp_path):
    async def all_of_it():
        async with trees() as run:
            first, second = await run.take(1), await run.take(2)
            assert (first.branch, second.branch) == ("bn/blue/1", "bn/blue/2")
            assert in_tree(first).files() == in_tree(second).files() == repo.files()
            assert isinstance(await run.merge(first, "nothing"), NothingToMerge)
            done = await do(run, first, {"a.py": "a"})
            assert isinstance(done, MergeDone)
            assert done.files == 1
            assert repo.read("a.py") == "a", "where the person is, it is there"
            assert isinstance(await do(run, second, {"b.py": "b"}, "second"), MergeDone)
        return run

    run_ = run(all_of_it())
    assert run_.kept == []
    assert repo.status == ""
    assert repo.files() == ["a.py", "b.py", "cart.py", "docs/a.md"]
    assert repo.git("log", "-1", "--format=%s") == "Merge second"
    assert repo.git("branch", "--format=%(refname:short)") == "main"
    assert len(repo.git("worktree", "list").splitlines()) == 1


def test_the_next_iteration_starts_from_what_others_did(repo, trees):
    async def all_of_it():
        async with trees() as run:
            first, second = await run.take(1), await run.take(2)
            await do(run, first, {"a.py": "a"})
            assert not os.path.exists(f"{second.path}/a.py")
            assert await run.refresh(second) is None
            assert in_tree(second).read("a.py") == "a"
            in_tree(second).write({"cart.py": "half done"})
            await do(run, first, {"b.py": "b"})
            assert await run.refresh(second) is None
            assert in_tree(second).read("cart.py") == "half done"
            assert not os.path.exists(f"{second.path}/b.py"), "a tree with unfinished work is left as it is"
            await run.commit(second, "now")
            assert await run.refresh(second) is None
            assert in_tree(second).read("b.py") == "b"

    run(all_of_it())


def test_a_conflict_is_for_the_worker_that_caused_it(repo, trees):
    async def all_of_it():
        async with trees() as run:
            first, second = await run.take(1), await run.take(2)
            assert isinstance(await do(run, first, {"cart.py": "total = 1\n"}), MergeDone)
            found = await do(run, second, {"cart.py": "total = 2\n", "other.py": ""})
            assert isinstance(found, MergeConflict)
            assert (found.worker, found.files) == (2, ("cart.py",))
            assert found.title == "Merge bn/blue/2: conflict in cart.py"
            assert "- cart.py" in found.description
            assert (repo.read("cart.py"), repo.status) == ("total = 1\n", ""), "nobody else sees anything of it"
            assert "<<<<<<<" in in_tree(second).read("cart.py")
            assert await run.refresh(second) is None
            assert await run.commit(second, "unresolved") is None
            assert await run.merge(second, "again") == found
            in_tree(second).write({"cart.py": "total = 3\n"})
            assert await run.commit(second, "resolved") is not None
            assert isinstance(await run.merge(second, "at last"), MergeDone)
            assert repo.read("cart.py") == "total = 3\n"
        return run

    assert run(all_of_it()).kept == []


def test_a_conflict_that_was_committed_with_its_marks_is_still_one(repo, trees):
    async def all_of_it():
        async with trees() as run:
            first, second = await run.take(1), await run.take(2)
            await do(run, first, {"cart.py": "total = 1\n"})
            await do(run, second, {"cart.py": "total = 2\n"})
            in_tree(second).git("commit", "--quiet", "-a", "-m", "resolved, they say")
            assert isinstance(await run.merge(second, "x"), MergeConflict)
            assert repo.read("cart.py") == "total = 1\n"
            assert isinstance(await do(run, second, {"cart.py": "total = 3\n"}), MergeDone)

    run(all_of_it())


def test_a_file_that_one_side_deleted_must_be_staged(repo, trees):
    async def all_of_it():
        async with trees() as run:
            first, second = await run.take(1), await run.take(2)
            await do(run, first, {"cart.py": "total = 1\n"})
            in_tree(second).git("rm", "--quiet", "cart.py")
            found = await do(run, second, {})
            assert isinstance(found, MergeConflict)
            assert await run.commit(second, "unresolved") is None
            in_tree(second).git("rm", "--quiet", "cart.py")
            assert isinstance(await do(run, second, {}), MergeDone)
            assert not (repo.path / "cart.py").exists()

    run(all_of_it())


def test_names_that_are_no_text_are_no_hindrance(repo, trees):
    name = os.fsdecode(b"gr\xfc\xdfe.txt")
    repo.commit("odd", {name: "a\n"})

    async def all_of_it():
        async with trees() as run:
            first, second = await run.take(1), await run.take(2)
            assert isinstance(await do(run, first, {name: "b\n"}), MergeDone)
            found = await do(run, second, {name: "c\n"})
            assert msgspec.json.encode([found.title, found.description, found])
            assert isinstance(await do(run, second, {name: "d\n"}), MergeDone)
            assert repo.read(name) == "d\n"
            repo.write({name: "mine\n"})
            held = await do(run, first, {name: "e\n"}) or await do(run, first, {})
            assert msgspec.json.encode(held)

    run(all_of_it())


def test_a_merge_that_the_agent_gave_up_begins_again(trees):
    async def all_of_it():
        async with trees() as run:
            first, second = await run.take(1), await run.take(2)
            await do(run, first, {"cart.py": "total = 1\n"})
            found = await do(run, second, {"cart.py": "total = 2\n"})
            in_tree(second).git("merge", "--abort")
            assert await run.merge(second, "x") == found
            assert "<<<<<<<" in in_tree(second).read("cart.py")

    run(all_of_it())


def test_a_conflict_may_show_at_the_start_of_an_iteration(repo, trees):
    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            in_tree(tree).write({"cart.py": "total = 1\n"})
            await run.commit(tree, "mine")
            repo.commit("the person's", {"cart.py": "total = 2\n"})
            assert isinstance(await run.refresh(tree), MergeConflict)
            assert isinstance(await do(run, tree, {"cart.py": "total = 3\n"}), MergeDone)

    run(all_of_it())


@pytest.mark.parametrize("kind", ["changed", "staged", "untracked", "ignored"])
def test_what_a_person_has_not_committed_is_never_overwritten(repo, trees, kind):
    name = "cart.py" if kind in ("changed", "staged") else "new.py"
    if kind == "ignored":
        repo.commit("ignore", {".gitignore": "new.py\n"})
    repo.write({name: "mine\n", "docs/a.md": "mine too\n"})
    if kind == "staged":
        repo.git("add", name)

    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            in_tree(tree).write({name: "theirs\n", "other.py": "x"})
            in_tree(tree).git("add", "--force", name)
            held = await do(run, tree, {})
            assert isinstance(held, MergeHeld)
            assert held.files == (name,)
            assert "uncommitted" in held.reason
            assert repo.read(name) == "mine\n"
            assert not (repo.path / "other.py").exists()
        return run

    run_ = run(all_of_it())
    assert [(one.branch, "not in main" in one.reason) for one in run_.kept] == [("bn/blue/1", True)]
    assert os.path.isdir(run_.kept[0].path)
    before = repo.read("docs/a.md")
    repo.git("checkout", "--quiet", "HEAD", "--", "cart.py")
    (repo.path / "new.py").unlink(missing_ok=True)

    async def again():
        async with trees() as run:
            assert await run.numbers() == [1]
            tree = await run.take(1)
            assert isinstance(await run.merge(tree, "now it fits"), MergeDone)
        return run

    assert run(again()).kept == []
    assert repo.read(name) == "theirs\n"
    assert repo.read("docs/a.md") == before == "mine too\n"


def test_a_person_may_go_to_another_branch_meanwhile(repo, trees):
    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            repo.git("checkout", "--quiet", "-b", "elsewhere")
            assert isinstance(await do(run, tree, {"a.py": "a"}), MergeDone)
            assert "a.py" in repo.files("main")
            assert not (repo.path / "a.py").exists()

    run(all_of_it())


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_person_may_commit_in_the_same_moment(repo, trees, monkeypatch, is_elsewhere):
    move, times = BranchMerger._move, iter(range(2))

    async def late(*given):
        if (number := next(times, None)) is not None:
            repo.git("commit", "--quiet", "--allow-empty", "-m", f"the person's {number}")
            if is_elsewhere:
                repo.git("branch", "--force", "main")
        return await move(*given)

    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            if is_elsewhere:
                repo.git("checkout", "--quiet", "-b", "elsewhere")
            monkeypatch.setattr(BranchMerger, "_move", late)
            assert isinstance(await do(run, tree, {"a.py": "a"}), MergeDone)

    run(all_of_it())
    said = repo.git("log", "--format=%s", "main").splitlines()
    assert said[0] == "Merge work"
    assert sorted(said[1:]) == ["first", "the person's 0", "the person's 1", "work"]


def test_a_branch_that_is_being_rebased_is_left(repo, trees):
    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            repo.git("checkout", "--quiet", "-b", "other")
            repo.commit("other", {"cart.py": "total = 2\n"})
            repo.git("checkout", "--quiet", "main")
            repo.commit("ours", {"cart.py": "total = 3\n"})
            repo.git("rebase", "other", check=False)
            held = await do(run, tree, {"a.py": "a"})
            assert isinstance(held, MergeHeld)
            assert "rebase" in held.reason
            repo.git("rebase", "--abort")
            assert isinstance(await run.merge(tree, "x"), MergeDone)

    run(all_of_it())


def test_commits_that_an_agent_made_on_another_branch_are_taken_along(repo, trees):
    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            in_tree(tree).git("checkout", "--quiet", "-b", "fix/cart")
            in_tree(tree).commit("fixed", {"a.py": "a"})
            assert isinstance(await do(run, tree, {"b.py": "b"}), MergeDone)
            assert {"a.py", "b.py"} <= set(repo.files("main"))
            assert in_tree(tree).git("branch", "--show-current") == "bn/blue/1"

    run(all_of_it())


def test_a_run_with_a_tree_of_its_own_leaves_what_is_checked_out_alone(repo, trees):
    async def all_of_it():
        async with trees(own_branch=True) as run:
            assert run.home.branch == "bn/blue/run"
            tree = await run.take(1)
            done = await do(run, tree, {"a.py": "a"})
            assert isinstance(done, MergeDone)
            assert done.into == "bn/blue/run"
            assert in_tree(run.home).read("a.py") == "a"
            assert repo.files() == ["cart.py", "docs/a.md"]
        return run

    run_ = run(all_of_it())
    assert [one.branch for one in run_.kept] == ["bn/blue/run"]
    repo.git("merge", "--quiet", "bn/blue/run")

    async def again():
        async with trees(own_branch=True) as run:
            assert in_tree(run.home).read("a.py") == "a"
        return run

    assert run(again()).kept == []
    assert repo.git("branch", "--format=%(refname:short)") == "main"


def test_uncommitted_work_of_a_killed_run_is_found_again(repo, trees):
    async def begin():
        async with trees() as run:
            tree = await run.take(1)
            in_tree(tree).write({"cart.py": "half done"})
        return run

    kept = run(begin()).kept
    assert [one.reason for one in kept] == ["uncommitted changes"]

    async def again():
        async with trees() as run:
            tree = await run.take(1)
            assert in_tree(tree).read("cart.py") == "half done"
            assert isinstance(await do(run, tree, {}), MergeDone)

    run(again())
    assert repo.read("cart.py") == "half done"


def test_the_lock_of_a_git_that_was_killed_goes(trees):
    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            folder = in_tree(tree).git("rev-parse", "--absolute-git-dir")
            Path(folder, "index.lock").touch()
            assert isinstance(await do(run, tree, {"a.py": "a"}), MergeDone)

    run(all_of_it())


def test_a_lock_of_a_git_that_is_at_work_stays(repo):
    from binnacle.runner.trees.git import Git

    lock = repo.path / ".git" / "index.lock"
    lock.touch()
    with subprocess.Popen(["git", "hash-object", "--stdin"], cwd=repo.path, stdin=subprocess.PIPE) as at_work:
        run(Git(str(repo.path)).remove_dead_locks())
        assert lock.exists()
        at_work.communicate(timeout=60)
    run(Git(str(repo.path)).remove_dead_locks())
    assert not lock.exists()


def test_a_tree_that_was_being_made_is_made_anew(repo, trees, tmp_path):
    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            folder = in_tree(tree).git("rev-parse", "--absolute-git-dir")
            Path(folder, "locked").write_text("initializing")
            Path(tree.path, "cart.py").unlink()
            assert in_tree(await run.take(1)).status == ""
            shutil.rmtree(tree.path)
            assert in_tree(await run.take(1)).status == ""

    run(all_of_it())


def test_a_tree_that_was_being_removed_is_not_taken_for_one_in_which_files_were_deleted(repo, trees):
    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            in_tree(tree).write({"left": ""})  # so that it is kept
        Path(f"{tree.path}.removing").touch()
        Path(tree.path, "cart.py").unlink()
        async with trees() as run:
            assert await run.numbers() == []
            tree = await run.take(1)
            assert in_tree(tree).status == ""
            assert isinstance(await do(run, tree, {}), NothingToMerge)
        return run

    assert run(all_of_it()).kept == []
    assert repo.files() == ["cart.py", "docs/a.md"]


def test_what_is_no_tree_any_more_is_put_aside(trees):
    async def all_of_it():
        async with trees() as run:
            tree = await run.take(1)
            in_tree(tree).write({"new.py": "precious"})
            Path(tree.path, ".git").unlink()
            assert in_tree(await run.take(1)).status == ""
        return run

    (kept,) = run(all_of_it()).kept
    assert Path(kept.path, "new.py").read_text() == "precious"


def test_two_runs_of_one_name_exclude_each_other(trees, monkeypatch):
    monkeypatch.setattr(worktrees, "OWNER_TIMEOUT_SECONDS", 0.1)

    async def all_of_it():
        async with trees():
            with pytest.raises(Refused, match="is at work here"):
                await trees().__aenter__()
            async with trees("green"):
                pass
        async with trees():
            pass

    run(all_of_it())


def test_what_is_no_ground_for_branches_is_said(repo, trees, tmp_path):
    @asynccontextmanager
    async def at(path):
        async with RunWorktrees(str(path), str(tmp_path / "w"), "blue") as run:
            yield run

    async def fails(path, words):
        with pytest.raises(Refused, match=words):
            async with at(path):
                pass

    (tmp_path / "plain").mkdir()
    run(fails(tmp_path / "plain", "not a git repository"))
    run(fails(Repository.new(tmp_path / "new").path, "no commit"))
    repo.git("checkout", "--quiet", "--detach")
    run(fails(repo.path, "no branch"))
    for name in ("", "a/b", "-x", "a.lock", "x" * 65):
        with pytest.raises(InvalidInput):
            trees(name)


def left_half_done(repo: Repository, tmp_path: Path, state: str) -> None:
    """The person's tree as a git leaves it that is killed while it moves it on."""
    repo.git("checkout", "--quiet", "-b", "bn/blue/1")
    (repo.path / "docs/a.md").unlink()
    repo.write({"cart.py": "total = 1\n" * 1000, "deep/new.py": "new\n", "odd\nname": "new\n"})
    (repo.path / "link").symlink_to("cart.py")
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "-m", "work")
    repo.git("checkout", "--quiet", "main")
    old, new = (repo.git("rev-parse", name) for name in ("main", "bn/blue/1"))
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

    async def all_of_it():
        async with RunWorktrees(str(repo.path), str(tmp_path / "w"), "blue") as opened:
            assert repo.status == "?? mine.txt"
            assert repo.read("cart.py") == "total = 0\n"
            assert not (repo.path / "deep").exists()
            assert isinstance(await opened.merge(await opened.take(1), "again"), MergeDone)

    run(all_of_it())
    assert repo.status == "?? mine.txt"
    assert repo.files() == ["cart.py", "deep/new.py", "link", '"odd\\nname"']


def test_what_a_person_edited_after_the_kill_is_not_put_back(repo, tmp_path):
    left_half_done(repo, tmp_path, "partly written")
    repo.write({"cart.py": "total = 7\n"})

    async def all_of_it():
        async with RunWorktrees(str(repo.path), str(tmp_path / "w"), "blue") as opened:
            assert repo.status == "M cart.py"
            assert repo.read("cart.py") == "total = 7\n"
            assert isinstance(await opened.merge(await opened.take(1), "again"), MergeHeld)

    run(all_of_it())


WORKERS = 2


def check_sound(repo: Repository, merged: set[str]) -> None:
    """Whatever was said to be merged is there, nothing is half done, and the person's own is as it was."""
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    assert merged <= set(repo.files("main"))
    assert repo.status in ("M docs/a.md", " M docs/a.md")
    assert repo.read("docs/a.md") == "mine\n"
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
    repo.write({"docs/a.md": "mine\n"})
    chance = random.Random(7)
    merged: set[str] = set()
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
        merged |= set(log.read_text().split())
    last = subprocess.run([*words, "last"], capture_output=True, timeout=100, check=False)
    assert last.returncode == 0, last.stderr.decode()
    merged |= set(log.read_text().split())
    assert len(merged) >= 2 * WORKERS, "something was done between the kills"
    check_sound(repo, merged)
    assert repo.git("branch", "--format=%(refname:short)") == "main"
    assert len(repo.git("worktree", "list").splitlines()) == 1
