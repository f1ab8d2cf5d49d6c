"""Timing and memory. Contestants take turns, so that what else the machine does falls on all of them alike."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from statistics import quantiles
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)

Action = Callable[[int], object]
"""One turn of a contestant; it is given the number of the round."""

TIMEOUT = 600
"""Seconds after which a program is given up."""

MAX_MEASUREMENT_SECONDS = 10.0
"""Seconds after which a measurement is content with the rounds that it has, if it has `MIN_ROUNDS`."""

MIN_ROUNDS = 5

_LAUNCHER = """
import os, sys
to_nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=to_nowhere)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Failed(Exception):
    """What was to be measured did not do its work, so there is nothing to report."""


class Command(NamedTuple):
    """A program with its first arguments, and the surroundings it is always started in."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str

    def __call__(self, *more: str) -> str:
        return run([*self.argv, *more], env=self.env, cwd=self.cwd)

    def peak(self, *more: str) -> float:
        """Megabytes of its largest process.

        Linux counts what the parent held at the fork as the child's, so a small process has to be the parent.
        """
        said = run([sys.executable, "-I", "-S", "-c", _LAUNCHER, *self.argv, *more], env=self.env, cwd=self.cwd)
        return int(said) / (1024 if sys.platform == "linux" else 1024 * 1024)


def run(argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> str:
    """Runs a program to its end and returns what it printed. Leaving early kills it with its group.

    Raises:
        Failed: there is no such program, or it reported an error.
    """
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(f"cannot start {argv[0]}: {error.strerror}") from error
    with process:
        try:
            output, complaint = process.communicate(timeout=TIMEOUT)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise Failed(f"{' '.join(argv)[:200]} ended with {process.returncode}: {(complaint or output).strip()[-800:]}")
    return output


class Taken(NamedTuple):
    """What the turns of one contestant took."""

    times: list[float]
    """Milliseconds, round by round."""

    paces: list[float]
    """The same as multiples of what the yardstick took in that round: comparable with another run, or nearly."""

    def ratios(self, reference: "Taken") -> list[float]:
        """How many times longer, round by round: a slow moment of the machine hits both sides of one round."""
        return [one / other for one, other in zip(self.times, reference.times, strict=True)]


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Between which two values the middle half of them lies."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high


@contextmanager
def undisturbed() -> Iterator[None]:
    """Puts Ctrl-C off until the block is left: a server interrupted while it starts or stops would be nobody's."""
    held: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda caught, _: held.append(caught)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held:
            raise KeyboardInterrupt


def compute(_: int) -> int:
    """The yardstick for what runs in this process: a fixed piece of work."""
    return sum(len(str(number)) for number in range(20_000))


def take_turns(contestants: Mapping[Key, Action], *, rounds: int, yardstick: Action = compute) -> dict[Key, Taken]:
    """Times each contestant and the yardstick in each round. The round before the first only warms the caches."""
    timing = {key: partial(_timed, action) for key, action in contestants.items()}
    return {key: taken for key, (taken,) in take_readings(timing, rounds=rounds, yardstick=yardstick).items()}


def take_readings(
    contestants: Mapping[Key, Callable[[int], Sequence[float]]], *, rounds: int, yardstick: Action = compute
) -> dict[Key, list[Taken]]:
    """The same for contestants who time themselves: each turn gives milliseconds, of one or of several things."""
    end = time.monotonic() + MAX_MEASUREMENT_SECONDS
    readings: dict[Key, list[tuple[float, Sequence[float]]]] = {key: [] for key in contestants}
    for turn in range(rounds + 1):
        if turn > MIN_ROUNDS and time.monotonic() > end:
            break
        pace = _milliseconds(yardstick, turn)
        # Every other round goes backwards, so that nobody always follows the same neighbour.
        for key in list(contestants) if turn % 2 else reversed(list(contestants)):
            values = contestants[key](turn)
            if turn:
                readings[key].append((pace, values))
    return {key: _taken(rows) for key, rows in readings.items()}


def _taken(rows: Sequence[tuple[float, Sequence[float]]]) -> list[Taken]:
    columns = zip(*(values for _, values in rows), strict=True)
    paces = [pace for pace, _ in rows]
    return [Taken(list(column), [one / pace for one, pace in zip(column, paces, strict=True)]) for column in columns]


def _timed(action: Action, turn: int) -> tuple[float]:
    return (_milliseconds(action, turn),)


def _milliseconds(action: Action, turn: int) -> float:
    started = time.perf_counter()
    action(turn)
    return (time.perf_counter() - started) * 1000
