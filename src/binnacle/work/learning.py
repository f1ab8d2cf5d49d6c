"""Learnings: findings, kept short, without duplicates and without instructions to the reader.

Learnings go into prompts, so other agents read what an agent writes here as fact.
That is why phrases that try to instruct the reader are removed from text by agents.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from binnacle.errors import Full, InvalidInput
from binnacle.work import steps
from binnacle.work.text import clean_optional_line, fold

Source = Literal["auto", "agent", "human", "reviewed"]
SOURCES: tuple[Source, ...] = ("human", "reviewed", "agent", "auto")
"""Most trusted first."""

MAX_LEARNINGS = 50
"""Learnings that are kept for a feature, and for the project itself."""

MAX_LEARNING_CHARACTERS = 500
SAME_LEARNING_SHARE = 0.7
"""Share of common words above which two learnings say the same."""

_NEGATIONS = frozenset(
    (
        *("not", "no", "never", "none", "nor", "neither", "cannot", "without", "avoid"),
        *("don't", "doesn't", "didn't", "isn't", "aren't", "wasn't", "weren't", "won't", "wouldn't"),
        *("can't", "couldn't", "shouldn't", "mustn't", "dont", "doesnt", "isnt", "cant", "wont", "shouldnt"),
    )
)

_INJECTIONS = re.compile(
    r"""
      (?:ignore|disregard|forget|override)\ (?:\w+\ ){0,3}(?:previous|prior|above|earlier|all|your)\ ?
          (?:\w+\ ){0,2}(?:instructions?|prompts?|rules?|messages?|context|training)
    | forget\ everything(?:\ above|\ before)?
    | you\ are\ now\ (?:a|an|in|the|no\ longer)\b
    | new\ (?:system\ )?instructions?:
    | from\ now\ on,?\ you\b
    | pretend\ (?:to\ be|you\ are)\b
    | reveal\ (?:your|the)\ (?:system\ )?prompt
    | do\ anything\ now
    | jailbreak(?:ed)?
    | </?(?:system|assistant|instructions?)>
    | \[/?(?:INST|SYSTEM)\]
    | act\ as\ (?:if\ you|an?\ (?:unrestricted|different|new))\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


class Learning(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding about one feature or the whole project."""

    id: str
    feature: str | None = None
    text: str
    reason: str = ""
    source: Source
    task_id: str | None = None
    iteration: int | None = None
    hit_count: int = 1
    """How often it was observed."""

    reviewed: bool = False
    created_at: datetime
    updated_at: datetime


class AddedLearning(NamedTuple):
    """The result of adding a learning."""

    outcome: Literal["added", "counted", "replaced"]
    learning: Learning
    """The learning to keep: a new one, or an existing one changed."""

    pruned: tuple[str, ...] = ()
    """Ids of learnings that are removed to make room."""

    was: str = ""
    """The text that was contradicted."""


def add(existing: Sequence[Learning], new: Learning) -> AddedLearning:
    """Decides how to add `new` to the learnings of the same feature.

    Raises:
        InvalidInput: it is empty or too long.
        Full: the limit is reached and nothing may be pruned.
    """
    new = _clean(new)
    words = _words(new.text)
    for old in existing:
        if fold(new.text) != fold(old.text) and _similarity(words, _words(old.text)) <= SAME_LEARNING_SHARE:
            continue
        if _is_negated(new.text) == _is_negated(old.text):
            again = msgspec.structs.replace(old, hit_count=old.hit_count + 1, updated_at=new.created_at)
            return AddedLearning("counted", again)
        if old.reviewed and new.source in ("auto", "agent"):
            # An agent does not overrule what a person checked: both are kept, the checked one first.
            continue
        reason = f"replaces the contrary: {old.text}"[: MAX_LEARNING_CHARACTERS * 2]
        fresh = msgspec.structs.replace(
            new, id=old.id, reason=f"{new.reason}; {reason}" if new.reason else reason, created_at=old.created_at
        )
        return AddedLearning("replaced", fresh, was=old.text)
    return AddedLearning("added", new, pruned=_choose_pruned(existing))


def sort_by_trust(learnings: Sequence[Learning]) -> list[Learning]:
    """Most trustworthy first: reviewed ones, then by source, then by how often they were observed."""
    return sorted(learnings, key=lambda item: (not item.reviewed, SOURCES.index(item.source), -item.hit_count))


def saturation(count: int) -> Literal["low", "medium", "high", "critical"]:
    """How full a feature's learnings are. At "critical", the feature should be split."""
    share = count * 100 // MAX_LEARNINGS
    return "low" if share < 60 else "medium" if share < 80 else "high" if share < 90 else "critical"


def _choose_pruned(existing: Sequence[Learning]) -> tuple[str, ...]:
    if len(existing) < MAX_LEARNINGS:
        return ()
    # Only learnings that were neither reviewed nor observed twice: automatic ones first, then the oldest.
    prunable = [x for x in existing if not x.reviewed and x.hit_count <= 1 and x.source in ("auto", "agent")]
    if not prunable:
        raise Full(
            f"{MAX_LEARNINGS} learnings are kept and none of them may be pruned",
            hint=steps.DELETE_LEARNING,
        )
    return (min(prunable, key=lambda item: (item.source != "auto", item.created_at)).id,)


def _clean(new: Learning) -> Learning:
    text = clean_optional_line(new.text, what="learning", limit=MAX_LEARNING_CHARACTERS)
    reason = clean_optional_line(new.reason, what="reason", limit=MAX_LEARNING_CHARACTERS)
    if new.source in ("auto", "agent"):
        text, reason = _INJECTIONS.sub("[REDACTED]", text), _INJECTIONS.sub("[REDACTED]", reason)
        if _is_shouting(text):
            text = text.lower()
    if not text:
        raise InvalidInput("learning is empty", hint="say in a sentence what you found out")
    return msgspec.structs.replace(new, text=text, reason=reason)


def _is_shouting(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return len(letters) > 10 and sum(c.isupper() for c in letters) * 2 > len(letters)


def _words(text: str) -> frozenset[str]:
    stripped = (word.strip(".,;:!?\"'`()[]{}<>*") for word in text.lower().split())
    return frozenset(word for word in stripped if len(word) > 2)


def _similarity(a: frozenset[str], b: frozenset[str]) -> float:
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def _is_negated(text: str) -> bool:
    return not _NEGATIONS.isdisjoint(word.strip('.,;:!?"`()[]{}*') for word in text.lower().replace("’", "'").split())
