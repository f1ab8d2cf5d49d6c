"""The merge queue: one branch of the run, moved one finished task at a time; and the person's branch, which follows."""

import asyncio
import os
from pathlib import Path

import pytest

from binnacle.runner.trees.merge_queue import MergeQueue
from binnacle.runner.trees.merge_results import MergeConflict, MergeDone, MergeHeld, MergeRefused, NothingToMerge
from binnacle.runner.trees.run_trees import InWorktrees
from runner.repositories import Repository
from runner.run_folders import do, in_tree, opened, run, work


@pytest.fixture
def trees(repo, tmp_path):
    """Makes the trees of a run."""

    def made(name: str = "blue", **options) -> InWorktrees:
        return InWorktrees(start=str(repo.path), folder=str(tmp_path / "data" / "worktrees"), name=name, **options)

    return made


def test_a_conflict_is_for_the_worker_that_caused_it_with_both_sides_named(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 2, "bn-2", {"cart.py": "total = 2\n", "other.py": ""}, "Count twice")
            done = await do(these, 1, "bn-1", {"cart.py": "total = 1\n"}, "Count once")
            assert isinstance(done, MergeDone)
            await do(these, 1, "bn-3", {"else.py": ""}, "Something else")
            found = await these.integrate(2, "bn-2", "x")
            assert isinstance(found, MergeConflict)
            assert (found.worker, found.files) == (2, ("cart.py",))
            assert (found.branch, found.into) == ("bn/blue/bn-2", "bn/blue/run")
            assert found.reason == "conflict with bn/blue/run in cart.py"
            assert [line.partition(" ")[2] for line in found.branch_commits] == ["Count twice (bn-2)"]
            assert [line.partition(" ")[2] for line in found.into_commits] == ["Count once (bn-1)"]
            assert done.commit.startswith(found.into_commits[0].partition(" ")[0])
            assert "Count twice (bn-2)" in found.description
            assert "Count once (bn-1)" in found.description
            assert (repo.read("cart.py"), repo.status) == ("total = 1\n", ""), "nobody else sees anything of it"
            assert "<<<<<<<" in in_tree(these, 2).read("cart.py")
            assert (await these.prepare(2, "bn-2")).conflict == found
            assert await these.keep(2, "bn-2", "unresolved") is None
            assert await these.integrate(2, "bn-2", "again") == found
            in_tree(these, 2).write({"cart.py": "total = 3\n"})
            assert await these.keep(2, "bn-2", "resolved") is not None
            assert isinstance(await these.integrate(2, "bn-2", "at last"), MergeDone)
            assert repo.read("cart.py") == "total = 3\n"
            return await these.close()

    assert run(all_of_it()) == ()


def test_a_conflict_that_was_committed_with_its_marks_is_still_one(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 2, "bn-2", {"cart.py": "total = 2\n"})
            await do(these, 1, "bn-1", {"cart.py": "total = 1\n"})
            found = await these.integrate(2, "bn-2", "x")
            in_tree(these, 2).git("commit", "--quiet", "-a", "-m", "resolved, they say")
            assert await these.integrate(2, "bn-2", "x") == found
            assert (await these.prepare(2, "bn-2")).conflict == found
            assert repo.read("cart.py") == "total = 1\n"
            assert isinstance(await do(these, 2, "bn-2", {"cart.py": "total = 3\n"}), MergeDone)

    run(all_of_it())


