"""Stops trying what fails again and again, until some time has passed."""

import math
import time
from collections import deque
from collections.abc import Callable

from binnacle.errors import BridgeError

MAX_FAILURES = 10
"""So many within `FAILURE_WINDOW_SECONDS` seconds are too many."""

FAILURE_WINDOW_SECONDS = 60.0


class CircuitBreaker:
    """Counts failures of one thing. Open, it lets nothing through until the oldest one is a minute ago."""

    def __init__(self, what: str, *, now: Callable[[], float] = time.monotonic) -> None:
        """`what` failed, in the words of the error."""
        self._what = what
        self._now = now
        self._failures: deque[float] = deque(maxlen=MAX_FAILURES)

    def note_failure(self) -> None:
        self._failures.append(self._now())

    def check(self) -> None:
        """Returns if it may be tried.

        Raises:
            BridgeError: E_CIRCUIT_OPEN, with when to try again.
        """
        if (
            len(self._failures) < MAX_FAILURES
            or (left := self._failures[0] + FAILURE_WINDOW_SECONDS - self._now()) <= 0
        ):
            return
        raise BridgeError(
            "E_CIRCUIT_OPEN",
            f"{self._what} {MAX_FAILURES} times within {FAILURE_WINDOW_SECONDS:g} s; nothing is tried for now",
            hint=f"try again in {math.ceil(left)} s; call bridge_status to see how things stand",
            retryable=True,
            details={"retryAfter": math.ceil(left * 1000)},
        )
