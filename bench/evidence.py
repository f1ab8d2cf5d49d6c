"""The group `evidence`: what it costs that Binnacle itself sees the work done, without the time of the checks.

The demo agent does the specification of the demo, in turns with a trusted check and without one. The check notes how
long it took itself, and that is taken off; what is left are checkouts, comparisons with the base, and their records.
The processor's time is measured beside the clock's: it depends less on what else the machine does.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from functools import partial
from typing import NamedTuple

from bench.environment import of_checkout, program
from bench.measure import Command, Failed, run, take_readings
from bench.plan import ROOT, Plan
from bench.report import Result, timed

OVERHEAD_BUDGET = 1.05
"""Times as long as the same run without a check."""

MIN_ROUNDS = 5
RUN_SECONDS = 300
ONLY_SAID = 3
"""The exit code of a run whose tasks are done and not proven, which is that of a run without a check."""

TIMED_PYTEST = """\
#!/bin/sh
began=$(date +%s%N)
"{python}" -m pytest -q -p no:cacheprovider "$@"
code=$?
echo "$began $(date +%s%N)" >> "{taken}"
times >> "{taken}"
exit $code
"""
"""A `pytest` that notes when it began and ended, and what the shell says of its processor time."""

FLAW, REPAIR = "amount + reduction - voucher", "amount - reduction - voucher"
"""What the specification of the demo gets wrong, so that a check has something to find, and how it is right.

Here both runs have to do the same work: an agent that is told of a failure takes another turn.
"""


class RunCost(NamedTuple):
    """What one run took, in milliseconds."""

    wall: float
    """Without the time of checks."""

    processor: float
    """Of all its processes, without those of checks."""

    check_wall: float


def measure(plan: Plan) -> Generator[Result]:
    """A demo run that has to prove its tasks, next to one that does not."""
    plan.say("evidence: demo runs with and without a check")
    readings = take_readings(
        {"without": partial(_demo_run, plan, False), "with": partial(_demo_run, plan, True)},
        rounds=max(MIN_ROUNDS, plan.rounds // 2),
    )
    without, machinery = RunCost(*readings["without"]), RunCost(*readings["with"])
    group, floor = "evidence", "the same run without a check"
    with_check = "the same with a check, without its own time"
    yield timed(group, "a demo run of two tasks, nothing to prove", without.wall)
    yield timed(group, with_check, machinery.wall, without.wall, of=floor, limit=OVERHEAD_BUDGET)
    yield timed(group, "the run without a check, processor time", without.processor)
    yield timed(group, f"{with_check}, processor time", machinery.processor, without.processor, of=floor)
    yield timed(group, "the check's own time in it", machinery.check_wall)


def _demo_run(plan: Plan, is_checked: bool, turn: int) -> Sequence[float]:
    """One run in a repository of its own: a `RunCost`."""
    place = os.path.join(plan.folder, f"evidence-{turn}-{is_checked}")
    bn, taken = _prepare(plan, place, is_checked=is_checked)
    words = ("run", "spec.md", "--agent", "demo-agent", "--approve", "all", "--headless", "--json")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(
        [*bn.argv, *words], check=False, env=bn.env, cwd=bn.cwd, capture_output=True, text=True, timeout=RUN_SECONDS
    )
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != (0 if is_checked else ONLY_SAID):
        raise Failed(f"the demo run ended with {ended.returncode}: {(ended.stderr or ended.stdout)[-800:]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    own, own_processor = _read_taken(taken) if is_checked else (0.0, 0.0)
    shutil.rmtree(place)
    return RunCost((seconds - own) * 1000, (processor - own_processor) * 1000, own * 1000)


def _read_taken(path: str) -> tuple[float, float]:
    """Seconds, and seconds of the processor, of all runs of the check."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    wall = sum((int(end) - int(began)) / 1e9 for began, end in map(str.split, lines[::3]))
    children = [one for line in lines[2::3] for one in line.split()]
    return wall, sum(
        int(minutes) * 60 + float(rest[:-1]) for minutes, _, rest in (one.partition("m") for one in children)
    )


def _prepare(plan: Plan, place: str, *, is_checked: bool) -> tuple[Command, str]:
    """The shop of the demo in a repository, the demo agent as a program, and the file for the check's times."""
    repo, programs, taken = (os.path.join(place, name) for name in ("shop", "bin", "taken"))
    shop = os.path.join(ROOT, "demo", "shop")
    shutil.copytree(shop, repo, ignore=shutil.ignore_patterns("__pycache__", ".binnacle"))
    spec = os.path.join(repo, "spec.md")
    with open(spec, encoding="utf-8") as file:
        text = file.read()
    if FLAW not in text:
        raise Failed(f"the specification of the demo has no {FLAW!r} to repair")
    with open(spec, "w", encoding="utf-8") as file:
        file.write(text.replace(FLAW, REPAIR))
    os.makedirs(programs)
    _add_program(programs, "demo-agent", f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/demo/agent.py" "$@"\n')
    bn = of_checkout(program(plan, "bn"))
    path = os.pathsep.join([programs, os.path.dirname(sys.executable), bn.env["PATH"]])
    folders = {name: os.path.join(place, name) for name in ("BN_DATA_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    alone = {"VIRTUAL_ENV": sys.prefix, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    bn = Command(bn.argv, {**bn.env, **folders, **alone, "PATH": path}, repo)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false"]
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "A small shop")):
        run([*git, *words], env=bn.env, cwd=repo)
    if is_checked:
        _add_program(programs, "pytest", TIMED_PYTEST.format(python=sys.executable, taken=taken))
        bn("check", "add", "tests", "pytest")
        bn("trust", "check", "--yes")
    return bn, taken


def _add_program(folder: str, name: str, text: str) -> None:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
