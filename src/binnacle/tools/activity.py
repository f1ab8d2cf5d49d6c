"""What a session has done so far: which tools it called, and which calls keep failing.

Agents repeat a failing call again and again until an error points that out.
"""

import time
import zlib

from binnacle.errors import BinnacleError

Key = tuple[str, int, int]
"""A tool and its arguments, which may be megabytes."""

MIN_NOTICED_FAILURES = 3
"""From this many failures of one call on, the error says that it keeps failing."""

MAX_REMEMBERED = 32
"""Failing calls kept for one session; beyond that, the oldest is dropped."""

SIGN_OF_LIFE_SECONDS = 30.0
"""Seconds after which a session that makes changes is noted as alive again."""


class SessionActivity:
    """What one session has done. Sessions never share it."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        """Tools that were called successfully, by their own names."""

        self._failures: dict[Key, int] = {}
        self._alive_at = float("-inf")

    def note_failure(self, name: str, raw: bytes, error: BinnacleError) -> BinnacleError:
        """The error to answer with, which says so if the same call keeps failing."""
        key = _call_key(name, raw)
        times = self._failures.pop(key, 0) + 1
        while len(self._failures) >= MAX_REMEMBERED:
            del self._failures[next(iter(self._failures))]
        self._failures[key] = times
        if times < MIN_NOTICED_FAILURES or error.retryable:
            return error
        again = BinnacleError(
            f"{error.message} (the same call has failed {times} times)",
            hint=(
                "calling it again will not help",
                *(error.next_steps or ("change the arguments",)),
                "otherwise leave it, report what blocks you, and continue with something else",
            ),
            details={**error.details, "repeated": times},
        )
        again.code = error.code
        return again.with_traceback(error.__traceback__)

    def note_success(self, tool: str, name: str, raw: bytes) -> None:
        """Notes that a call of `tool` by the name `name` succeeded."""
        self.called.add(tool)
        if self._failures:
            self._failures.pop(_call_key(name, raw), None)

    def is_sign_of_life_due(self) -> bool:
        """Whether it is time to note that the session is alive. A True answer counts as noted."""
        now = time.monotonic()
        if now - self._alive_at < SIGN_OF_LIFE_SECONDS:
            return False
        self._alive_at = now
        return True


def _call_key(name: str, raw: bytes) -> Key:
    return name, len(raw), zlib.crc32(raw)
