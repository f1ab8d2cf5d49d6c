"""Who has to look at a change before its task is done: rules of the project, and what they ask of one task.

The strictest rule that matches wins. A rule about paths matches a change that is not known yet: what may need a person
does need one, until a proof names the patterns that the change does not touch (`find_untouched`).
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Literal, get_args

from msgspec import Struct

from binnacle.work.status import PRIORITIES

ReviewRequirement = Literal["none", "agent", "person", "both"]
"""Who has to accept a change: nobody, agents that did not work on it, a person, or both."""

REQUIREMENTS: tuple[ReviewRequirement, ...] = get_args(ReviewRequirement)
"""From the least to the most strict."""

MAX_REVIEW_RULES = 100
MAX_REVIEWERS = 9
MAX_REVIEW_ROUNDS = 20
DEFAULT_REVIEW_ROUNDS = 3


class ReviewRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who has to look at certain changes. It matches a task for which all of its conditions hold."""

    require: ReviewRequirement
    features: tuple[str, ...] = ()
    priorities: tuple[str, ...] = ()
    """Names of priorities."""

    paths: tuple[str, ...] = ()
    """Patterns of files: it matches if the change touches one of them."""

    def describe(self) -> str:
        """Its conditions in words."""
        parts = [
            f"feature {' or '.join(self.features)}" if self.features else "",
            f"{' or '.join(self.priorities)} priority" if self.priorities else "",
            f"it changes {' or '.join(self.paths)}" if self.paths else "",
        ]
        return ", ".join(part for part in parts if part) or "every change"


class ReviewPolicy(Struct, frozen=True, kw_only=True):
    """Who has to look at the changes of a project."""

    default: ReviewRequirement = "none"
    """For changes that no rule is about."""

    reviewers: int = 1
    """How many agents look at a change. More than half of them decide."""

    rounds: int = DEFAULT_REVIEW_ROUNDS
    """How often agents may ask for changes of one task before a person decides."""

    rules: tuple[ReviewRule, ...] = ()
    problem: str = ""
    """Why what a person trusted cannot be read; then a person looks at everything."""


NO_REVIEWS = ReviewPolicy()
"""Of a project without rules."""


class ReviewNeed(Struct, frozen=True, kw_only=True):
    """Who has to accept one change, and why."""

    require: ReviewRequirement = "none"
    reasons: tuple[str, ...] = ()
    reviewers: int = 1
    rounds: int = DEFAULT_REVIEW_ROUNDS

    def __bool__(self) -> bool:
        return self.require != "none"

    @property
    def needs_person(self) -> bool:
        return self.require in ("person", "both")

    @property
    def needs_agents(self) -> bool:
        return self.require in ("agent", "both")


def find_need(
    policy: ReviewPolicy,
    *,
    feature: str | None,
    priority: int,
    untouched: Collection[str] = (),
    doubts: Sequence[str] = (),
) -> ReviewNeed:
    """Who has to accept a change. `untouched` are patterns of which it is known that the change touches no such file.

    `doubts` are reasons for which a person has to look at it, whatever the rules say.
    """
    found: ReviewRequirement = policy.default
    reasons = [] if found == "none" else ["every change is reviewed"]
    for rule in policy.rules:
        if not _matches(rule, feature, priority, untouched):
            continue
        if _is_stricter(rule.require, found):
            found, reasons = rule.require, [rule.describe()]
        elif rule.require == found != "none":
            reasons.append(rule.describe())
    if policy.problem:
        found, reasons = "person", [policy.problem]
    if doubts:
        found = "both" if found in ("agent", "both") else "person"
        reasons += doubts
    return ReviewNeed(
        require=found, reasons=tuple(dict.fromkeys(reasons)), reviewers=policy.reviewers, rounds=policy.rounds
    )


def count_reviewers(policy: ReviewPolicy) -> int:
    """How many agents may have to look at one change; 0 if no rule asks for any."""
    asked = (policy.default, *(rule.require for rule in policy.rules))
    return policy.reviewers if any(one in ("agent", "both") for one in asked) else 0


def combine_needs(one: ReviewNeed, other: ReviewNeed) -> ReviewNeed:
    """Who has to accept a change of which both hold."""
    has_agents = one.needs_agents or other.needs_agents
    has_person = one.needs_person or other.needs_person
    require: ReviewRequirement = "both" if has_agents and has_person else "agent" if has_agents else "person"
    return ReviewNeed(
        require=require if has_agents or has_person else "none",
        reasons=tuple(dict.fromkeys((*one.reasons, *other.reasons))),
        reviewers=max(one.reviewers, other.reviewers),
        rounds=other.rounds,
    )


def is_weaker(now: ReviewRequirement, before: ReviewRequirement) -> bool:
    """Whether someone who had to accept a change no longer has to."""
    return _is_stricter(before, now)


def _is_stricter(one: ReviewRequirement, other: ReviewRequirement) -> bool:
    return REQUIREMENTS.index(one) > REQUIREMENTS.index(other)


def find_untouched(policy: ReviewPolicy, paths: Collection[str]) -> tuple[str, ...]:
    """The patterns of a policy that match none of the files that a change touches."""
    patterns = dict.fromkeys(pattern for rule in policy.rules for pattern in rule.paths)
    return tuple(one for one in patterns if not any(matches_path(path, (one,)) for path in paths))


def _matches(rule: ReviewRule, feature: str | None, priority: int, untouched: Collection[str]) -> bool:
    if rule.features and feature not in rule.features:
        return False
    if rule.priorities and PRIORITIES[priority] not in rule.priorities:
        return False
    return not rule.paths or not all(pattern in untouched for pattern in rule.paths)


def matches_path(path: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns means a file: `src/**`, `*.sql` in the top folder, `**/*.sql` in any, or a folder."""
    return any(_compile(pattern).fullmatch(path) for pattern in patterns)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str]:
    made, rest = "", pattern.rstrip("/")
    while rest:
        if rest.startswith("**/"):
            made, rest = made + "(?:.*/)?", rest[3:]
        elif rest.startswith("**"):
            made, rest = made + ".*", rest[2:]
        elif rest[0] in "*?":
            made, rest = made + ("[^/]*" if rest[0] == "*" else "[^/]"), rest[1:]
        else:
            made, rest = made + re.escape(rest[0]), rest[1:]
    return re.compile(f"{made}(?:/.*)?", re.DOTALL)
