"""Which folders are projects, and what is said about one that is not."""

import subprocess

import pytest

from binnacle.errors import InvalidInput, NoProject
from binnacle.project.project import find_project, require_project
from binnacle.project.store_opening import open_store


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder outside of git and below the home folder, with data of its own."""
    for name in ("BN_REPO", "BN_STORE_URL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / "folder" / "inner"
    path.mkdir(parents=True)
    return path


def test_a_folder_that_is_no_project_is_refused_with_what_would_make_it_one(folder):
    with pytest.raises(NoProject) as caught:
        require_project(str(folder))
    assert caught.value.code == "E_NO_PROJECT"
    assert "git init" in caught.value.hint
    assert "bn store init" in caught.value.hint
    assert not find_project(str(folder)).is_known
    with pytest.raises(NoProject):
        require_project("/etc")


def test_what_is_no_directory_is_another_mistake(folder):
    with pytest.raises(InvalidInput):
        require_project(str(folder / "missing"))


@pytest.mark.parametrize("made_by", ["git", "store", "binnacle"])
def test_git_a_store_or_a_binnacle_folder_make_a_project_of_all_below(folder, made_by):
    match made_by:
        case "git":
            subprocess.run(["git", "init", "--quiet"], cwd=folder.parent, check=True, timeout=60)
        case "store":
            open_store(find_project(str(folder.parent))).close()
        case "binnacle":
            (folder.parent / ".binnacle").mkdir()
    project = require_project(str(folder))
    assert (project.repo, project.is_known) == (str(folder.parent), True)
    assert project.data_dir.endswith(project.id)


def test_a_binnacle_folder_of_the_home_folder_makes_no_project_of_what_is_below(folder, tmp_path):
    (tmp_path / ".binnacle").mkdir()
    assert require_project(str(tmp_path)).repo == str(tmp_path)
    with pytest.raises(NoProject):
        require_project(str(folder))