def test_a_file_that_one_side_deleted_must_be_staged(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(2, "bn-2")
            in_tree(these, 2).git("rm", "--quiet", "cart.py")
            await these.keep(2, "bn-2", "x")
            await do(these, 1, "bn-1", {"cart.py": "total = 1\n"})
            assert isinstance(await these.integrate(2, "bn-2", "x"), MergeConflict)
            assert await these.keep(2, "bn-2", "unresolved") is None
            in_tree(these, 2).git("rm", "--quiet", "cart.py")
            assert isinstance(await do(these, 2, "bn-2", {}), MergeDone)
            assert not (repo.path / "cart.py").exists()

    run(all_of_it())


def test_a_merge_that_the_agent_gave_up_begins_again(trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 2, "bn-2", {"cart.py": "total = 2\n"})
            await do(these, 1, "bn-1", {"cart.py": "total = 1\n"})
            found = await these.integrate(2, "bn-2", "x")
            for again in (lambda: these.integrate(2, "bn-2", "x"), lambda: these.prepare(2, "bn-2")):
                in_tree(these, 2).git("merge", "--abort")
                conflict = await again()
                assert getattr(conflict, "conflict", conflict) == found
                assert "<<<<<<<" in in_tree(these, 2).read("cart.py")

    run(all_of_it())


def test_a_conflict_may_show_when_a_task_is_taken_up_again(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"cart.py": "total = 1\n"})
            repo.commit("the person's", {"cart.py": "total = 2\n"})
            found = (await these.prepare(1, "bn-1")).conflict
            assert [line.partition(" ")[2] for line in found.into_commits] == ["the person's"]
            in_tree(these, 1).write({"cart.py": "total = 3\n"})
            await these.keep(1, "bn-1", "resolved")
            assert isinstance(await these.integrate(1, "bn-1", "x"), MergeDone)

    run(all_of_it())


def test_what_is_not_committed_is_not_merged_and_not_taken_for_nothing(trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            in_tree(these, 1).write({"a.py": "a"})
            held = await these.integrate(1, "bn-1", "x")
            assert isinstance(held, MergeHeld)
            assert held.files == ("a.py",)

    run(all_of_it())


def test_only_what_passes_is_integrated(repo, trees):
    asked = []

    async def verify(commit: str, base: str) -> str:
        asked.append((commit, base))
        return "the tests fail" if "bad.py" in repo.files(commit) else ""

    async def all_of_it():
        async with opened(trees()) as these:
            refused = await do(these, 1, "bn-1", {"bad.py": ""}, verify=verify)
            assert isinstance(refused, MergeRefused)
            assert refused.reason == "the tests fail"
            assert repo.files("bn/blue/run") == ["cart.py", "docs/a.md"]
            assert isinstance(await do(these, 2, "bn-2", {"good.py": ""}, verify=verify), MergeDone)
            before = repo.git("rev-parse", "bn/blue/run")
            (Path(these.folder(1)) / "bad.py").unlink()
            assert isinstance(await do(these, 1, "bn-1", {"mended.py": ""}, verify=verify), MergeDone)
            now = repo.git("rev-parse", "bn/blue/run")
            assert asked[-1] == (now, before), "exactly what was checked is integrated"

    run(all_of_it())
    assert repo.files() == ["cart.py", "docs/a.md", "good.py", "mended.py"]


def test_workers_start_while_the_checks_of_others_run(trees):
    async def all_of_it():
        begun, goes_on = asyncio.Event(), asyncio.Event()

        async def verify(commit: str, base: str) -> str:
            begun.set()
            await goes_on.wait()
            return ""

        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"a.py": "a"})
            merging = asyncio.create_task(these.integrate(1, "bn-1", "x", verify))
            await begun.wait()
            await work(these, 2, "bn-2", {"b.py": "b"})
            goes_on.set()
            assert isinstance(await merging, MergeDone)

    run(all_of_it())


