"""Git as on a machine on which nobody has told it anything."""

import pytest

from runner.repositories import Repository


@pytest.fixture(autouse=True)
def bare_git(tmp_path, monkeypatch):
    """No configuration of a person or a machine reaches the tests, nor do they reach any."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "EMAIL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repo(tmp_path) -> Repository:
    return Repository.new(tmp_path / "repo", {"cart.py": "total = 0\n", "docs/a.md": "a\n"})
