"""A run of a selection of tasks: of nothing else, and only of what can be done."""

import json

import pytest

from binnacle.project.store_opening import open_store
from binnacle.store import dependencies, tasks
from binnacle.work.task import NewTask
from runner.plays import PERSON, Play
from runner.running_commands import RunningCommand

pytestmark = pytest.mark.usefixtures("nothing_is_left")

WRITES = """
agent.write(f"{agent.title}.txt", "x")
agent.done()
"""


def begin(play: Play, *words: str) -> RunningCommand:
    return RunningCommand(play.runs, "--agent", play.agent(WRITES), "--approve", "all", *words)


def add(play: Play, *titles: str) -> list[str]:
    return play.add(*(NewTask(title=title) for title in titles))


def refusal(run: RunningCommand) -> dict[str, str]:
    """The error with which a run ended that did not begin."""
    assert run.process.wait(60) == 1
    assert run.process.stderr is not None
    return dict(json.loads(run.process.stderr.read())["error"])


def test_only_the_selected_tasks_are_done_on_each_engine(shared_play):
    first, second, third = add(shared_play, "one", "two", "three")
    with begin(shared_play, "--task", first, "--task", third) as run:
        ended = run.until("run_ended")
        assert run.bn("session", "show", ended["name"])["run"]["tasks"] == [first, third]
    assert (ended["why"], ended["name"]) == ("unproven", f"{first}-and-1-more")
    assert [shared_play.status(one) for one in (first, second, third)] == ["done", "pending", "done"]


def test_a_resumed_run_keeps_its_selection(play):
    first, second = add(play, "one", "two")
    with begin(play, "--task", first, "--name", "chosen", "--budget", "minutes=0.00001") as run:
        run.until("run_ended", why="budget")
    with begin(play, "--resume", "--name", "chosen") as run:
        run.until("run_ended", why="unproven")
    assert [play.status(one) for one in (first, second)] == ["done", "pending"]


def test_parts_of_a_selected_task_belong_to_it(play):
    whole, other = add(play, "whole", "other")
    with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
        (part,) = tasks.add(tx, [NewTask(title="part", parent=whole)])
        dependencies.add(tx, whole, part.id)
    with begin(play, "--task", other) as run:
        run.until("run_ended")
    assert play.status(part.id) == "pending"
    with begin(play, "--task", whole) as run:
        run.until("run_ended")
    assert [play.status(one) for one in (whole, part.id)] == ["done", "done"]


def test_what_cannot_be_done_alone_is_refused_with_what_is_missing(play):
    first, second = add(play, "one", "two")
    with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
        dependencies.add(tx, second, first)
    with begin(play, "--task", second) as run:
        refused = refusal(run)
    assert refused["message"] == f"{second} waits for {first}, not selected"
    assert refused["hint"] == f"select these too, or finish them first: {first}"
    with begin(play, "--task", first, "--task", second) as run:
        run.until("run_ended", why="unproven")
    with begin(play, "--task", first) as run:
        assert refusal(run)["message"] == f"{first} is done already"
    with begin(play, "--task", "bn-ffff") as run:
        assert refusal(run)["code"] == "E_NOT_FOUND"
    with begin(play, "readme.md", "--task", first) as run:
        assert run.process.wait(60) == 2