def test_merges_take_turns(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            numbers = range(1, 6)
            for number in numbers:
                await work(these, number, f"bn-{number}", {f"{number}.py": ""})
            done = await asyncio.gather(*(these.integrate(one, f"bn-{one}", f"Merge {one}\n") for one in numbers))
            assert all(isinstance(one, MergeDone) for one in done)

    run(all_of_it())
    assert len(repo.files()) == 7


def test_what_is_integrated_already_is_nothing_to_merge(repo, trees):
    """As after a kill between the merge and its record."""

    async def all_of_it():
        async with opened(trees()) as these:
            await do(these, 1, "bn-1", {"a.py": "a"})
            assert isinstance(await these.integrate(1, "bn-1", "again"), NothingToMerge)
            await work(these, 1, "bn-2", {"b.py": "b"})
            repo.git("merge", "--quiet", "bn/blue/bn-2")
            assert isinstance(await these.integrate(1, "bn-2", "again"), NothingToMerge)
            assert isinstance(await these.integrate(7, "bn-2", "by a worker without a tree"), NothingToMerge)

    run(all_of_it())


def test_the_person_has_what_is_integrated_at_once(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await do(these, 1, "bn-1", {"a.py": "a"})
            assert repo.read("a.py") == "a"
            assert (repo.status, these.behind) == ("", "")

    run(all_of_it())


@pytest.mark.parametrize("kind", ["changed", "staged", "untracked", "ignored", "changed elsewhere"])
def test_a_dirty_tree_of_a_person_is_never_written_and_stops_nobody(repo, trees, kind):
    name = "cart.py" if kind in ("changed", "staged") else "new.py"
    if kind == "ignored":
        repo.commit("ignore", {".gitignore": "new.py\n"})
    mine = "docs/a.md" if kind == "changed elsewhere" else name
    repo.write({mine: "mine\n"})
    if kind == "staged":
        repo.git("add", name)
    before, status = repo.git("rev-parse", "HEAD"), repo.status

    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            in_tree(these, 1).write({name: "theirs\n", "other.py": "x"})
            in_tree(these, 1).git("add", "--force", name)
            assert isinstance(await do(these, 1, "bn-1", {}), MergeDone), "the queue waits for nobody"
            assert isinstance(await do(these, 2, "bn-2", {"more.py": ""}), MergeDone)
            assert f"git -C {repo.path} merge bn/blue/run" in these.behind
            assert (repo.git("rev-parse", "HEAD"), repo.status, repo.read(mine)) == (before, status, "mine\n")
            return await these.close()

    assert run(all_of_it()) == ("bn/blue/run",)
    assert (repo.git("rev-parse", "HEAD"), repo.status, repo.read(mine)) == (before, status, "mine\n")
    repo.git("stash", "--all")

    async def again():
        async with opened(trees()) as these:
            assert these.behind == ""
            return await these.close()

    assert run(again()) == ()
    assert repo.read(name) == "theirs\n"


def test_commits_of_the_person_are_taken_in(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"a.py": "a"})
            repo.commit("the person's", {"mine.py": "mine"})
            assert isinstance(await these.integrate(1, "bn-1", "x"), MergeDone)
            assert (repo.read("a.py"), repo.read("mine.py"), repo.status) == ("a", "mine", "")
            repo.commit("more", {"more.py": "more"})
            await these.prepare(1, "bn-2")
            assert in_tree(these, 1).read("more.py") == "more"
            repo.commit("last", {"last.py": "last"})
            return await these.close()

    assert run(all_of_it()) == ()
    assert repo.git("branch", "--format=%(refname:short)") == "main"


def test_commits_of_the_person_that_conflict_are_left_to_them(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await do(these, 1, "bn-1", {"cart.py": "total = 1\n"})
            repo.git("reset", "--quiet", "--keep", "HEAD~1")
            mine = repo.commit("mine", {"cart.py": "total = 2\n"})
            assert isinstance(await do(these, 1, "bn-2", {"a.py": "a"}), MergeDone)
            assert "conflict" in these.behind
            assert repo.git("rev-parse", "HEAD") == mine
            return await these.close()

    assert run(all_of_it()) == ("bn/blue/run",)


def test_a_person_may_go_to_another_branch_meanwhile(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            repo.git("checkout", "--quiet", "-b", "elsewhere")
            assert isinstance(await do(these, 1, "bn-1", {"a.py": "a"}), MergeDone)
            assert "a.py" in repo.files("main")
            assert not (repo.path / "a.py").exists()

    run(all_of_it())


def test_a_run_may_start_where_no_branch_is_checked_out(repo, trees):
    repo.git("checkout", "--quiet", "--detach")
    before = repo.git("rev-parse", "HEAD")

    async def all_of_it():
        async with opened(trees()) as these:
            await do(these, 1, "bn-1", {"a.py": "a"})
            return await these.close()

    assert run(all_of_it()) == ("bn/blue/run",)
    assert repo.git("rev-parse", "HEAD") == repo.git("rev-parse", "main") == before
    assert "a.py" in repo.files("bn/blue/run")


def test_the_checkout_of_a_person_may_be_left_alone(repo, trees):
    async def all_of_it():
        async with opened(trees(moves_checkout=False)) as these:
            await do(these, 1, "bn-1", {"a.py": "a"})
            assert repo.files() == ["cart.py", "docs/a.md"]
            return await these.close()

    assert run(all_of_it()) == ("bn/blue/run",)


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_person_may_commit_in_the_same_moment(repo, trees, monkeypatch, is_elsewhere):
    advance, times = MergeQueue.advance, iter(range(2))

    async def late(*given):
        if (number := next(times, None)) is not None:
            repo.git("commit", "--quiet", "--allow-empty", "-m", f"the person's {number}")
            if is_elsewhere:
                repo.git("branch", "--force", "main")
        return await advance(*given)

    async def all_of_it():
        async with opened(trees()) as these:
            if is_elsewhere:
                repo.git("checkout", "--quiet", "-b", "elsewhere")
            monkeypatch.setattr(MergeQueue, "advance", late)
            assert isinstance(await do(these, 1, "bn-1", {"a.py": "a"}), MergeDone)

    run(all_of_it())
    said = repo.git("log", "--format=%s", "--no-merges", "main").splitlines()
    assert sorted(said) == ["first", "the person's 0", "the person's 1", "work"]


def test_a_branch_that_is_being_rebased_is_left(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            repo.git("checkout", "--quiet", "-b", "other")
            repo.commit("other", {"cart.py": "total = 2\n"})
            repo.git("checkout", "--quiet", "main")
            repo.commit("ours", {"cart.py": "total = 3\n"})
            repo.git("rebase", "other", check=False)
            assert isinstance(await do(these, 1, "bn-1", {"a.py": "a"}), MergeDone)
            assert "rebase" in these.behind
            repo.git("rebase", "--abort")
            assert isinstance(await do(these, 1, "bn-2", {"b.py": "b"}), MergeDone)
            assert these.behind == ""

    run(all_of_it())
    assert {"a.py", "b.py"} <= set(repo.files("main"))


def test_a_person_may_look_at_the_branch_of_the_run(repo, trees, tmp_path):
    place = tmp_path / "look"

    async def all_of_it():
        async with opened(trees()) as these:
            repo.git("worktree", "add", "--quiet", str(place), "bn/blue/run")
            assert isinstance(await do(these, 1, "bn-1", {"a.py": "a"}), MergeDone)
            assert (place / "a.py").read_text() == "a"
            (place / "cart.py").write_text("mine")
            held = await do(these, 1, "bn-2", {"b.py": "b"})
            assert isinstance(held, MergeHeld)
            assert str(place) in held.reason
            assert not os.path.exists(place / "b.py")
            (place / "cart.py").write_text("total = 0\n")
            assert isinstance(await these.integrate(1, "bn-2", "x"), MergeDone)

    run(all_of_it())
    assert (place / "b.py").exists()


def test_two_runs_work_side_by_side(repo, trees):
    async def all_of_it():
        async with opened(trees("blue")) as blue, opened(trees("green")) as green:
            await work(blue, 1, "bn-1", {"a.py": "a"})
            await work(green, 1, "bn-2", {"b.py": "b"})
            assert isinstance(await blue.integrate(1, "bn-1", "x"), MergeDone)
            assert isinstance(await green.integrate(1, "bn-2", "x"), MergeDone)

    run(all_of_it())
    assert repo.files() == ["a.py", "b.py", "cart.py", "docs/a.md"]
    assert repo.git("branch", "--format=%(refname:short)") == "main"


def test_the_branch_of_the_run_is_made_again_if_somebody_deletes_it(repo, trees):
    async def all_of_it():
        async with opened(trees(moves_checkout=False)) as these:
            assert isinstance(await do(these, 1, "bn-1", {"a.py": "a"}), MergeDone)
            await work(these, 2, "bn-2", {"b.py": "b"})
            repo.git("branch", "-D", "bn/blue/run")
            assert isinstance(await these.integrate(2, "bn-2", "x"), MergeDone)
            repo.git("branch", "-D", "bn/blue/run")
            await these.prepare(1, "bn-3")
            repo.git("branch", "-D", "bn/blue/run")
            assert await these.close() == ("bn/blue/run",)

    run(all_of_it())
    assert {"a.py", "b.py"} <= set(repo.files("bn/blue/run"))


def test_the_branch_of_the_run_is_put_back_if_somebody_else_moves_it(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            assert isinstance(await do(these, 1, "bn-1", {"a.py": "a"}), MergeDone)
            await work(these, 2, "bn-2", {"b.py": "b"})
            in_tree(these, 2).git("update-ref", "refs/heads/bn/blue/run", "bn/blue/bn-2")
            assert isinstance(await do(these, 1, "bn-3", {"c.py": "c"}), MergeDone)
            assert "b.py" not in repo.files("bn/blue/run")
            in_tree(these, 2).git("update-ref", "refs/heads/bn/blue/run", "bn/blue/run~1")
            assert isinstance(await do(these, 1, "bn-4", {"d.py": "d"}), MergeDone)
            return await these.close()

    kept = run(all_of_it())
    (brought,) = (one for one in kept if "b.py" in repo.files(one) and "parked" in one)
    assert brought.startswith("refs/binnacle/parked/blue/run-")
    assert {"a.py", "c.py", "d.py"} <= set(repo.files())
    assert "b.py" not in repo.files()


def test_a_history_of_its_own_is_parked_and_the_task_begins_again(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await these.prepare(1, "bn-1")
            tree = in_tree(these, 1)
            tree.git("update-ref", "-d", "refs/heads/bn/blue/bn-1")
            tree.write({"a.py": "a"})
            await these.keep(1, "bn-1", "a new root")
            held = await these.integrate(1, "bn-1", "x")
            assert isinstance(held, MergeHeld)
            assert held.reason == "its commits do not begin from bn/blue/run, so they cannot be merged"
            (ref,) = (await these.prepare(1, "bn-1")).was_parked
            assert repo.at(ref, "a.py") == "a"
            assert isinstance(await do(these, 1, "bn-1", {"b.py": "b"}), MergeDone)
            return await these.close()

    assert len(run(all_of_it())) == 1
    assert "a.py" not in repo.files()
    assert "b.py" in repo.files()


def test_a_person_may_begin_a_new_history(repo, trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"a.py": "a"})
            repo.git("update-ref", "-d", "refs/heads/main")
            repo.git("commit", "--quiet", "-m", "all over again")
            assert isinstance(await these.integrate(1, "bn-1", "x"), MergeDone)
            assert "has commits that conflict" in these.behind

    run(all_of_it())
    assert "a.py" in repo.files("bn/blue/run")
    assert "a.py" not in repo.files("main")


def test_a_repository_in_the_tree_is_named_as_what_holds_the_work(trees):
    async def all_of_it():
        async with opened(trees()) as these:
            await work(these, 1, "bn-1", {"a.py": "a"})
            nested = Repository.new(Path(these.folder(1), "vendored"), {"x": "x"})
            held = await these.integrate(1, "bn-1", "x")
            assert isinstance(held, MergeHeld)
            assert held.reason.startswith("vendored/ is a git repository of its own, so nothing in it is committed")
            (nested.path / ".git").rename(nested.path.parent.parent / "away")
            await these.keep(1, "bn-1", "x")
            assert isinstance(await these.integrate(1, "bn-1", "x"), MergeDone)

    run(all_of_it())
