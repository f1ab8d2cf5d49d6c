"""Notices when a caller makes the same failing call again and again, which agents do until they are told."""

import zlib
from typing import Any

from binnacle.errors import BinnacleError

Key = tuple[str, int, int]
"""A tool and its arguments, which may be megabytes."""

NOTICED = 3
"""Failures of one call, from which on the caller is told."""

REMEMBERED = 32
"""Failing calls kept for one caller; the oldest makes room."""


def noticed(state: dict[str, Any], name: str, raw: bytes, error: BinnacleError) -> BinnacleError:
    """The error of a call, which says so if the same call has failed before."""
    failures: dict[Key, int] = state.setdefault("failures", {})
    key = _key(name, raw)
    times = failures.pop(key, 0) + 1
    while len(failures) >= REMEMBERED:
        del failures[next(iter(failures))]
    failures[key] = times
    if times < NOTICED or error.retryable:
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


def forget(state: dict[str, Any], name: str, raw: bytes) -> None:
    """The call has worked now."""
    if failures := state.get("failures"):
        failures.pop(_key(name, raw), None)


def _key(name: str, raw: bytes) -> Key:
    return name, len(raw), zlib.crc32(raw)
