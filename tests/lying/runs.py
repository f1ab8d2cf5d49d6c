"""Runs in which an agent lies, and what there is to see after one."""

from pathlib import Path
from typing import NamedTuple

from binnacle.config import trust
from binnacle.project.check_file import find_trust_items
from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.store import attempts, questions, tasks
from binnacle.work.ids import TaskId
from binnacle.work.task import NewTask
from lying.agents import Agent
from lying.project import write_project
from runner.plays import Play

TESTS = Path(__file__).parent.parent

SCRIPT = """
import sys

if {tests!r} not in sys.path:
    sys.path.insert(0, {tests!r})
from lying.in_run_player import play_turn

play_turn(agent, {name!r})
"""
"""The agent's part is in `lies`, and its process finds it there by name."""


class RunOutcome(NamedTuple):
    """What there is to see after a run."""

    ended: run_events.RunEnded
    status: str
    level: str
    said: str
    """Everything that a person reads about the task: why its attempts ended, and what they are asked."""

    outcomes: list[str]
    base: str
    prompts: list[str]


def run_agent(play: Play, agent: Agent, **options: object) -> RunOutcome:
    """A run of one task with one agent, who repeats its word when it is asked again."""
    repo = play.runs.repo
    base = write_project(repo, agent.checks)
    trust.keep(str(repo.path), find_trust_items(str(repo.path)), by="ann", at="", how="terminal")
    (task,) = play.add(
        NewTask(
            title="Round totals",
            kind=agent.kind,  # type: ignore[arg-type] # a plain word in the table
            checks=agent.task_checks,
            acceptance_criteria=agent.criteria,
        )
    )
    script = SCRIPT.format(tests=str(TESTS), name=agent.name)
    wanted = {"has_worktree": True, "max_attempts": 1, "name": "words", **options}
    ended = play.run(script, **wanted)
    with open_store(play.runs.project) as store, store.read() as tx:
        found = tasks.get(tx, TaskId(task))
        made = attempts.list_attempts(tx, TaskId(task))
        asked = [one.text for one in questions.list_blocking(tx, TaskId(task))]
    return RunOutcome(
        ended=ended,
        status=found.status,
        level=found.evidence_level or "",
        said="\n".join([*(one.reason for one in made), *asked]),
        outcomes=[one.outcome for one in made],
        base=base,
        prompts=play.kept("prompt"),
    )


def integrated(play: Play) -> str:
    """The commit of the branch to which a run brings what is proven."""
    return play.runs.repo.git("rev-parse", "bn/words/run")
