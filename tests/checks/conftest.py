"""Repositories whose checks are run, on a machine on which nobody has told git anything."""

import pytest

from checks.checked_repository import CheckedRepository


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """No configuration of a person reaches the tests, and none of theirs is reached."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("BN_TEST_MARK", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "EMAIL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def checked(tmp_path) -> CheckedRepository:
    return CheckedRepository(tmp_path)
