"""Nobody's work is ever deleted: what git would remove, overwrite or forget without a word stays, and is named."""

import os
from pathlib import Path

import pytest

from binnacle.runner import run_events
from binnacle.runner.trees.merge_results import MergeConflict, MergeDone
from binnacle.runner.trees.run_trees import InWorktrees
from binnacle.work.task import NewTask
from runner.repositories import Repository
from runner.run_folders import do, in_tree, opened, run, work


@pytest.fixture
def trees(repo, tmp_path):
    """Makes the trees of a run in a repository that ignores some files."""
    repo.commit("ignore", {".gitignore": ".env\nnotes/\n*.pyc\nnode_modules/\nbuild/\n"})

    def made(name: str = "blue", **options) -> InWorktrees:
        return InWorktrees(start=str(repo.path), folder=str(tmp_path / "data" / "worktrees"), name=name, **options)

    return made


def close_after(trees: InWorktrees, files: dict[str, str], *, task: str = "bn-1"):
    """What is kept after a run in which a task was done and other files were written."""

    async def all_of_it():
        async with opened(trees) as these:
            assert isinstance(await do(these, 1, task, {f"{task}.py": "a"}), MergeDone)
            in_tree(these, 1).write(files)
            return await these.close()

    return run(all_of_it())


class TestIgnoredFiles:
    def test_one_that_nothing_makes_again_stays_with_its_tree(self, repo, trees):
        kept = close_after(trees(), {".env": "SECRET=1", "notes/deep/idea.md": "mine", "node_modules/x/y.js": "y"})
        tree = Path(trees().folder(1))
        assert kept == (str(tree / ".env"), str(tree / "notes/deep/idea.md"))
        assert (tree / ".env").read_text() == "SECRET=1"
        assert repo.git("branch", "--format=%(refname:short)") == "main", "the branch of the task is merged"
        again = close_after(trees(), {}, task="bn-2")
        assert again == kept, "the next run uses the tree again, and leaves them too"

    def test_what_a_build_makes_goes_with_the_tree(self, trees):
        assert close_after(trees(), {"node_modules/x/y.js": "y", "src/a.pyc": "x", "build/out.txt": "x"}) == ()
        assert not os.path.exists(trees().folder(1))

    def test_a_copy_of_what_the_person_has_goes_with_the_tree(self, repo, trees):
        repo.write({".env": "SECRET=1"})
        assert close_after(trees(), {".env": "SECRET=1"}) == ()
        assert repo.read(".env") == "SECRET=1"
        assert close_after(trees(), {".env": "SECRET=2"}, task="bn-2") == (os.path.join(trees().folder(1), ".env"),)

    def test_names_that_are_no_text_are_named_readably(self, trees):
        async def all_of_it():
            async with opened(trees()) as these:
                await do(these, 1, "bn-1", {"a.py": "a"})
                folder = os.path.join(these.folder(1), "notes")
                os.mkdir(folder)
                Path(os.fsdecode(os.fsencode(folder) + b"/\xff\x01")).write_text("mine")
                return await these.close()

        (kept,) = run(all_of_it())
        assert kept.endswith("/notes/\ufffd\x01")

    def test_one_in_the_way_of_a_branch_is_put_aside(self, trees):
        """Git would overwrite it without a word."""

        async def all_of_it():
            async with opened(trees()) as these:
                tree = in_tree(these, 1)
                await work(these, 1, "bn-1", {"a.py": "a"})
                await these.prepare(2, "bn-2")
                in_tree(these, 2).write({".env": "EXAMPLE=1", "notes": "a file now"})
                in_tree(these, 2).git("add", "--force", ".env", "notes")
                await these.keep(2, "bn-2", "x")
                await these.integrate(2, "bn-2", "x")
                tree.write({".env": "SECRET=1", "notes/idea.md": "mine"})
                await these.prepare(1, "bn-3")
                assert (tree.read(".env"), tree.read("notes")) == ("EXAMPLE=1", "a file now")
                return await these.close()

        kept = run(all_of_it())
        (aside,) = [one for one in kept if Path(one).is_dir()]
        assert (Path(aside) / ".env").read_text() == "SECRET=1"
        assert (Path(aside) / "notes/idea.md").read_text() == "mine"

    def test_one_in_the_way_of_a_conflict_is_put_aside(self, trees):
        async def all_of_it():
            async with opened(trees()) as these:
                await work(these, 1, "bn-1", {"cart.py": "total = 1\n"})
                await these.prepare(2, "bn-2")
                in_tree(these, 2).write({".env": "EXAMPLE=1", "cart.py": "total = 2\n"})
                in_tree(these, 2).git("add", "--force", ".env")
                await these.keep(2, "bn-2", "x")
                await these.integrate(2, "bn-2", "x")
                in_tree(these, 1).write({".env": "SECRET=1"})
                assert isinstance(await these.integrate(1, "bn-1", "x"), MergeConflict)
                assert in_tree(these, 1).read(".env") == "EXAMPLE=1"
                return await these.close()

        (aside,) = [one for one in run(all_of_it()) if Path(one).is_dir()]
        assert (Path(aside) / ".env").read_text() == "SECRET=1"

    def test_one_that_another_branch_does_not_ignore_is_not_committed_there(self, repo, trees):
        async def all_of_it():
            async with opened(trees()) as these:
                await work(these, 1, "bn-1", {".gitignore": ".env\nlocal.key\n"})
                in_tree(these, 1).write({"local.key": "SECRET"})
                assert isinstance(await do(these, 1, "bn-2", {"b.py": "b"}), MergeDone)
                return await these.close()

        kept = run(all_of_it())
        assert "local.key" not in repo.files("main")
        (aside,) = [one for one in kept if Path(one).is_dir()]
        assert (Path(aside) / "local.key").read_text() == "SECRET"


