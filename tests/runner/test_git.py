"""What the runner learns from git, and what it commits."""

import asyncio
import os
import select
from contextlib import suppress

import pytest

from binnacle.errors import GitError, Refused
from binnacle.git.command import Git, commit_message
from runner.repositories import Repository


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


@pytest.fixture
def git(repo) -> Git:
    return Git(str(repo.path))


def test_a_folder_outside_of_any_repository_has_no_root(tmp_path):
    (tmp_path / "plain").mkdir()
    assert run(Git(str(tmp_path / "plain")).root()) is None


def test_a_repository_without_a_working_tree_has_no_root(repo):
    assert run(Git(str(repo.path / ".git")).root()) is None


def test_a_repository_that_git_does_not_use_is_said(repo, git):
    """It is not taken for a folder without git, in which nothing would be committed."""
    (repo.path / ".git/config").write_text("[broken\n")
    with pytest.raises(GitError, match="bad config"):
        run(git.root())


def test_the_root_is_found_from_within(repo):
    assert run(Git(str(repo.path / "docs")).root()) == str(repo.path.resolve())


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(GitError, match="no such directory"):
        run(Git(str(tmp_path / "nowhere")).root())


def test_git_that_is_not_installed_is_said(repo, monkeypatch):
    monkeypatch.setenv("PATH", str(repo.path))
    with pytest.raises(GitError, match="not installed"):
        run(Git(str(repo.path)).root())


def test_branch_and_head(repo, git):
    assert run(git.branch()) == "main"
    assert run(git.head()) == repo.git("rev-parse", "HEAD")
    repo.git("checkout", "--quiet", "--detach")
    assert run(git.branch()) is None


