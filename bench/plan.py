"""What one run of the benchmarks is to do, and where it may write."""

import os
import sys
import time
from dataclasses import dataclass, field

from bench.measure import Failed

MAX_RUN_SECONDS = 1500.0
"""After this time a run ends with what it has. On two quiet cores all groups take about a quarter of an hour."""

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The checkout that is measured."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run."""

    folder: str
    """Temporary; removed at the end with everything in it."""

    sizes: tuple[int, ...]
    """Numbers of tasks, rising."""

    rounds: int
    """Turns of what takes a process; what takes a call gets more."""

    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.started

    @property
    def is_over(self) -> bool:
        return self.seconds > MAX_RUN_SECONDS

    def check_time(self) -> None:
        """Ends a run that takes too long.

        Raises:
            Failed: it does.
        """
        if self.is_over:
            raise Failed(f"the time for a run was over after {self.seconds:.0f} s; is the machine busy?")

    def say(self, text: str) -> None:
        """Tells the person waiting what is under way."""
        print(f"[{self.seconds:5.1f} s] {text}", file=sys.stderr, flush=True)
