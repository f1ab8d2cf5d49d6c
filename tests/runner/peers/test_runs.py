"""`bn run` with goose, opencode and Claude Code, each with a scripted model: two tasks are planned and done."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.peers import model as models
from runner.peers.conftest import AGENTS, WRITES, Lead
from runner.peers.model import Builder
from runner.repositories import Repository

pytestmark = pytest.mark.peers

BN = str(Path(sys.executable).with_name("bn"))
RUN_PATIENCE = 600


class Site:
    """A repository with a specification, and runs in it."""

    def __init__(self, lead: Lead) -> None:
        spec = "# Words\n\n## Tasks\n\n- Write one\n- Write two\n"
        self.repo = Repository.new(lead.home / "repo", {"spec.md": spec})
        self.model = Builder(lambda name, text: WRITES[lead.name](str(self.repo.path / name), text))
        self._lead = lead

    def _env(self) -> dict[str, str]:
        env = {**self._lead.env, **AGENTS[self._lead.name](self.model.url)}
        env |= {"BN_DATA_DIR": str(self._lead.home / "bn"), "BN_USER": "ann"}
        env["PATH"] = os.pathsep.join([str(Path(BN).parent), env["PATH"], os.environ["PATH"]])
        return env

    def begin(self) -> "subprocess.Popen[str]":
        words = ["--agent", self._lead.name, "--approve", "edits", "--auto-commit", "--json"]
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [BN, "run", "spec.md", *words], cwd=self.repo.path, env=self._env(), text=True, **streams
        )

    def set_up(self) -> None:
        """Configures Binnacle in the client, for the person and in the project."""
        for scope in ("--user", "--project"):
            words = [BN, "system", "init", "--client", self._lead.name, scope, "--allow"]
            subprocess.run(words, cwd=self.repo.path, env=self._env(), check=True, timeout=60, capture_output=True)
        self.repo.git("add", "--all")
        self.repo.git("commit", "--quiet", "--allow-empty", "-m", "set up")

    def finish(self) -> list[dict[str, Any]]:
        """A run to its end, which is the completion of the work; what it told."""
        with self.begin() as run:
            out, errors = run.communicate(timeout=RUN_PATIENCE)
        told = [json.loads(line) for line in out.splitlines()]
        assert run.returncode == 0, (told[-1:], errors)
        assert (told[-1]["why"], told[-1]["closed"], told[-1].get("left", 0)) == ("complete", 2, 0)
        assert [self.repo.read(f"{word}.txt") for word in ("one", "two")] == ["one\n", "two\n"]
        assert self.repo.git("log", "--format=%s").splitlines()[:2] == ["Write two", "Write one"]
        return told


def test_a_specification_is_planned_and_done(lead: Lead):
    site = Site(lead)
    with models.playing(site.model):
        site.finish()


@pytest.mark.parametrize("lead", ["goose"], indirect=True)
def test_a_run_that_was_killed_goes_on_in_the_session_of_its_agent(lead: Lead):
    site = Site(lead)
    with models.playing(site.model):
        with site.begin() as run:
            assert run.stdout is not None
            told = (json.loads(line) for line in run.stdout)
            assert any(event["event"] == "iteration_started" and event["number"] == 1 for event in told)
            assert any(event["event"] == "tool" and "task-update" in event["title"] for event in told)
            run.kill()
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
    asked = [event for event in told if event["event"] == "permission_decided" and event["by"] == "own tool"]
    assert all(event["is_allowed"] for event in asked)
    assert not {name for name in site.model.offered if "binnacle" in name or name.endswith("bn_run")}
    stores = list(lead.home.rglob("store.db"))
    assert [path.is_relative_to(lead.home / "bn") for path in stores] == [True]
