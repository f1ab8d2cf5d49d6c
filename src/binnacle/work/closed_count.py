"""Closed tasks, counted by how well it is known that they are done: `12 done: 11 checked, 1 accepted`."""

from collections.abc import Iterable

from msgspec import Struct

from binnacle.work.evidence import PROVEN, EvidenceLevel
from binnacle.work.status import Status

_WORDS = {
    "checked": "checked",
    "accepted": "accepted",
    "waived": "waived",
    "observed": "only observed",
    "said": "only said",
}
"""What is counted, as people read it, the best first."""


class ClosedCount(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Closed tasks, by level."""

    checked: int = 0
    """Their checks passed here, on the tree of the work or on the merged one."""

    accepted: int = 0
    waived: int = 0
    observed: int = 0
    said: int = 0
    cancelled: int = 0

    @property
    def done(self) -> int:
        return self.checked + self.accepted + self.waived + self.unproven

    @property
    def unproven(self) -> int:
        """Those for which there is nothing but what an agent or a person said."""
        return self.observed + self.said

    @property
    def total(self) -> int:
        return self.done + self.cancelled

    @property
    def is_proven(self) -> bool:
        """Whether something was done, and nothing of it is only said."""
        return self.done > 0 and not self.unproven

    def describe(self) -> str:
        """The count in a line. Empty if nothing is closed."""
        levels = [f"{number} {words}" for name, words in _WORDS.items() if (number := getattr(self, name))]
        done = f"{self.done} done: {', '.join(levels)}" if levels else ""
        return "; ".join(filter(None, (done, f"{self.cancelled} cancelled" if self.cancelled else "")))


def count_closed(tasks: Iterable[tuple[Status, EvidenceLevel, int]]) -> ClosedCount:
    """The count of tasks, given as numbers of each status and level. Those that are open do not count."""
    counts = dict.fromkeys((*_WORDS, "cancelled"), 0)
    for status, level, number in tasks:
        if status == "cancelled":
            counts["cancelled"] += number
        elif status == "done":
            counts[_kind_of(level)] += number
    return ClosedCount(**counts)


def _kind_of(level: EvidenceLevel) -> str:
    if level == "merged":
        return "checked"
    return level if level in PROVEN or level == "observed" else "said"
