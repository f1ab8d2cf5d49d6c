"""What a run spends is counted once, over attempts, planning, workers, kills and resumes, whatever agents report."""

import json
import shlex
import sys
import time
from pathlib import Path

import pytest

import forked_bn
from binnacle.project.store_opening import open_store
from binnacle.runner.budget import RunBudget
from binnacle.store import runs as store_runs
from binnacle.store.views.spending import list_budget_use, list_spending, total_spending
from binnacle.work.task import NewTask
from runner.plays import HERE, FastControl, Play

pytestmark = pytest.mark.usefixtures("nothing_is_left")

PLANNED = """
if not agent.task and agent.times("planned") == 1:
    agent.call("task-add", tasks=[{"title": "Write one", "covers": ["R1"]}, {"title": "Write two", "covers": ["R2"]}])
    agent.call("iteration-summary", summary="planned")
    agent.cost(0.25)
    agent.tokens(100)
elif agent.title == "Write one" and agent.times("one") == 1:
    agent.cost(0.5)
    while True:
        import time
        time.sleep(1)
elif agent.title == "Write one" and agent.times("half") == 1:
    agent.cost(0.125)
    agent.call("task-update", id=agent.task, status="partial", reason="half of it")
    agent.call("iteration-summary", summary="half")
else:
    agent.write(agent.title.split()[-1], "x")
    agent.done()
    agent.cost(1.0)
    agent.tokens(1000)
"""
"""One that plans, hangs in its first attempt until it is killed, and needs another after that."""


def spending(play: Play, by: str, name: str = "words") -> dict[str, tuple[int, int | None, dict[str, float]]]:
    with open_store(play.runs.project) as store, store.read() as tx:
        lines = list_spending(tx, by, run_id=store_runs.find(tx, name).id)
    return {line.title or line.key: (line.iterations, line.tokens, line.cost) for line in lines}


def total(play: Play, name: str = "words"):
    with open_store(play.runs.project) as store, store.read() as tx:
        return total_spending(tx, run_id=store_runs.find(tx, name).id)


def wait_for_cost(play: Play, amount: float, name: str = "words") -> None:
    """Waits until so much is in the store."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with open_store(play.runs.project) as store, store.read() as tx:
            if sum(total_spending(tx).cost.values()) >= amount:
                return
        time.sleep(0.05)
    raise AssertionError(f"{amount} was not noted")


def bn(play: Play, *words: str) -> dict:
    done = forked_bn.run([forked_bn.BN, *words, "--json"], stdin=b"", timeout=60, cwd=play.runs.repo.path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_planning_attempts_a_kill_and_a_resume_are_counted_once(shared_play):
    play = shared_play
    script = play.folder / "script.py"
    play.folder.mkdir(parents=True)
    script.write_text(PLANNED)
    (play.runs.repo.path / "words.md").write_text("# Words\n\n- one\n- two\n")
    agent = shlex.join([sys.executable, str(HERE / "player.py"), str(script), str(play.folder / "kept")])
    words = ("words.md", "--agent", agent, "--approve", "all", "--budget", "cost=9")
    process = play.runs.command(*words)
    try:
        wait_for_cost(play, 0.75)
    finally:
        process.kill()
        process.communicate(timeout=60)
    again = play.runs.command(*words)
    _, errors = again.communicate(timeout=110)
    assert again.returncode == 3, errors
    assert spending(play, "task") == {
        "planning": (1, 100, {"USD": 0.25}),
        "Write one": (2, 1000, {"USD": 0.5 + 0.125 + 1.0}),
        "Write two": (1, 1000, {"USD": 1.0}),
    }
    assert list(spending(play, "agent")) == [Path(sys.executable).name]
    found = bn(play, "cost", "words")
    assert found["total"]["cost"] == {"USD": 2.875}
    assert found["budget"] == [{"kind": "cost", "limit": 9.0, "used": 2.875}]
    by_run = bn(play, "cost")
    assert [(one["title"], one["cost"]) for one in by_run["lines"]] == [("words", {"USD": 2.875})]


def test_workers_at_the_same_time_add_up(shared_play):
    play = shared_play
    play.add(*(NewTask(title=f"Write {word}") for word in ("one", "two", "three", "four")))
    ended = play.run("agent.write(agent.task, 'x')\nagent.done()\nagent.cost(0.5)\nagent.tokens(10)", workers=3)
    assert (ended.why, ended.cost, ended.tokens) == ("unproven", 2.0, 40)
    assert list(spending(play, "task").values()) == [(1, 10, {"USD": 0.5})] * 4
    assert total(play).cost == {"USD": 2.0}


def test_several_sessions_of_agents_in_one_iteration_add_up(play):
    """The first fails after 2, the second after 1; the third loads the session of the second, which goes on to 4."""
    play.add(NewTask(title="Write it"))
    script = """
