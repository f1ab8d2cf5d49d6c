"""Runs that are started from the page: real processes that the page does not own."""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.plays import Play
from runner.repositories import Repository
from runner.runs import Runs, marked_processes
from web.conftest import OpenPage
from web.test_runs_page import SAYS, add, until

WITHIN_SECONDS = 60


@pytest.fixture
def play(page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    """Runs in the repository of the page, none of which outlives the test."""
    monkeypatch.setenv("BN_TEST_MARK", str(tmp_path))
    yield Play(Runs(Repository(page.repo), tmp_path), tmp_path / "play")
    end = time.monotonic() + 30
    while (left := marked_processes(f"BN_TEST_MARK={tmp_path}")) and time.monotonic() < end:
        time.sleep(0.1)
    assert not left


def start(page: OpenPage, **order: Any) -> dict[str, Any]:
    """Starts what the person has seen."""
    preview = page("run_start_preview", order=order)
    return dict(page("start_run", order=order, command=preview["command"]))


def wait_until(page: OpenPage, started: dict[str, Any], is_so: Callable[[Any], bool]) -> Any:
    return until(page, is_so, "started_run", id=started["id"])


def test_a_run_of_selected_tasks_is_started_and_ends(page, play):
    first, second = add(page, "one", "two")
    started = start(
        page, name="chosen", agent=play.agent(SAYS), tasks=[first], approve="all", iterations=4, cost=2.5, workers=1
    )
    assert started["is_alive"]
    assert f"--task={first} --approve=all --iterations=4 --budget=cost=2.5 --headless" in started["command"]
    until(page, lambda one: one["runs"] and one["runs"][0]["state"] == "working", "runs", limit=5)
    play.flag("go")
    ended = wait_until(page, started, lambda one: not one["is_alive"])
    assert (ended["error"], ended["name"]) == ("", "chosen")
    found = page("run", run="chosen")["details"]["listed"]
    assert (found["state"], found["run"]["why"], found["run"]["budget"]) == (
        "ended",
        "unproven",
        {"iterations": 4, "cost": 2.5},
    )
    assert [play.status(one) for one in (first, second)] == ["done", "pending"]
    assert page("run_order", run="chosen")["order"]["tasks"] == [first]


def test_a_run_that_was_killed_is_interrupted_and_goes_on_from_the_page(page, play):
    (task,) = add(page, "one")
    started = start(page, name="words", agent=play.agent(SAYS), approve="all")
    until(page, lambda one: one["runs"] and one["runs"][0]["working_on"], "runs", limit=5)
    pids = [pid for pid in marked_processes("BN_TEST_MARK=") if _is_run_of(pid, "--name=words")]
    assert pids
    subprocess.run(["kill", "-9", *map(str, pids)], check=True, timeout=30)
    wait_until(page, started, lambda one: not one["is_alive"])
    found = until(page, lambda one: one["details"]["listed"]["state"] == "interrupted", run="words")
    assert found["details"]["listed"]["run"]["status"] == "active"
    order = page("run_order", run="words")["order"]
    play.flag("go")
    again = start(page, **{**order, "resume": True})
    assert "--resume" in again["command"]
    wait_until(page, again, lambda one: not one["is_alive"])
    assert play.status(task) == "done"


def _is_run_of(pid: int, word: str) -> bool:
    try:
        return word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def test_what_keeps_a_run_from_beginning_comes_back(page, play):
    (task,) = add(page, "one")
    started = start(page, name="gone", agent=play.agent(SAYS), resume=True)
    ended = wait_until(page, started, lambda one: not one["is_alive"])
    assert (ended["error"], ended["hint"]) == ("no run 'gone' to resume", "begin one: bn run SPEC")
    assert "no run 'gone' to resume" in ended["output"]
    missing = page.fails("run_start_preview", order={"agent": "gose", "tasks": [task]})
    assert (missing.code, "goose" in missing.hint) == ("E_AGENT_START", True)
    assert page.fails("run_start_preview", order={}).message == "no agent given"


class TestOrders:
    def test_the_command_is_the_one_that_was_seen(self, sqlite_page):
        order = {"agent": shlex.join([sys.executable]), "name": "x"}
        refused = sqlite_page.fails("start_run", order=order, command="bn run --name=y")
        assert refused.message == "the command is another one now"
        assert sqlite_page("runs")["runs"] == []

    def test_no_value_becomes_an_option(self, sqlite_page):
        preview = sqlite_page(
            "run_start_preview",
            order={"agent": sys.executable, "model": "--yes", "spec_file": "--yes", "feature": "-y", "name": "n"},
        )
        words = shlex.split(preview["command"])
        assert [word for word in words if word in ("--yes", "-y")] == []
        assert words[4] == str(sqlite_page.repo / "--yes")

    @pytest.mark.parametrize(
        "order",
        [
            {"name": "a b"},
            {"workers": 0},
            {"specification": "# a", "tasks": ["bn-1"]},
            {"cost": -1},
            {"resume": True},
        ],
    )  # fmt: skip
    def test_wrong_orders_are_refused(self, sqlite_page, order):
        refused = sqlite_page.fails("run_start_preview", order={"agent": sys.executable, **order})
        assert (refused.code, bool(refused.hint)) == ("E_INVALID_PARAMS", True)

    def test_what_is_not_trusted_and_not_committed_is_shown(self, sqlite_page):
        repo = Repository(sqlite_page.repo)
        repo.write({".binnacle/config.toml": '[run]\nagent = "goose"\n', "new.txt": "x"})
        preview = sqlite_page("run_start_preview", order={"agent": sys.executable})
        assert [(one["key"], one["state"]) for one in preview["trust"]] == [("setting:run.agent", "new")]
        assert "new.txt" in preview["changed_files"]

    def test_choices_come_from_the_repository_and_earlier_runs(self, sqlite_page):
        Repository(sqlite_page.repo).commit("files", {"docs/about.md": "x", "spec.md": "x", "a.py": "x"})
        choices = sqlite_page("run_choices")
        assert choices["files"] == ["spec.md", "docs/about.md"]
        assert {one["name"] for one in choices["agents"]} >= {"goose", "claude"}

    @pytest.mark.parametrize("start_id", ["../x", "20260101T000000-ffffff", ""])
    def test_unknown_starts_are_not_found(self, sqlite_page, start_id):
        assert sqlite_page.fails("started_run", id=start_id).code == "E_NOT_FOUND"
