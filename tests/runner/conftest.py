"""Git as on a machine on which nobody has told it anything."""

import time

import pytest

from runner.plays import Play
from runner.repositories import Repository
from runner.runs import Runs, marked_processes


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


@pytest.fixture
def play(tmp_path, monkeypatch) -> Play:
    """Runs of an agent that plays a script, in a repository of its own."""
    monkeypatch.setenv("BN_TEST_MARK", str(tmp_path))
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("BN_AGENT_ID", raising=False)
    for module in ("attempt", "agent_reviews"):
        monkeypatch.setattr(f"binnacle.runner.{module}.BACKOFF_SECONDS", (0.1,))
    return Play(Runs(Repository.new(tmp_path / "repo", {"readme.md": "words\n"}), tmp_path), tmp_path / "play")


@pytest.fixture(params=["sqlite", "postgres"])
def shared_play(request, monkeypatch) -> Play:
    """Runs with their store on each engine."""
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_place")  # first, so that its server has no mark of the test
        monkeypatch.setenv("BN_STORE_URL", place.where)
        monkeypatch.setenv("BN_STORE_SCHEMA", place.schema)
    return request.getfixturevalue("play")


@pytest.fixture
def nothing_is_left(tmp_path):
    """No process with the mark of the test is left after it."""
    yield
    until = time.monotonic() + 20
    while (left := marked_processes(f"BN_TEST_MARK={tmp_path}")) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left