turn = agent.times("turn")
if turn == 1:
    agent.cost(2.0)
    os._exit(3)
if turn == 2:
    agent.cost(1.0)
    (agent.folder / "loads").touch()
    os._exit(3)
agent.cost(4.0)
agent.done()
"""
    ended = play.run(script, control=FastControl())
    assert (ended.why, ended.cost) == ("unproven", 6.0)
    assert total(play).cost == {"USD": 6.0}


def test_an_agent_that_counts_from_zero_after_loading_is_counted_on(play):
    play.add(NewTask(title="Write it"))
    script = """
if agent.times("turn") == 1:
    (agent.folder / "loads").touch()
    agent.cost(2.0)
    os._exit(3)
agent.cost(0.5)
agent.cost(0.75)
agent.done()
"""
    ended = play.run(script, control=FastControl())
    assert (ended.why, ended.cost) == ("unproven", 2.75)


def test_what_an_interrupted_attempt_cost_counts_once_for_its_task(play):
    """2 before the crash and 2 after it are 4 of 5, not 6."""
    (task,) = play.add(NewTask(title="Write it"))
    script = """
agent.cost(2.0)
if agent.times("turn") == 1:
    os._exit(3)
agent.done()
"""
    ended = play.run(script, control=FastControl(), task_budget=RunBudget(cost=5.0))
    assert (ended.why, play.status(task)) == ("unproven", "done")


def test_a_cost_that_nobody_reported_is_not_zero(play):
    play.add(NewTask(title="Write one"), NewTask(title="Write two"))
    script = "agent.done()\nif agent.title == 'Write one': agent.cost(0.0)"
    assert play.run(script).why == "unproven"
    assert spending(play, "task") == {"Write one": (1, None, {"USD": 0.0}), "Write two": (1, None, {})}
    shown = forked_bn.run(
        [forked_bn.BN, "cost", "words", "-H"], stdin=b"", timeout=60, cwd=play.runs.repo.path
    ).stdout.decode()
    assert "not reported" in shown
    assert "0.00 USD (1 of 2 reported)" in shown


def test_currencies_are_not_added_to_each_other(play):
    play.add(NewTask(title="Write one"), NewTask(title="Write two"))
    script = "agent.done()\nagent.cost(1.0, 'EUR' if agent.title == 'Write one' else 'USD')"
    assert play.run(script).why == "unproven"
    assert total(play).cost == {"EUR": 1.0, "USD": 1.0}


def test_the_time_of_a_run_and_its_budget_are_kept_with_it(play):
    play.add(NewTask(title="Write one"), NewTask(title="Write two"))
    script = "agent.done()\nagent.cost(1.0)\nagent.tokens(2500)"
    first = play.run(script, budget=RunBudget(iterations=1))
    again = play.run(script, budget=RunBudget(cost=4.0, tokens=10_000))
    assert (first.why, again.why) == ("budget", "unproven")
    with open_store(play.runs.project) as store, store.read() as tx:
        run = store_runs.find(tx, "words")
        used = {one.kind: (one.used, one.limit) for one in list_budget_use(tx, run)}
    assert used == {"cost": (2.0, 4.0), "tokens": (5000.0, 10_000.0)}
    assert run.seconds >= first.seconds + again.seconds - 0.2


def test_days_and_the_time_since_choose_what_counts(play):
    play.add(NewTask(title="Write one"))
    assert play.run("agent.done()\nagent.cost(1.0)").why == "unproven"
    (line,) = bn(play, "cost", "--by", "day")["lines"]
    assert line["cost"] == {"USD": 1.0}
    assert bn(play, "cost", "--by", "model")["lines"][0]["key"] == "(not named)"
    assert bn(play, "cost", "--since", "2100-01-01")["lines"] == []
