"""`bn run` with six agents of other people, each with a scripted model: a specification is planned and done."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from binnacle.project.project import find_project
from binnacle.project.store_opening import open_store
from binnacle.store.events import EVENTS
from runner import parts
from runner.peers import model as models
from runner.peers.agents import AGENTS
from runner.peers.builder import Builder
from runner.peers.conftest import Lead
from runner.repositories import Repository

pytestmark = pytest.mark.peers

BN = str(Path(sys.executable).with_name("bn"))
RUN_PATIENCE = 900
FEW = 5
"""Parts: enough for one that needs two others, and for one that changes the file of another."""

OUTAGE_REQUESTS = 8
"""Requests that fail. Agents send a failed one again, so that several fail before the run hears of it."""

Event = dict[str, Any]


class Site:
    """A repository with a specification, and runs in it."""

    def __init__(self, lead: Lead, number: int = FEW) -> None:
        self.number = number
        self.repo = Repository.new(lead.home / "repo", parts.files(number))
        self.model = Builder(lead.agent_kind, self.repo.path)
        self.lead = lead

    @property
    def env(self) -> dict[str, str]:
        env = {**self.lead.env, **self.lead.agent_kind.env(self.model.url)}
        env |= {"BN_DATA_DIR": str(self.lead.home / "bn"), "BN_USER": "ann", "BN_PASS_ENV": "STAGE"}
        env["PATH"] = os.pathsep.join([str(Path(BN).parent), env["PATH"], os.environ["PATH"]])
        return env

    @contextmanager
    def running(self, *more: str) -> "Iterator[subprocess.Popen[str]]":
        """A run, whose errors are in a file. Leaving it kills a run that still goes on."""
        words = ["--agent", self.lead.name, "--approve", "edits", "--auto-commit", "--json", *more]
        with (self.lead.home / "errors").open("w") as errors:
            process = subprocess.Popen(
                [BN, "run", "spec.md", *words], cwd=self.repo.path, env=self.env, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        with process:
            try:
                yield process
            finally:
                process.kill()

    def set_up(self) -> None:
        """Configures Binnacle in the client, for the person and in the project."""
        for scope in ("--user", "--project"):
            words = [BN, "system", "init", "--client", self.lead.name, scope, "--allow"]
            subprocess.run(words, cwd=self.repo.path, env=self.env, check=True, timeout=60, capture_output=True)
        self.repo.git("add", "--all")
        self.repo.git("commit", "--quiet", "--allow-empty", "-m", "set up")

    def finish(self, *more: str) -> list[Event]:
        """A run to its end, which is the completion of the work; what it told."""
        with self.running(*more) as run:
            out, _ = run.communicate(timeout=RUN_PATIENCE)
        told = [json.loads(line) for line in out.splitlines()]
        self.check(told, run.returncode)
        return told

    def check(self, told: list[Event], code: int) -> None:
        """Everything is done, once, committed, and passes its test."""
        assert code == 0, (told[-1:], _complaints(told), (self.lead.home / "errors").read_text())
        assert (told[-1]["why"], told[-1]["closed"], told[-1].get("left", 0)) == ("unproven", self.number, 0)
        assert self.times_done() == [1] * self.number
        titles = self.repo.git("log", "--format=%s").splitlines()
        assert {f"Part {part}" for part in range(1, self.number + 1)} <= set(titles)
        assert self.repo.status == ""
        subprocess.run([sys.executable, *parts.TEST_WORDS], cwd=self.repo.path, check=True, timeout=60)

    def times_done(self) -> list[int]:
        """How often each task was closed."""
        folder = os.environ.get("BN_DATA_DIR")
        os.environ["BN_DATA_DIR"] = self.env["BN_DATA_DIR"]
        try:
            with open_store(find_project(str(self.repo.path))) as store, store.read() as tx:
                found = EVENTS.select(tx, "where entity = 'task' and action = 'done' order by seq")
        finally:
            del os.environ["BN_DATA_DIR"]
            if folder is not None:
                os.environ["BN_DATA_DIR"] = folder
        counts: dict[str, int] = {}
        for event in found:
            counts[event.entity_id] = counts.get(event.entity_id, 0) + 1
        return list(counts.values())

    def kill_agent(self, worker: int) -> None:
        """Kills the agent that works in the tree of a worker, which has just started."""
        found = []
        for pid in self.lead.place.stage.processes():
            with suppress(OSError):
                is_agent = b"BN_MCP_SESSION=" in Path(f"/proc/{pid}/environ").read_bytes()
                if is_agent and os.readlink(f"/proc/{pid}/cwd").endswith(f"/trees/{worker}"):
                    found.append(pid)
        os.kill(min(found), signal.SIGKILL)  # what it has started has later ids


def _complaints(told: list[Event]) -> list[Event]:
    return [event for event in told if event["event"] in ("warned", "attempt_ended", "waiting")]


@pytest.mark.parametrize("lead", AGENTS, indirect=True)
def test_a_specification_is_planned_and_done(lead: Lead):
    site = Site(lead)
    with models.playing(site.model):
        site.finish()


@pytest.mark.parametrize("lead", AGENTS, indirect=True)
def test_twelve_tasks_are_completed_by_three_workers_although_one_is_killed_and_the_provider_is_away(lead: Lead):
    site = Site(lead, 12)
    told: list[Event] = []
    merged, is_away, is_killed = 0, False, False
    with models.playing(site.model), site.running("--workers", "3") as run:
        assert run.stdout is not None
        for line in run.stdout:
            told.append(json.loads(line))
            merged += told[-1]["event"] == "merged"
            if merged >= 2 and not is_killed and told[-1]["event"] == "agent_started":
                site.kill_agent(told[-1].get("worker", 1))
                is_killed = True
            if merged >= 5 and not is_away:
                is_away, site.model.outage = True, OUTAGE_REQUESTS
        code = run.wait(timeout=RUN_PATIENCE)
    site.check(told, code)
    assert any(event["event"] == "warned" and "signal 9" in event["message"] for event in told), _complaints(told)
    assert (is_away, site.model.outage) == (True, 0)


@pytest.mark.parametrize("lead", ["goose"], indirect=True)
def test_a_run_that_was_killed_goes_on_in_the_session_of_its_agent(lead: Lead):
    site = Site(lead)
    with models.playing(site.model):
        with site.running() as run:
            assert run.stdout is not None
            told = (json.loads(line) for line in run.stdout)
            assert any(event["event"] == "iteration_started" and event["number"] == 1 for event in told)
            assert any(event["event"] == "tool" and "task-update" in event["title"] for event in told)
        told_again = site.finish()
    started = next(event for event in told_again if event["event"] == "agent_started")
    assert started["was_loaded"]


@pytest.mark.parametrize("lead", AGENTS, indirect=True)
def test_a_client_that_was_set_up_works_in_the_session_of_its_run(lead: Lead):
    site = Site(lead)
    site.set_up()
    with models.playing(site.model):
        told = site.finish()
    used = {event["title"] for event in told if event["event"] == "tool" and "task-update" in event["title"]}
    assert used
    assert all("bns" in title for title in used)
    asked = [event for event in told if event["event"] == "permission" and event["by"] == "own tool"]
    assert all(event["is_allowed"] for event in asked)
    assert not {name for name in site.model.offered if "binnacle" in name or name.endswith("bn_run")}
    stores = list(lead.home.rglob("store.db"))
    assert [path.is_relative_to(lead.home / "bn") for path in stores] == [True]
