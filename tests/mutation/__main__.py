"""Checks that the tests notice faults: `python -m mutation`, which is `make mutants`.

Each target is modules that decide something, and the tests that are about them. A sample of their mutants, the same in
every run, is tried until the time of the target is over: its tests run against a copy of the package that has the
mutant in it, and stop at the first failure. The share that is noticed must not be less than `floors.json` says.
`--raise-floors` raises them to a little less than what was reached; nothing lowers them.

Every mutant is tried in a fork of a process that has loaded pytest, with a copy of the package of its own first on the
path of it and of all that it starts. Nothing is written in the checkout but the floors. A target whose time was over
before its sample was tried is not judged: the machine was busy, and part of a sample has another score.
"""

import argparse
import json
import os
import random
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple, NoReturn

import hypothesis  # noqa: F401 - loaded before the forks
import psycopg  # noqa: F401
import pytest

from mutation.mutants import Mutant, count_mutants, make_mutant

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src"
FLOORS = Path(__file__).with_name("floors.json")
SEED = 15
SAMPLE_POINTS = 10
"""How far a floor stays below what was reached: a change of a module changes which of its mutants are tried."""

HANG_SECONDS = 120.0
"""Longer than any of the tests takes against the package as it is: a mutant that hangs has been noticed."""


class Target(NamedTuple):
    """Modules, and the tests that are to notice a fault in them; quick ones first."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    most: int
    """Mutants that are tried."""

    seconds: float = 300.0
    """After which no further mutant is tried. On two quiet cores a target takes a minute."""


TARGETS = (
    Target(
        "rules",
        ("binnacle.work.task", "binnacle.work.status", "binnacle.work.feature", "binnacle.work.graph"),
        ("work",),
        most=40,
    ),
    Target(
        "dispatch",
        ("binnacle.tools.dispatch",),
        ("tools/test_dispatch.py", "tools/test_access.py", "plan/test_hints.py"),
        most=30,
    ),
    Target(
        "gateway",
        (
            "binnacle.upstream.gateway",
            *(f"binnacle.upstream.toolsets.{name}" for name in ("limited", "pinned", "prefixed", "screened")),
        ),
        (
            "upstream/test_call_limits.py",
            "upstream/test_gateway.py",
            "upstream/test_pins.py",
            "upstream/test_resource_links.py",
        ),
        most=20,
    ),
    Target(
        "loop",
        ("binnacle.runner.end_rules", "binnacle.runner.budget", "binnacle.runner.loop"),
        ("runner/test_end_rules.py", "runner/test_limits.py", "runner/test_run_parts.py"),
        most=12,
    ),
    Target("trust", ("binnacle.config.trust",), ("trust",), most=12),
)


class Tried(NamedTuple):
    """A mutant, and whether the tests noticed it."""

    module: str
    line: int
    fault: str
    is_noticed: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.fault}"


def choose_mutants(target: Target) -> list[tuple[str, int]]:
    """The sample of a target: modules, and numbers of mutants in them."""
    every = [(name, at) for name in target.modules for at in range(count_mutants(_path_of(name, SOURCE).read_text()))]
    return random.Random(SEED).sample(every, min(target.most, len(every)))


def _path_of(module: str, root: Path) -> Path:
    return root.joinpath(*module.split(".")).with_suffix(".py")


def try_target(target: Target, copies: Sequence[Path]) -> list[Tried]:
    """Tries mutants of a target, as many at a time as there are copies, until all were tried or its time is over."""
    code = Trial.begin(target, copies[0]).wait()
    assert code == 0, f"the tests of {target.name} fail without any mutant:\n{_log_of(copies[0]).read_text()[-3000:]}"
    end = time.monotonic() + target.seconds
    todo, free, running, done = choose_mutants(target), list(copies), [], []
    while running or (todo and time.monotonic() < end):
        while todo and free and time.monotonic() < end:
            running.append(Trial.begin(target, free.pop(), *todo.pop(0)))
        trial = wait_for_one(running)
        running.remove(trial)
        done.append(trial.finish())
        free.append(trial.copy)
    return done


class Trial:
    """Tests that run in a fork of this process against a copy of the package with one mutant in it, or with none."""

    def __init__(self, pid: int, copy: Path, module: str, mutant: Mutant | None) -> None:
        self.copy = copy
        self.watched = os.pidfd_open(pid)
        self.end = time.monotonic() + HANG_SECONDS
        self._pid = pid
        self._module = module
        self._mutant = mutant

    @classmethod
    def begin(cls, target: Target, copy: Path, module: str = "", index: int = 0) -> "Trial":
        mutant = make_mutant(_path_of(module, SOURCE).read_text(), index) if module else None
        if mutant:
            _write(_path_of(module, copy), mutant.source)
        pid = os.fork()
        if pid == 0:
            _become_pytest(target, copy)
        return cls(pid, copy, module, mutant)

    def wait(self) -> int:
        """The exit code of the tests; of tests that hang, that of their kill."""
        with selectors.DefaultSelector() as ended:
            ended.register(self.watched, selectors.EVENT_READ)
            if not ended.select(max(0.0, self.end - time.monotonic())):
                os.killpg(self._pid, signal.SIGKILL)
        os.close(self.watched)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def finish(self) -> Tried:
        """Takes the mutant out of the copy; whether it was noticed."""
        assert self._mutant
        code = self.wait()
        _write(_path_of(self._module, self.copy), _path_of(self._module, SOURCE).read_text())
        return Tried(self._module, self._mutant.line, self._mutant.fault, code != 0)


def wait_for_one(running: Sequence[Trial]) -> Trial:
    """The first that ends, or whose time is over."""
    with selectors.DefaultSelector() as ended:
        for trial in running:
            ended.register(trial.watched, selectors.EVENT_READ, trial)
        oldest = min(running, key=lambda trial: trial.end)
        found = ended.select(max(0.0, oldest.end - time.monotonic()))
    return found[0][0].data if found else oldest


def _write(path: Path, source: str) -> None:
    """Writes a module. Its bytecode goes: it is told from that of another mutant by the second alone."""
    path.write_text(source)
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _log_of(copy: Path) -> Path:
    return copy.with_suffix(".log")


def _become_pytest(target: Target, copy: Path) -> NoReturn:
    code = 70
    try:
        os.setpgid(0, 0)
        log = os.open(_log_of(copy), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream, place in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
            os.dup2(place, stream)
        os.environ["PYTHONPATH"] = str(copy)
        sys.path.insert(0, str(copy))
        # Hypothesis is loaded by now, which pytest would warn of.
        words = ["-x", "-q", "-n0", "-pno:cacheprovider", "-mnot peers", f"--rootdir={TESTS.parent}"]
        words += ["-Wignore::pytest.PytestAssertRewriteWarning", *(str(TESTS / test) for test in target.tests)]
        code = int(pytest.main(words))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def make_copies(folder: Path, count: int) -> list[Path]:
    """Copies of the package, each for one mutant at a time."""
    found = [folder / f"copy{number}" for number in range(count)]
    for copy in found:
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return found


def judge(scores: dict[str, int], floors: dict[str, int]) -> Iterator[str]:
    """The targets whose tests notice less than they did."""
    for name, score in scores.items():
        if score < floors.get(name, 0):
            yield f"{name}: {score} % of the faults are noticed, which were {floors[name]} %"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mutation")
    parser.add_argument("--raise-floors", action="store_true", help="raise them to a little less than what is reached")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(target.name for target in TARGETS)}; all by default")
    asked = parser.parse_args()
    floors: dict[str, int] = json.loads(FLOORS.read_text())
    scores: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        copies = make_copies(Path(folder), os.cpu_count() or 1)
        for target in TARGETS:
            if asked.targets and target.name not in asked.targets:
                continue
            tried = try_target(target, copies)
            score = 100 * sum(one.is_noticed for one in tried) // max(1, len(tried))
            print(f"{target.name}: {score} % of {len(tried)} faults are noticed")
            print("".join(f"  not noticed: {one}\n" for one in tried if not one.is_noticed), end="", flush=True)
            if len(tried) == len(choose_mutants(target)):
                scores[target.name] = score
            else:
                print("  not judged: there was no time for the others")
    if asked.raise_floors:
        higher = {name: max(score - SAMPLE_POINTS, floors.get(name, 0)) for name, score in scores.items()}
        FLOORS.write_text(json.dumps(floors | higher, indent=2) + "\n")
    worse = list(judge(scores, floors))
    print("".join(f"{line}\n" for line in worse), end="")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
