"""Acceptance criteria, and the check or the test that shows one.

A criterion is a line of text. It may end with what shows it, in brackets: `the form refuses an empty name [check:
tests]`, `totals are rounded [test: tests/test_totals.py::test_rounding]`. Both may be given, in any order.
"""

import re

from msgspec import Struct

from binnacle.errors import InvalidInput
from binnacle.work.text import clean_lines

CHECK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SHOWN_BY = re.compile(r"\s*\[(check|test):\s*((?:[^\[\]]|\[[^\[\]]*\])+?)\s*\]\s*$", re.IGNORECASE)

MAX_CHECKS = 30
"""Checks that a task or a feature may name."""


class AcceptanceCriterion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What has to be true when a task is done, and what shows it."""

    text: str
    check: str = ""
    """Name of the check that shows it."""

    test: str = ""
    """Id of the test that shows it."""


def parse_criterion(line: str) -> AcceptanceCriterion:
    """A criterion as it is stored. What is not written as above is text."""
    text, found = line, dict[str, str]()
    while (match := _SHOWN_BY.search(text)) is not None:
        kind, name = match.group(1).lower(), match.group(2)
        if kind in found or (kind == "check" and not CHECK_NAME.fullmatch(name)):
            break
        found[kind] = name
        text = text[: match.start()]
    return AcceptanceCriterion(text=text.strip(), check=found.get("check", ""), test=found.get("test", ""))


def clean_check_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of checks, each once.

    Raises:
        InvalidInput: one is not a name, or there are too many.
    """
    lines = clean_lines(names, what="checks", limit=MAX_CHECKS)
    for name in lines:
        if not CHECK_NAME.fullmatch(name):
            hint = "letters, digits, -, _ and ., 64 at most; they are defined in .binnacle/checks.yaml"
            raise InvalidInput(f"not the name of a check: {name[:60]!r}", hint=hint)
    return lines
