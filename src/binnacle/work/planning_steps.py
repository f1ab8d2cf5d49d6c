"""How a specification is planned: part by part, and then once more what no task covers.

A step is one planner with one part of the text. Each step has a key, which changes with the text of its part. So what
is left to do follows from the text, from what the tasks cover, and from the keys of the steps that are done; nothing
else has to be remembered when a run is killed, or when its specification is changed.
"""

import zlib
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from binnacle.work.specification import (
    MAX_BLOCK_TOKENS,
    MAX_PARTS,
    Coverage,
    Requirement,
    Specification,
    SpecPart,
    count_tokens,
    find_covered,
    split_into_parts,
)


class PlanningStep(NamedTuple):
    """What one planner is given."""

    part: SpecPart
    uncovered: tuple[Requirement, ...]
    """The requirements of the part for which there is no task yet."""

    is_repeated: bool
    """Whether a planner had this part before, and left them without a task."""

    key: str

    @property
    def name(self) -> str:
        """What it is, for people."""
        part = f"part {self.part.number} of {self.part.total}" if self.part.total > 1 else ""
        left = "what is not covered" if self.is_repeated else ""
        return ", ".join(word for word in (part, left) if word)


class SpecChange(NamedTuple):
    """How a specification differs from an earlier one. One whose words changed is removed and added."""

    added: tuple[Requirement, ...]
    removed: tuple[Requirement, ...]
    ids: dict[str, str]
    """The ids of the requirements that both have, in the earlier and in the new one."""


def find_next_step(spec: Specification, coverage: Coverage, done: Collection[str]) -> PlanningStep | None:
    """The step that comes next, given the keys of those that are done; None if there is none.

    A part whose requirements are all covered needs no planner.
    """
    parts = split_into_parts(spec)[:MAX_PARTS]
    for is_repeated in (False, True):
        for part in parts:
            uncovered = tuple(one for one in part.requirements if not coverage.covered[one.id])
            key = f"{'again' if is_repeated else 'part'} {part.number} {_fingerprint(part.text)}"
            is_due = uncovered or (not part.requirements and not is_repeated)
            if is_due and key not in done:
                return PlanningStep(part, uncovered, is_repeated, key)
    return None


def cut_part(text: str) -> str:
    """The text of a part as an agent gets it: complete, unless it has more than the most that an agent is given."""
    size = count_tokens(text)
    if size <= MAX_BLOCK_TOKENS:
        return text
    kept = text.encode("utf-8", "replace")[: MAX_BLOCK_TOKENS * 4].decode("utf-8", "ignore")
    return f"{kept}\n\n… cut here: about {size - MAX_BLOCK_TOKENS} tokens are left out."


def compare(before: Specification, after: Specification) -> SpecChange:
    """How a specification was changed."""
    known: dict[str, list[Requirement]] = {}
    for one in before.requirements:
        known.setdefault(_fold(one.text), []).append(one)
    ids: dict[str, str] = {}
    added: list[Requirement] = []
    for one in after.requirements:
        same = known.get(_fold(one.text))
        if same:
            ids[same.pop(0).id] = one.id
        else:
            added.append(one)
    return SpecChange(tuple(added), tuple(one for one in before.requirements if one.id not in ids), ids)


def carry_over(covers: Iterable[str], before: Specification, change: SpecChange) -> tuple[str, ...]:
    """What a task covers, in the ids of a changed specification."""
    return tuple(change.ids[one.id] for one in find_covered(before, covers) if one.id in change.ids)


def name_some(requirements: Sequence[Requirement], *, limit: int = 10) -> str:
    """The ids of requirements, as part of a sentence."""
    more = len(requirements) - limit
    return ", ".join(one.id for one in requirements[:limit]) + (f" and {more} more" if more > 0 else "")


def _fingerprint(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()
