"""Identifiers: a prefix for the kind of thing and a few hex digits that people can type."""

import os
from collections.abc import Callable, Collection
from typing import NewType

from binnacle.errors import InvalidInput

TaskId = NewType("TaskId", str)
AgentId = NewType("AgentId", str)
SessionId = NewType("SessionId", str)

MIN_ID_DIGITS = 3
"""Hex digits that suffice to name a task, if only one task's id begins with them."""

MAX_ID_DIGITS = 40
"""Hex digits accepted: more than any id has. The number of near misses grows with its square."""

_HEX = frozenset("0123456789abcdef")


def new_ids(
    prefix: str, count: int, *, existing: int, taken: Callable[[Collection[str]], Collection[str]]
) -> list[str]:
    """`count` new ids like `bn-1f3a`.

    They have four digits, or more if less than seven eighths of all ids would stay free, so
    that ids are short in a small project and unique in a large one. `taken` returns which of
    some candidates are in use.
    """
    digits = 4
    while (existing + count) * 8 > 16**digits:
        digits += 1
    found: dict[str, None] = {}
    while len(found) < count:
        wanted = count - len(found)
        candidates = {f"{prefix}{os.urandom((digits + 1) // 2).hex()[:digits]}" for _ in range(wanted)} - found.keys()
        found.update(dict.fromkeys(sorted(candidates - set(taken(candidates)))))
    return list(found)


def parse_task_id(text: str) -> str:
    """A typed id in normal form: `A1B2` and `bn-a1b2` both give `bn-a1b2`.

    Raises:
        InvalidInput: it is neither the id of a task nor the beginning of one.
    """
    digits = text.strip().casefold().removeprefix("bn-")
    if not MIN_ID_DIGITS <= len(digits) <= MAX_ID_DIGITS or not _HEX.issuperset(digits):
        raise InvalidInput(
            f"not a task id: {text[:60]!r}",
            hint=f"ids look like bn-1f3a; at least {MIN_ID_DIGITS} of the hex digits are needed",
        )
    return f"bn-{digits}"


def near_misses(task_id: str) -> set[str]:
    """Every id that is one typing error away: a wrong, missing, extra or swapped digit."""
    prefix, digits = task_id[:3], task_id[3:]
    cuts = range(len(digits))
    slips = {digits[:i] + digits[i + 1 :] for i in cuts}
    slips |= {digits[:i] + c + digits[i + 1 :] for i in cuts for c in _HEX}
    slips |= {digits[:i] + c + digits[i:] for i in range(len(digits) + 1) for c in _HEX}
    slips |= {digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :] for i in range(len(digits) - 1)}
    return {prefix + slip for slip in slips if slip} - {task_id}
