"""Runs that are left alone: agents that crash, conflict and are away, and a night with many tasks."""

import math
import os
import subprocess
import sys

import pytest

from binnacle.runner import run_events
from binnacle.runner.budget import RunBudget
from binnacle.work.task import NewTask
from runner import parts
from runner.plays import FastControl

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def test_twelve_tasks_with_conflicts_a_crash_and_an_outage_are_completed(play):
    repo = play.runs.repo
    repo.commit("a specification", parts.files(12))
    ended = play.run(parts.SCRIPT, spec=parts.specification(12), workers=3, control=FastControl())
    assert (ended.why, ended.closed) == ("unproven", 12), play.runs.told[-5:]
    assert play.runs.times("done") == {f"Part {part}": 1 for part in range(1, 13)}
    assert any(event.conflicts for event in play.runs.kinds(run_events.BranchMerged))
    assert any("503" in event.why for event in play.runs.kinds(run_events.WorkerWaiting))
    warned = [event.message for event in play.runs.kinds(run_events.WarningReported)]
    assert any("signal 9" in message for message in warned), warned
    subprocess.run([sys.executable, *parts.TEST_WORDS], cwd=repo.path, check=True, timeout=60)
    assert repo.status == ""


NIGHT = """
import hashlib

turn = agent.times(f"turn-{agent.task}")
if agent.task in agent.prompt:
    agent.keep("cost", "")
    agent.cost(0.1)
luck = int(hashlib.sha256(f"{agent.title} {turn}".encode()).hexdigest(), 16) % 100
if agent.title.startswith("Impossible"):
    agent.call("note-add", notes=[{"type": "stuck", "content": f"{agent.title}, turn {turn}"}])
elif luck < 6:
    os._exit(9)
elif luck < 12:
    agent.fail("the model said something that nobody understands")
elif luck < 24:
    agent.fail("rate limit exceeded, try again in 3 hours")
elif luck < 30:
    agent.call("task-update", id=agent.task, status="partial")
elif luck >= 36:
    agent.write(f"{agent.task}.txt", agent.title)
    agent.done()
"""


def test_a_night_ends_with_everything_done_or_handed_to_a_person(play):
    """Every eighth task cannot be done; of the others, a third of the turns fail in one way or another."""
    number = 200 if os.environ.get("BN_TEST_EXAMPLES") == "deep" else 24
    titles = [f"Impossible {one}" if one % 8 == 0 else f"Write {one}" for one in range(1, number + 1)]
    play.add(*(NewTask(title=title) for title in titles))
    control = FastControl()
    ended = play.run(
        NIGHT, control=control, auto_commit=True, budget=RunBudget(cost=number), within=86400, max_outage=86400
    )
    found = play.runs.tasks()
    assert ended.why == "needs_input", ended
    assert {found[title].status for title in titles} == {"done", "needs_input"}
    assert {found[title].status for title in titles if title.startswith("Impossible")} == {"needs_input"}
    assert set(play.runs.times("done").values()) == {1}
    assert math.isclose(ended.cost, 0.1 * len(play.kept("cost")))
    assert ended.cost < number
    assert control.waited > number / 200 * 86400
    done = [one for one in found.values() if one.status == "done"]
    assert all((play.runs.repo.path / f"{one.id}.txt").read_text() == one.title for one in done)
