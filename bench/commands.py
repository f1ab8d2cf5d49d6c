"""The groups `cold` and `cli`: `bn` as people and agents start it, a process each time."""

from collections.abc import Generator

from bench.environment import nothing, of_checkout, program, project
from bench.measure import Action, Command, take_turns
from bench.plan import Plan
from bench.report import Result, count, timed
from bench.workload import COMMON, RARE

VERSION_BUDGET, READY_BUDGET = 4.0, 6.0
"""Times as long as a Python that does nothing."""

TITLE = "one more, turn {}"
"""Of a task added; the same twice would be refused."""

COMMANDS = {
    "bn task add": ("task", "add", TITLE),
    "bn ready": ("ready",),
    "bn next --claim": ("next", "--claim"),
    "bn task list": ("task", "list"),
    "bn search, a word in 10 tasks": ("search", RARE),
    "bn search, a word in every 10th": ("search", COMMON),
}


def measure_cold(plan: Plan) -> Generator[Result]:
    """How much `bn` adds to what starting Python costs anyway."""
    python, version = nothing(plan), program(plan, "bn", "--version")
    bn = project(plan, plan.sizes[0])
    contestants = {
        "python": turn(python),
        "version": turn(version),
        "wheel": turn(bn, "ready"),
        "checkout": turn(of_checkout(bn), "ready"),
    }
    plan.say("cold: starting processes")
    taken = take_turns(contestants, rounds=plan.rounds * 3, yardstick=turn(python))
    group, floor = "cold start", "python -c pass"
    yield timed(group, floor, taken["python"])
    yield timed(group, "bn --version", taken["version"], taken["python"], of=floor, limit=VERSION_BUDGET)
    for place in ("wheel", "checkout"):
        name = f"bn ready, {count(plan.sizes[0])}, from a {place}"
        yield timed(group, name, taken[place], taken["python"], of=floor, limit=READY_BUDGET)
    yield Result(group="memory", name=floor, value=python.peak(), unit="MB")


def measure_cli(plan: Plan) -> Generator[Result]:
    """Every command at every size, on SQLite."""
    projects = {size: project(plan, size) for size in plan.sizes}
    smallest, yardstick = plan.sizes[0], turn(nothing(plan))
    for name, words in COMMANDS.items():
        plan.say(f"cli: {name}")
        contestants = {size: turn(bn, *words) for size, bn in projects.items()}
        taken = take_turns(contestants, rounds=plan.rounds, yardstick=yardstick)
        for size, values in taken.items():
            reference = taken[smallest] if size != smallest else None
            yield timed("command line", f"{name}, {count(size)}", values, reference, of=count(smallest))
    for size, bn in projects.items():
        yield Result(group="memory", name=f"bn ready, {count(size)}", value=bn.peak("ready"), unit="MB")


def turn(command: Command, *words: str) -> Action:
    """One start of a command; `{}` in a word becomes the number of the round."""
    return lambda number: command(*(word.format(number) for word in words))
