"""Which hits of a breakpoint stop a program: the same for all adapters, which differ in how they count."""

import operator
import re
from collections.abc import Callable

from binnacle.bridge.debug.breakpoints import Breakpoint
from binnacle.bridge.debug.debug_errors import debug_error

_FORM = re.compile(r"\s*(>=|<=|={0,3}|>|<|%)\s*([0-9]{1,9})\s*")

_RULES: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "%": lambda hits, number: hits % max(number, 1) == 0,
}

COUNTING_ADAPTERS = ("debugpy", "js-debug")
"""Adapters that count as we do, if a breakpoint has no condition. With one, debugpy stops if either is true, and
js-debug ignores the count. The others support only a number to begin at, or nothing."""


def check_hit_condition(text: str) -> None:
    """Checks a hit condition.

    Raises:
        BridgeError: E_INVALID_PARAMS.
    """
    if _FORM.fullmatch(text) is None:
        raise debug_error(
            "E_INVALID_PARAMS",
            f"hitCondition says no count: {text!r}",
            "give 5 for the fifth hit, >=5 from then on, <=5 up to it, %5 for every fifth",
        )


def is_due(text: str, hits: int) -> bool:
    """Whether to stop at this hit, the first being 1."""
    found = _FORM.fullmatch(text)
    if found is None:
        return True
    sign = found[1] if found[1] in _RULES else "=="
    return _RULES[sign](hits, int(found[2]))


def must_be_counted(wanted: Breakpoint, adapter: str) -> bool:
    """Whether we count the hits ourselves, and let the program continue. A breakpoint with a message never stops."""
    if wanted.hit_condition is None or wanted.log_message is not None:
        return False
    return adapter not in COUNTING_ADAPTERS or wanted.condition is not None
