"""Where a working tree stands, as git's own files have it, compared with git."""

import os
import subprocess

import pytest

from binnacle.config.git_heads import read_heads
from runner.repositories import Repository


@pytest.fixture
def repo(tmp_path):
    return Repository.new(tmp_path / "repo", {"a.txt": "a\n"})


def heads(repo, folder=None):
    return read_heads(str(folder or repo.path))


def test_the_commit_of_the_tree_comes_first_and_then_the_main_branch(repo):
    main = repo.git("rev-parse", "HEAD")
    assert heads(repo) == (main,)
    repo.git("checkout", "--quiet", "-b", "work/one")
    repo.git("commit", "--quiet", "--allow-empty", "-m", "more")
    assert heads(repo) == (repo.git("rev-parse", "HEAD"), main)


def test_packed_refs_a_detached_head_and_folders_below_are_understood(repo):
    repo.git("checkout", "--quiet", "-b", "work")
    repo.git("pack-refs", "--all")
    below = repo.path / "src" / "deep"
    below.mkdir(parents=True)
    assert heads(repo, below) == (repo.git("rev-parse", "HEAD"),)
    repo.git("checkout", "--quiet", "--detach")
    assert heads(repo) == (repo.git("rev-parse", "HEAD"),)


def test_a_linked_tree_has_its_own_commit_and_the_shared_main_branch(repo, tmp_path):
    main = repo.git("rev-parse", "HEAD")
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    side = Repository(tmp_path / "side")
    side.git("commit", "--quiet", "--allow-empty", "-m", "there")
    assert heads(side) == (side.git("rev-parse", "HEAD"), main)


def test_the_origin_s_main_branch_counts(repo, tmp_path):
    subprocess.run(["git", "clone", "--quiet", str(repo.path), str(tmp_path / "clone")], check=True)
    clone = Repository(tmp_path / "clone")
    clone.git("checkout", "--quiet", "-b", "own")
    clone.git("commit", "--quiet", "--allow-empty", "-m", "there")
    assert heads(clone) == (clone.git("rev-parse", "HEAD"), repo.git("rev-parse", "HEAD"))


def test_without_a_commit_or_without_git_nothing_is_known(tmp_path):
    assert read_heads(str(tmp_path)) == ()
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "new")], check=True)
    assert read_heads(str(tmp_path / "new")) == ()


@pytest.mark.parametrize("head", ["ref: ../../secret\n", "ref: HEAD\n", "no commit\n", "ref: refs/heads/loop\n"])
def test_a_hostile_head_leads_nowhere(repo, head):
    (repo.path / ".git" / "HEAD").write_text(head)
    (repo.path / ".git" / "refs" / "heads" / "loop").write_text("ref: refs/heads/loop\n")
    os.unlink(repo.path / ".git" / "refs" / "heads" / "main")
    assert heads(repo) == ()
