"""Stops trying what fails again and again, until some time has passed."""

import math
import time
from collections import deque
from collections.abc import Callable

from binnacle.errors import BridgeError

FAILURES = 10
"""So many within `WINDOW` seconds are too many."""

WINDOW = 60.0


class Breaker:
    """Counts failures of one thing. Open, it lets nothing through until the oldest one is a minute ago."""

    def __init__(self, what: str, *, now: Callable[[], float] = time.monotonic) -> None:
        """`what` failed, in the words of the error."""
        self._what = what
        self._now = now
        self._failures: deque[float] = deque(maxlen=FAILURES)

    def note_failure(self) -> None:
        self._failures.append(self._now())

    def check(self) -> None:
        """Returns if it may be tried.

        Raises:
            BridgeError: E_CIRCUIT_OPEN, with when to try again.
        """
        if len(self._failures) < FAILURES or (left := self._failures[0] + WINDOW - self._now()) <= 0:
            return
        raise BridgeError(
            "E_CIRCUIT_OPEN",
            f"{self._what} {FAILURES} times within {WINDOW:g} s; nothing is tried for now",
            hint=f"try again in {math.ceil(left)} s; call bridge_status to see how things stand",
            retryable=True,
            details={"retryAfter": math.ceil(left * 1000)},
        )
