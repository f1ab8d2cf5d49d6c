"""Which repository a command is about, and where its data is kept."""

import os
import re
import subprocess

import pytest

from binnacle.config.directories import data_dir, project_config_file, project_key, user_config_file
from binnacle.config.place import find_repo
from binnacle.errors import InvalidInput


def git(*arguments, at):
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_{what}": "ann@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    subprocess.run(["git", *arguments], cwd=at, env=environment, check=True, capture_output=True, timeout=60)


@pytest.fixture
def repo(tmp_path):
    """A repository with a commit."""
    path = tmp_path / "project"
    path.mkdir()
    git("init", at=path)
    git("commit", "--allow-empty", "-m", "first", at=path)
    return path


def test_the_repository_is_found_from_anywhere_inside(repo):
    deep = repo / "src" / "deep"
    deep.mkdir(parents=True)
    assert find_repo(str(deep)) == find_repo(str(repo)) == str(repo)


def test_without_a_start_it_is_the_one_around_the_current_directory(repo, monkeypatch):
    monkeypatch.chdir(repo)
    assert find_repo() == str(repo)


def test_bn_repo_names_another(repo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BN_REPO", str(repo))
    assert find_repo() == str(repo)
    assert find_repo(str(tmp_path)) == str(tmp_path)


def test_every_worktree_shares_the_key_of_the_main_one(repo, tmp_path):
    git("worktree", "add", str(tmp_path / "side"), at=repo)
    git("worktree", "add", str(repo / "inside"), at=repo)
    deep = tmp_path / "side" / "deep"
    deep.mkdir()
    for place in (tmp_path / "side", repo / "inside", deep):
        assert find_repo(str(place)) == str(repo)


def test_the_worktrees_of_a_bare_repository_share_one_key(repo, tmp_path):
    git("clone", "--bare", str(repo), str(tmp_path / "bare.git"), at=tmp_path)
    for name in ("one", "two"):
        git("worktree", "add", str(tmp_path / name), "-b", name, at=tmp_path / "bare.git")
    assert find_repo(str(tmp_path / "one")) == find_repo(str(tmp_path / "two")) == str(tmp_path / "bare.git")


def test_a_submodule_is_a_repository_of_its_own(repo, tmp_path):
    outer = tmp_path / "outer"
    outer.mkdir()
    git("init", at=outer)
    git("-c", "protocol.file.allow=always", "submodule", "add", str(repo), "part", at=outer)
    assert find_repo(str(outer / "part")) == str(outer / "part")
    assert find_repo(str(outer)) == str(outer)


def test_a_repository_with_its_git_directory_elsewhere_is_its_own(tmp_path):
    path = tmp_path / "project"
    path.mkdir()
    git("init", "--separate-git-dir", str(tmp_path / "elsewhere"), at=path)
    assert find_repo(str(path)) == str(path)


def test_a_symbolic_link_leads_to_the_same_repository(repo, tmp_path):
    (tmp_path / "link").symlink_to(repo)
    assert find_repo(str(tmp_path / "link")) == str(repo)


def test_outside_of_git_a_directory_stands_for_itself(tmp_path):
    deep = tmp_path / "plain" / "deep"
    deep.mkdir(parents=True)
    assert find_repo(str(deep)) == str(deep)


def test_a_git_file_that_leads_nowhere_is_no_error(tmp_path):
    (tmp_path / ".git").write_text("gitdir: /nowhere/at/all\n")
    assert find_repo(str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_a_directory_that_is_not_there_is_said(tmp_path, monkeypatch, how):
    missing = str(tmp_path / "missing")
    if how == "variable":
        monkeypatch.setenv("BN_REPO", missing)
    with pytest.raises(InvalidInput, match="no such directory") as caught:
        find_repo(missing if how == "argument" else None)
    assert "BN_REPO" in caught.value.hint


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="no such directory"):
        find_repo(str(tmp_path / "file"))


def test_keys_are_readable_and_differ_by_path():
    assert re.fullmatch(r"project-[0-9a-f]{16}", project_key("/home/ann/project"))
    assert project_key("/home/ann/project") == project_key("/home/ann/project")
    assert project_key("/home/ann/project") != project_key("/home/bob/project")
    assert len({project_key(f"/home/{number}/project") for number in range(5000)}) == 5000


@pytest.mark.parametrize(
    "path", ["/", "/home/ann/..hidden", "/home/ann/a b/c?", "/home/ann/日本", "/x/" + "y" * 200, "/x/\udce9"]
)
def test_every_path_gives_a_key_that_is_a_plain_directory_name(path):
    key = project_key(path)
    assert len(key) < 64
    assert "/" not in key
    assert not key.startswith(".")


def test_data_is_kept_outside_the_repository(repo, home):
    assert data_dir(str(repo)) == str(home / ".local" / "share" / "binnacle" / project_key(str(repo)))


def test_bn_data_dir_comes_before_xdg_data_home(repo, tmp_path, monkeypatch):
    key = project_key(str(repo))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert data_dir(str(repo)) == str(tmp_path / "xdg" / "binnacle" / key)
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    assert data_dir(str(repo)) == str(tmp_path / "data" / key)


def test_a_relative_bn_data_dir_begins_at_the_current_directory(repo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BN_DATA_DIR", "data")
    assert data_dir(str(repo)) == str(tmp_path / "data" / project_key(str(repo)))


def test_settings_are_in_the_home_and_in_the_repository(repo, home, tmp_path, monkeypatch):
    assert user_config_file() == str(home / ".config" / "binnacle" / "config.toml")
    assert project_config_file(str(repo)) == str(repo / ".binnacle" / "config.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert user_config_file() == str(tmp_path / "xdg" / "binnacle" / "config.toml")
