"""The part `review` of a project's checks, which says who looks at changes before their tasks are done.

What a person trusted is kept, with its content, outside of the project. That content is what counts: an agent that
edits or removes the file changes nothing until a person has trusted it again or revoked it.

```yaml
review:
  default: none       # of changes that no rule is about: none, agent, person, both
  reviewers: 1        # how many agents look; more than half decide
  rounds: 3           # how often agents may ask for changes before a person decides
  rules:
    - require: person
      features: [auth]
      priorities: [critical, high]
      paths: [src/pay/**]
```
"""

import os
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from binnacle.config.trust import TrustItem, find_trusted
from binnacle.config.yaml_file import YamlLines
from binnacle.errors import ConfigError, InvalidInput
from binnacle.work.review_policy import (
    DEFAULT_REVIEW_ROUNDS,
    MAX_REVIEW_ROUNDS,
    MAX_REVIEW_RULES,
    MAX_REVIEWERS,
    NO_REVIEWS,
    ReviewPolicy,
    ReviewRequirement,
    ReviewRule,
)
from binnacle.work.status import PRIORITIES, parse_priority
from binnacle.work.text import clean_name

REVIEW_POLICY = "review"
"""Its name among what is trusted as a check."""

MAX_CONDITION_CHARACTERS = 200


class _WrittenRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    require: ReviewRequirement
    features: list[str] = []
    priorities: list[str | int] = []
    paths: list[str] = []


class WrittenReviews(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules as they are written in the file."""

    default: ReviewRequirement = "none"
    reviewers: Annotated[int, Meta(ge=1, le=MAX_REVIEWERS)] = 1
    rounds: Annotated[int, Meta(ge=1, le=MAX_REVIEW_ROUNDS)] = DEFAULT_REVIEW_ROUNDS
    rules: Annotated[list[_WrittenRule], Meta(max_length=MAX_REVIEW_RULES)] = []


def read_reviews(written: WrittenReviews, lines: YamlLines) -> ReviewPolicy:
    """The rules, checked.

    Raises:
        ConfigError: with the line, and what was expected.
    """
    return ReviewPolicy(
        default=written.default,
        reviewers=written.reviewers,
        rounds=written.rounds,
        rules=tuple(_read_rule(rule, lines, index) for index, rule in enumerate(written.rules)),
    )


def _read_rule(rule: _WrittenRule, lines: YamlLines, index: int) -> ReviewRule:
    def place(key: str) -> str:
        return lines.at("review", "rules", index, key)

    for path in rule.paths:
        if not _is_pattern(path):
            hint = "begin at the top of the repository, as in: src/**"
            raise ConfigError(f"{place('paths')}: not a pattern of files in the repository: {path!r}", hint=hint)
    try:
        features = tuple(clean_name(name, what="feature") for name in rule.features)
    except InvalidInput as error:
        raise ConfigError(f"{place('features')}: {error.message}", hint=error.next_steps) from error
    try:
        priorities = tuple(PRIORITIES[parse_priority(word)] for word in rule.priorities)
    except InvalidInput as error:
        raise ConfigError(f"{place('priorities')}: {error.message}", hint=error.next_steps) from error
    return ReviewRule(require=rule.require, features=features, priorities=priorities, paths=tuple(rule.paths))


def _is_pattern(path: str) -> bool:
    is_inside = not path.startswith("/") and ".." not in path.split("/")
    return bool(path.rstrip("/")) and is_inside and path.isprintable() and len(path) <= MAX_CONDITION_CHARACTERS


def review_item(policy: ReviewPolicy, place: str) -> TrustItem:
    """The rules as a person sees them before trusting them."""
    shown = {name: getattr(policy, name) for name in policy.__struct_fields__ if name != "problem"}
    content = msgspec.json.format(msgspec.json.encode(shown), indent=2).decode()
    does = "decide which changes agents or people have to review before their tasks are done"
    return TrustItem(kind="check", name=REVIEW_POLICY, place=place, does=does, content=content)


def find_review_policy(repo: str) -> ReviewPolicy:
    """The rules that a person trusted last, whatever the file says now. Rules that cannot be read need a person.

    Raises:
        ConfigError: the file of what was trusted cannot be read. Nothing that may need a review is done then.
    """
    from binnacle.config.directories import trust_file

    if not os.path.lexists(trust_file()):
        return NO_REVIEWS
    known = find_trusted(repo).get(f"check:{REVIEW_POLICY}")
    if known is None:
        return NO_REVIEWS
    try:
        return msgspec.json.decode(known.content, type=ReviewPolicy)
    except msgspec.DecodeError:
        return ReviewPolicy(problem="the rules for reviews that a person trusted cannot be read")
