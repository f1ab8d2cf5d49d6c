"""Runs in a repository with trusted checks, of agents that play a script."""

from collections.abc import Sequence
from typing import Any

from binnacle.config import trust
from binnacle.project.check_file import CHECK_FILE, find_trust_items
from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.store import evidence, questions, tasks
from binnacle.work.evidence import Evidence
from binnacle.work.task import NewTask, Task
from runner.plays import Play

WORDS_CHECK = """checks:
  - name: words
    command: sh -c "sh check.sh"
    timeout: 60
"""
"""One check, of a script in the repository."""

CHECK_SCRIPT = "grep -q good work.txt || { echo 'work.txt is not good'; exit 1; }\n"


class CheckedPlay:
    """A run's repository with checks that a person has trusted, and one task."""

    def __init__(self, play: Play, *, checks: str = WORDS_CHECK, files: dict[str, str] | None = None) -> None:
        self.play = play
        self.repo = play.runs.repo
        self.base = self.repo.commit("checks", {CHECK_FILE: checks, **(files or {"check.sh": CHECK_SCRIPT})})
        trust.keep(str(self.repo.path), find_trust_items(str(self.repo.path)), by="ann", at="", how="terminal")

    def add(self, *titles: str, **fields: Any) -> list[str]:
        return self.play.add(*(NewTask(title=title, **fields) for title in titles))

    def run(self, script: str, **more: Any) -> run_events.RunEnded:
        return self.play.run(script, **{"has_worktree": True, **more})

    def task(self, task_id: str) -> Task:
        with open_store(self.play.runs.project) as store, store.read() as tx:
            return tasks.get(tx, task_id)

    def outcomes(self, task_id: str) -> list[str]:
        return [outcome for outcome, _ in self.play.attempts(task_id)]

    def evidence(self, task_id: str) -> Sequence[Evidence]:
        """The results about a task, the oldest first."""
        with open_store(self.play.runs.project) as store, store.read() as tx:
            return evidence.list_of_task(tx, task_id)[::-1]

    def question(self, task_id: str) -> str:
        """The one question that a person is asked about a task."""
        with open_store(self.play.runs.project) as store, store.read() as tx:
            (asked,) = questions.list_blocking(tx, task_id)
            return asked.text

    def checks_that_ran(self) -> list[tuple[str, str, bool]]:
        """Check, verdict, and whether it was about a merged tree, in the order in which they ended."""
        ended = self.play.runs.kinds(run_events.CheckEnded)
        return [(one.check, one.verdict, one.is_merged) for one in ended]
