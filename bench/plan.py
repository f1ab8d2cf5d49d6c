"""What one run of the benchmarks is to do, and where it may write."""

import os
import sys
import time
from dataclasses import dataclass, field

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

    def say(self, text: str) -> None:
        """Tells the person waiting what is under way."""
        print(f"[{self.seconds:5.1f} s] {text}", file=sys.stderr, flush=True)
