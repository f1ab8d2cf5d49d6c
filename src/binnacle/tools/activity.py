"""What a session has done so far: which tools it called, and which calls keep failing.

Agents make the same failing call again and again until they are told, so they are told.
"""

import time
import zlib

from binnacle.errors import BinnacleError

Key = tuple[str, int, int]
"""A tool and its arguments, which may be megabytes."""

MIN_NOTICED_FAILURES = 3
"""Failures of one call, from which on the caller is told."""

MAX_REMEMBERED = 32
"""Failing calls kept for one session; the oldest makes room."""

SIGN_OF_LIFE_SECONDS = 30.0
"""How often a session that makes changes is noted as alive."""


class Activity:
    """Belongs to one session, and is never shared."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        """Tools that were called with success, by their own names."""

        self._failures: dict[Key, int] = {}
        self._alive_at = float("-inf")

    def note_failure(self, name: str, raw: bytes, error: BinnacleError) -> BinnacleError:
        """The error of a call, which says so if the same call has failed before."""
        key = _key(name, raw)
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
                "otherwise leave it, say what is in the way, and go on with something else",
            ),
            details={**error.details, "repeated": times},
        )
        again.code = error.code
        return again.with_traceback(error.__traceback__)

    def note_success(self, tool: str, name: str, raw: bytes) -> None:
        """`tool`, called by `name`, has worked."""
        self.called.add(tool)
        if self._failures:
            self._failures.pop(_key(name, raw), None)

    def is_sign_of_life_due(self) -> bool:
        """Whether to note that the session is alive; asking takes it as noted."""
        now = time.monotonic()
        if now - self._alive_at < SIGN_OF_LIFE_SECONDS:
            return False
        self._alive_at = now
        return True


def _key(name: str, raw: bytes) -> Key:
    return name, len(raw), zlib.crc32(raw)