def test_a_variable_that_leads_to_another_repository_is_not_followed(repo, git, tmp_path, monkeypatch):
    other = Repository.new(tmp_path / "other", {"x": "x"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    assert run(git.root()) == str(repo.path.resolve())


def test_changed_files_without_ignored_ones_and_ours(repo, git):
    repo.commit("ignore", {".gitignore": "*.log\n"})
    repo.write({"cart.py": "total = 1\n", "ü nö.txt": "", "a.log": "", ".vsc-bridge/host.json": "{}"})
    (repo.path / "docs/a.md").unlink()
    assert sorted(run(git.list_changed())) == ["cart.py", "docs/a.md", "ü nö.txt"]


def test_the_fingerprint_follows_content_and_nothing_else(repo, git):
    async def marks():
        found = [await git.fingerprint()]
        for change in (
            lambda: repo.write({"cart.py": "total = 1\n"}),
            lambda: repo.write({"cart.py": "total = 2\n"}),
            lambda: repo.write({"new.py": ""}),
            lambda: repo.write({"new.py": "x"}),
            lambda: (repo.path / "new.py").chmod(0o755),
            (repo.path / "docs/a.md").unlink,
            lambda: os.symlink("cart.py", repo.path / "link"),
        ):
            change()
            found.append(await git.fingerprint())
        return found

    found = run(marks())
    assert len(set(found)) == len(found)
    (repo.path / "cart.py").touch()
    assert run(git.fingerprint()) == found[-1]
    repo.write({".vsc-bridge/execute/1": "x"})
    assert run(git.fingerprint()) == found[-1]


def test_an_empty_commit_is_no_change(repo, git):
    before = run(git.fingerprint())
    repo.git("commit", "--quiet", "--allow-empty", "-m", "nothing")
    assert run(git.fingerprint()) == before


def test_a_large_file_is_known_by_its_size_and_time(repo, git):
    repo.write({"large.bin": "x" * (2 << 20)})
    before = run(git.fingerprint())
    assert run(git.fingerprint()) == before
    repo.write({"large.bin": "x" * (3 << 20)})
    assert run(git.fingerprint()) != before


def test_everything_of_an_iteration_is_committed(repo, git):
    repo.commit("ignore", {".gitignore": "*.log\n"})
    repo.write({"cart.py": "total = 1\n", "src/new.py": "", "a.log": "", ".vsc-bridge/host.json": "{}"})
    (repo.path / "docs/a.md").unlink()
    done = run(git.commit_all("Mend the cart\n\nIt adds up.\n"))
    assert (done.title, done.files) == ("Mend the cart", 3)
    assert done.id == repo.git("rev-parse", "HEAD")
    assert repo.files() == [".gitignore", "cart.py", "src/new.py"]
    assert repo.git("log", "-1", "--format=%B") == "Mend the cart\n\nIt adds up."
    assert repo.status == "?? .vsc-bridge/"


def test_the_lock_of_a_git_that_was_killed_a_while_ago_is_no_hindrance(repo, git):
    lock = repo.path / ".git" / "index.lock"
    lock.touch()
    repo.write({"cart.py": "1"})
    with pytest.raises(GitError, match=r"index\.lock"):
        run(git.commit_all("too early"))
    os.utime(lock, (1, 1))
    assert run(git.commit_all("now")).files == 1


def test_nothing_to_commit_is_fine(repo, git):
    assert run(git.commit_all("nothing")) is None
    repo.write({".vsc-bridge/host.json": "{}"})
    repo.git("add", "--all")
    assert run(git.commit_all("ours only")) is None
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_what_an_agent_staged_of_ours_stays_out(repo, git):
    repo.write({".vsc-bridge/host.json": "{}", "new.py": ""})
    repo.git("add", "--all")
    run(git.commit_all("new"))
    assert repo.files() == ["cart.py", "docs/a.md", "new.py"]


def test_a_repository_that_was_cloned_into_the_tree_stays_out(repo, git):
    Repository.new(repo.path / "vendored", {"x": "x"})
    repo.write({"new.py": ""})
    assert run(git.commit_all("new")).files == 1
    assert "vendored" not in repo.files()


def test_the_first_commit_of_a_repository(tmp_path):
    repo = Repository.new(tmp_path / "new")
    git = Git(str(repo.path))
    repo.write({"a.py": "", ".vsc-bridge/x": ""})
    before = run(git.fingerprint())
    assert (run(git.head()), run(git.branch())) == (None, "main")
    assert run(git.commit_all("begin")).id
    assert repo.files() == ["a.py"]
    assert run(git.fingerprint()) != before


def test_the_author_is_the_person_or_a_stand_in(repo, git, monkeypatch):
    def author(text: str) -> str:
        repo.write({"cart.py": text})
        run(git.commit_all("change"))
        return repo.git("log", "-1", "--format=%an <%ae>")

    assert author("1") == "Binnacle <binnacle@localhost>"
    repo.git("config", "user.name", "Bea")
    assert author("2") == "Bea <binnacle@localhost>"
    repo.git("config", "user.email", "bea@example.org")
    assert author("3") == "Bea <bea@example.org>"


@pytest.mark.parametrize("what", ["merge", "rebase", "cherry-pick"])
def test_in_the_middle_of_something_nothing_is_committed(repo, git, what):
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit("other", {"cart.py": "total = 2\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit("ours", {"cart.py": "total = 3\n"})
    repo.git(what, "other", check=False)
    before = repo.git("rev-parse", "HEAD")
    with pytest.raises(Refused, match=f"in the middle of a {what}") as refused:
        run(git.commit_all("x"))
    assert str(repo.path) in refused.value.hint
    assert repo.git("rev-parse", "HEAD") == before


def add_hook(repo: Repository, name: str, body: str) -> None:
    path = repo.path / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    repo.git("config", "core.hooksPath", "hooks")


def test_a_hook_of_the_repository_may_refuse(repo, git):
    add_hook(repo, "pre-commit", "echo 'format it first' >&2; exit 1")
    with pytest.raises(GitError, match="format it first"):
        run(git.commit_all("x"))
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_git_that_takes_too_long_is_ended_with_its_hooks(repo, git, tmp_path):
    add_hook(repo, "pre-commit", f"echo $$ > {tmp_path}/pid; sleep 600")
    repo.git("add", "hooks")
    with pytest.raises(GitError, match="took longer"):
        run(git.run("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "x", within=2))
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(int((tmp_path / "pid").read_text()))
        assert select.select([handle], [], [], 30)[0], "it has ended, at the latest in a moment"
        os.close(handle)


def test_a_message_is_a_title_and_what_was_done():
    assert commit_message("Mend\nthe cart", "It adds up.") == "Mend the cart\n\nIt adds up.\n"
    assert commit_message("") == "Work of an iteration\n"
    long = commit_message("word " * 30, "done")
    first, _, rest = long.partition("\n")
    assert len(first) <= 72
    assert rest.endswith("done\n")


def test_a_message_that_looks_like_a_comment_is_kept(repo, git):
    repo.write({"cart.py": "1"})
    run(git.commit_all("#12 mend\n\n# not a comment\n"))
    assert repo.git("log", "-1", "--format=%B") == "#12 mend\n\n# not a comment"
