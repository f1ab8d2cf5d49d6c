"""Runs that are left alone: agents that crash, conflict and are away, and a night with many tasks."""

import math
import os
import subprocess
import sys

import pytest

from binnacle.runner import run_events
from binnacle.runner.budget import RunBudget
from binnacle.work.task import NewTask
from runner.plays import FastControl

pytestmark = pytest.mark.usefixtures("nothing_is_left")

TWELVE = """
number = int(agent.title.removeprefix("Part "))
if agent.times("turn") == 3:
    os._exit(9)
if agent.times("answer") == 5:
    agent.fail("API Error: 503 Service Unavailable")
needs = [before for before in (number - 3, number - 4) if before > 0]
agent.write(f"part{number}.py", "".join(f"import part{before}\\n" for before in needs) + f"NUMBER = {number}\\n")
shared = agent.cwd / f"shared{(number - 1) // 3}.txt"
lines = shared.read_text().splitlines() if shared.exists() else []
kept = {line for line in lines if not line.startswith(("<<<", "===", ">>>"))}
shared.write_text("".join(f"{line}\\n" for line in sorted({*kept, f"part {number}"})))
agent.done()
"""
"""Parts that need others; three at a time change the same file."""


def test_twelve_tasks_with_conflicts_a_crash_and_an_outage_are_completed(play):
    ids: list[str] = []
    for number in range(1, 13):
        needs = tuple(ids[before - 1] for before in (number - 3, number - 4) if before > 0)
        ids += play.add(NewTask(title=f"Part {number}", depends_on=needs))
    ended = play.run(TWELVE, workers=3, control=FastControl())
    assert (ended.why, ended.closed) == ("complete", 12), play.runs.told[-5:]
    assert set(play.runs.times("done").values()) == {1}
    assert any(event.conflicts for event in play.runs.kinds(run_events.BranchMerged))
    repo = play.runs.repo.path
    imports = "\n".join(f"import part{number}" for number in range(1, 13))
    subprocess.run([sys.executable, "-B", "-c", imports], cwd=repo, check=True)
    lines = [line for name in sorted(repo.glob("shared*.txt")) for line in name.read_text().splitlines()]
    assert sorted(lines) == sorted(f"part {number}" for number in range(1, 13))
    assert play.runs.repo.status == ""


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
    ended = play.run(NIGHT, control=control, auto_commit=True, budget=RunBudget(cost=number), within=86400)
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
