"""What a demanding user found in runs: each would fail again if it came back. The other points are in `test_attempts`
(files of dependencies, what decides in the prompt, limits), `test_several_machines`, `test_checks` and `test_titles`.
"""

import pytest

from binnacle.runner import run_events
from binnacle.runner.budget import RunBudget
from binnacle.work.task import NewTask
from runner.plays import FastControl
from runner.runs import TWO

pytestmark = pytest.mark.usefixtures("nothing_is_left")

DONE = "agent.write(agent.task, 'x')\nagent.done()"
REPORTED = (
    'agent.write(agent.task, "x")\nagent.call("report_done" if "report_done" in agent.tools() else "done", summary="x")'
)
MOVED = 'agent.write(agent.task, "x")\nagent.call("set_task_status", id=agent.task, status="done", reason="x")'


@pytest.mark.parametrize(
    ("recipe", "script"),
    [("report", REPORTED), ("task_intents", REPORTED), ("task", MOVED), ("task_execution", MOVED)],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_recipes_of_one_task_complete_a_run(play, recipe, script, workers):
    """The session was bound to no task, and the run failed."""
    first, *_ = play.add(NewTask(title="Base"), NewTask(title="Side"))
    play.add(NewTask(title="Next", depends_on=(first,)))
    ended = play.run(script, recipe=recipe, workers=workers)
    assert (ended.why, ended.closed, ended.iterations) == ("unproven", 3, 3)


@pytest.mark.parametrize(
    "said",
    [
        "API Error: 503 Service Unavailable",
        "API Error: 529 overloaded_error",
        "Internal error: 502 Bad Gateway",
        "connect ECONNREFUSED 127.0.0.1:443",
        "TypeError: fetch failed",
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_an_outage_does_not_end_a_run_and_uses_up_no_attempt(play, said, workers):
    """A provider that answered 503 for 15 seconds ended the run."""
    (task,) = play.add(NewTask(title="Wait"))
    script = f"if agent.times('turn') <= 5:\n    agent.fail({said!r})\n{DONE}"
    control = FastControl()
    ended = play.run(script, control=control, workers=workers)
    assert (ended.why, ended.iterations) == ("unproven", 1)
    assert control.waited > 15
    assert [outcome for outcome, _ in play.attempts(task)] == ["done"]


@pytest.mark.parametrize("budget", [RunBudget(cost=2.0), RunBudget(iterations=1)], ids=["cost", "iterations"])
def test_a_resumed_run_has_only_what_is_left_of_its_budget(play, budget):
    """Each --resume began at zero, so a budget was none."""
    play.add(*(NewTask(title=f"Task {word}") for word in ("one", "two", "three")))
    script = f"{DONE}\nagent.cost(2.0)"
    assert play.run(script, budget=budget).why == "budget"
    before = len(play.runs.kinds(run_events.AgentStarted))
    again = play.run(script, budget=budget, is_resumed=True)
    assert again.why == "budget"
    assert len(play.runs.kinds(run_events.AgentStarted)) == before, "nothing was left of it"


def test_a_second_specification_may_use_the_titles_of_the_first(play):
    """Titles were unique over the whole project, closed tasks included."""
    runs = play.runs
    assert runs.run(TWO, name="first").why == "unproven"
    again = runs.run(TWO.replace('"one"', '"uno"').replace('"two"', '"due"'), name="second")
    assert (again.why, again.closed) == ("unproven", 2)
    assert runs.repo.read("one.py").strip() == 'WORD = "uno"'


def test_twelve_tasks_take_twelve_iterations(play):
    """One ready task started all workers: 16 iterations for 12 tasks."""
    known: list[str] = []
    for number in range(12):
        depends_on = tuple(known[-1:]) if number % 3 else ()
        known += play.add(NewTask(title=f"Step {number}", depends_on=depends_on))
    ended = play.run(DONE, workers=3)
    assert (ended.why, ended.closed, ended.iterations) == ("unproven", 12, 12)
    assert len(play.runs.kinds(run_events.AgentStarted)) == 12
