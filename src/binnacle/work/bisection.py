"""Finds the first bad one in a row of commits by looking at few of them. A rule: the caller does the looking.

The row begins after a commit that is known to be good, and its last commit is known to be bad. Each look halves what is
left. A commit that cannot be judged is left out, and its neighbours are looked at instead.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

ProbeResult = Literal["good", "bad", "unclear"]


class Bisection(Struct, frozen=True, kw_only=True):
    """How far the search is. Places count from 0; -1 is the good commit before the row."""

    bad: int
    """The first place that is known to be bad."""

    good: int = -1
    """The last place that is known to be good."""

    unclear: frozenset[int] = frozenset()
    """Places between the two that cannot be judged."""

    @property
    def suspects(self) -> range:
        """The places of which one is the first bad one."""
        return range(self.good + 1, self.bad + 1)

    @property
    def probe(self) -> int | None:
        """The place to look at next: the one nearest to the middle that can be judged; None if there is none."""
        middle = (self.good + self.bad) // 2
        left = [place for place in range(self.good + 1, self.bad) if place not in self.unclear]
        return min(left, key=lambda place: abs(place - middle), default=None)

    def narrow(self, place: int, result: ProbeResult) -> "Bisection":
        """The search after a look at one place."""
        if result == "unclear":
            return replace(self, unclear=self.unclear | {place})
        return replace(self, good=place) if result == "good" else replace(self, bad=place)
