"""Stops trying what keeps failing, until some time has passed."""

import math
import time
from collections import deque
from collections.abc import Callable

from binnacle.errors import BridgeError

MAX_FAILURES = 10
"""Failures within `FAILURE_WINDOW_SECONDS` that open the circuit."""

FAILURE_WINDOW_SECONDS = 60.0


class CircuitBreaker:
    """Counts failures. When open, it refuses everything until the oldest failure is a minute ago."""

    def __init__(self, what: str, *, now: Callable[[], float] = time.monotonic) -> None:
        """`what` says in the error what failed."""
        self._what = what
        self._now = now
        self._failures: deque[float] = deque(maxlen=MAX_FAILURES)

    def note_failure(self) -> None:
        self._failures.append(self._now())

    def check(self) -> None:
        """Checks that the circuit is closed.

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