class TestNamed:
    """What is stored elsewhere while a run is at work is named at its end."""

    def test_a_rebase_that_an_agent_left(self, repo, trees):
        async def all_of_it():
            async with opened(trees()) as these:
                tree = in_tree(these, 1)
                await work(these, 1, "bn-1", {"cart.py": "total = 1\n"})
                tree.git("checkout", "--quiet", "-b", "other", "main")
                tree.commit("other", {"cart.py": "total = 2\n"})
                tree.git("checkout", "--quiet", "bn/blue/bn-1")
                tree.git("rebase", "other", check=False)
                tree.write({"precious.py": "x"})
                (ref,) = (await these.prepare(1, "bn-2")).was_parked
                return ref, await these.close()

        ref, kept = run(all_of_it())
        assert repo.at(ref, "precious.py") == "x"
        assert ref in kept

    def test_commits_on_no_branch(self, repo, trees):
        async def all_of_it():
            async with opened(trees()) as these:
                await these.prepare(1, "bn-1")
                in_tree(these, 1).git("checkout", "--quiet", "--detach")
                in_tree(these, 1).commit("lost", {"b.py": "b"})
                return await these.close()

        (ref,) = run(all_of_it())
        assert ref.startswith("refs/binnacle/parked/blue/worker-1-")
        assert repo.at(ref, "b.py") == "b"

    def test_what_an_agent_stashed(self, repo, trees):
        async def all_of_it():
            async with opened(trees()) as these:
                await these.prepare(1, "bn-1")
                in_tree(these, 1).write({"cart.py": "half done"})
                in_tree(these, 1).git("stash")
                return await these.close()

        (stash,) = run(all_of_it())
        assert stash.startswith("stash@{0}: WIP on bn/blue/bn-1")
        assert repo.at("stash@{0}", "cart.py") == "half done"

    def test_the_stash_of_a_person_is_theirs(self, repo, trees):
        repo.write({"cart.py": "mine"})
        repo.git("stash")
        assert close_after(trees(), {}) == ()
        assert repo.at("stash@{0}", "cart.py") == "mine"

    def test_a_submodule_with_commits_of_its_own(self, repo, trees, tmp_path):
        Repository.new(tmp_path / "part", {"part.py": "1"})
        repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "part"), "part")
        repo.git("commit", "--quiet", "-m", "part")

        async def all_of_it():
            async with opened(trees()) as these:
                await these.prepare(1, "bn-1")
                tree = in_tree(these, 1)
                tree.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
                Repository(tree.path / "part").commit("only here", {"part.py": "2"})
                await these.keep(1, "bn-1", "x")
                await these.integrate(1, "bn-1", "x")
                return await these.close()

        (kept,) = run(all_of_it())
        assert kept == trees().folder(1)
        assert Path(kept, "part", "part.py").read_text() == "2"


def test_a_run_names_at_its_end_what_it_left(play):
    repo = play.runs.repo
    repo.commit("ignore", {".gitignore": ".env\n"})
    play.add(NewTask(title="One"))
    ended = play.run("agent.write('.env', 'SECRET=1')\nagent.write('a.py', 'a')\nagent.done()", has_worktree=True)
    assert ended.why == "unproven"
    (left,) = [one for one in ended.kept if one.endswith(".env")]
    assert Path(left).read_text() == "SECRET=1"
    assert play.runs.kinds(run_events.RunEnded)[-1].kept == ended.kept


@pytest.mark.parametrize("dirty", ["changed", "staged", "untracked", "ignored"])
def test_a_dirty_tree_of_a_person_is_as_it_was(play, dirty):
    """Also if the run changes the very file."""
    repo = play.runs.repo
    repo.commit("ignore", {".gitignore": "mine.txt\n", "shared.py": "1\n"})
    name = {"untracked": "new.py", "ignored": "mine.txt"}.get(dirty, "shared.py")
    repo.write({name: "of the person\n"})
    if dirty == "staged":
        repo.git("add", name)
    before = repo.status
    play.add(NewTask(title="One"))
    script = f"""
agent.write({name!r}, "of the agent\\n")
os.system(f"git -C {{agent.cwd}} add --force {name}")
agent.done()
"""
    ended = play.run(script, workers=2)
    assert (ended.why, ended.closed) == ("unproven", 1)
    assert repo.read(name) == "of the person\n"
    assert repo.status == before
    assert "bring it in with" in ended.behind
    assert repo.at("bn/words/run", name) == "of the agent"
