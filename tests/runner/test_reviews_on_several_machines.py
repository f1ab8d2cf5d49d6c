"""Agents that review in a run on two machines: a change has one runner, and another goes on when that is killed."""

import os
import signal
from pathlib import Path

import pytest

from binnacle.config import trust
from binnacle.project.check_file import CHECK_FILE, find_trust_items
from binnacle.project.store_opening import open_store
from binnacle.store import reviews
from binnacle.work.task import NewTask
from runner.checked_plays import CHECK_SCRIPT, WORDS_CHECK
from runner.plays import Play, player_command
from runner.reviewed_plays import READ
from runner.test_reviews_in_runs import GOOD
from runner.test_several_machines import PATIENCE, Machine, RunningRun, git, machines, nothing_is_left

__all__ = ["machines", "nothing_is_left"]

pytestmark = pytest.mark.timeout(4 * PATIENCE)

TASKS = 4
RULES = f"{WORDS_CHECK}review:\n  default: agent\n"


class SharedReviews:
    """A run on two machines whose changes agents review."""

    def __init__(self, both: tuple[Machine, Machine], folder: Path) -> None:
        self.machines = both
        self.folder = folder
        first, second = both
        first.repo.commit("checks", {CHECK_FILE: RULES, "check.sh": CHECK_SCRIPT})
        git(first.repo.path, "push", "--quiet", "origin", "main")
        git(second.repo.path, "pull", "--quiet", "origin", "main")
        for one in both:
            path = str(one.repo.path)
            trust.keep(path, find_trust_items(path), by="ann", at="", how="terminal")
        self.tasks = Play(first, folder).add(
            *(NewTask(title=f"part {number}", acceptance_criteria=("it is there",)) for number in range(TASKS))
        )

    def begin(self, machine: Machine, review: str) -> RunningRun:
        """Begins the run there, with scripts of its own for both agents."""
        folder = self.folder / machine.repo.path.name
        work = player_command(GOOD, folder / "work")
        judge = player_command(READ + review, folder / "review")
        words = ("--agent", work, "--agent-for", f"review={judge}", "--name", "words", "--approve", "all")
        running = RunningRun(machine, (*words, "--remote", "origin"), len(machine.started))
        machine.started.append(running)
        return running

    def verdicts(self) -> list[int]:
        """How many verdicts there are on each task."""
        with open_store(self.machines[0].project) as store, store.read() as tx:
            return [len(reviews.list_verdicts(tx, one)) for one in self.tasks]


@pytest.fixture
def shared(machines, tmp_path, monkeypatch) -> SharedReviews:
    monkeypatch.setenv("BN_DATA_DIR", f"{machines[0].repo.path}.data")
    return SharedReviews(machines, tmp_path / "play")


def test_every_change_is_reviewed_once_by_whichever_machine(shared):
    running = [shared.begin(one, "accept()") for one in shared.machines]
    for one in running:
        assert one.wait() in ("complete", "no_ready_task"), (one.told()[-5:], one.errors)
    assert shared.verdicts() == [1] * TASKS
    assert {task.evidence_level for task in shared.machines[0].tasks().values()} == {"accepted"}
    judged = [event["task"] for one in running for event in one.told() if event["event"] == "review_judged"]
    assert sorted(judged) == sorted(shared.tasks)


def test_another_machine_goes_on_with_the_review_of_one_that_is_killed(shared):
    first, second = shared.machines
    victim = shared.begin(first, "agent.say('I read it.\\n'); agent.wait('never')")
    victim.wait_for("said")
    os.kill(victim.process.pid, signal.SIGKILL)
    victim.wait()
    assert shared.verdicts() == [0] * TASKS
    other = shared.begin(second, "accept()")
    assert other.wait() == "complete", (other.told()[-5:], other.errors)
    assert shared.verdicts() == [1] * TASKS
