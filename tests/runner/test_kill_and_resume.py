"""A run that is killed with `kill -9` at any moment goes on where it was, and does nothing twice."""

import os
import random
import shlex
import signal
import time
from pathlib import Path

import pytest

from binnacle.project.store_opening import open_store
from binnacle.store import sessions
from demo_commands import MISBEHAVING_AGENT
from runner.repositories import Repository
from runner.runs import Runs, last_event, many, marked_processes

KILLS = int(os.environ.get("BN_RUN_KILLS", "6"))
"""Moments that are tried; fifty with BN_RUN_KILLS=50."""

TASKS = 3
EVENTS = 70
"""About as many things are told in a whole run."""

AGENT = f"{shlex.join(MISBEHAVING_AGENT)} --misbehave slow=0.02"
WORDS = ("spec.md", "--agent", AGENT, "--approve", "all", "--auto-commit")


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Runs:
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BN_TEST_MARK", str(tmp_path))
    monkeypatch.delenv("BN_AGENT_ID", raising=False)
    return Runs(Repository.new(tmp_path / "repo", {"spec.md": many(TASKS)}), tmp_path)


def wait_until_gone(mark: str) -> None:
    until = time.monotonic() + 30
    while (left := marked_processes(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [describe_process(pid) for pid in left]


def describe_process(pid: int) -> str:
    """What a process is, for whoever reads the failure."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        waits = Path(f"/proc/{pid}/wchan").read_text()
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    except OSError as error:
        return f"{pid}: {error}"
    return f"{pid} (child of {parent}, waits in {waits}): {words}"


def kill_after(runs: Runs, number: int, pause: float, *words: str, **env: str) -> None:
    """Begins a run and kills it a moment after so many things were told, or lets it end if there are fewer."""
    process = runs.command(*words, **env)
    assert process.stdout is not None
    try:
        for _ in range(number):
            if not process.stdout.readline():
                break
        time.sleep(pause)
    finally:
        process.kill()
        process.communicate(timeout=60)


@pytest.mark.parametrize("seed", range(KILLS))
def test_it_goes_on_and_does_nothing_twice(runs, tmp_path, seed):
    chance = random.Random(seed)
    number, pause = chance.randint(0, EVENTS), chance.random() * 0.3
    kill_after(runs, number, pause, *WORDS)
    wait_until_gone(f"BN_TEST_MARK={tmp_path}")

    again = runs.command(*WORDS)
    told, errors = again.communicate(timeout=110)
    ended = last_event(told)
    titles = [f"Add the word w{one}" for one in range(1, TASKS + 1)]
    if ended["why"] == "no_ready_task":  # it was killed when all was done
        assert runs.session_status() == "complete", errors
    else:
        assert (ended["why"], again.returncode) == ("unproven", 3), (ended, errors)
    assert runs.times("done") == dict.fromkeys(titles, 1)
    assert runs.times("added") == dict.fromkeys(titles, 1)
    assert runs.holders() == set()
    assert sorted(runs.repo.git("log", "--format=%s").splitlines()) == sorted([*titles, "first"])
    with open_store(runs.project) as store, store.read() as tx:
        done = [one for one in sessions.list_sessions(tx) if one.status == "complete"]
        numbers = [one.number for one in sessions.list_iterations(tx, done[-1].id)]
    assert numbers == list(range(TASKS + 1))


def test_a_run_that_goes_on_is_not_run_a_second_time(runs):
    process = runs.command(*WORDS)
    assert process.stdout is not None
    try:
        assert process.stdout.readline()
        second = runs.command(*WORDS)
        told, errors = second.communicate(timeout=60)
        assert (second.returncode, told) == (1, b"")
        assert f"in process {process.pid}".encode() in errors
    finally:
        process.send_signal(signal.SIGTERM)
        told, errors = process.communicate(timeout=60)
    assert last_event(told)["why"] in ("interrupted", "unproven"), errors
    assert runs.holders() == set()
