"""What shows an acceptance criterion: a check, a test, both, or nothing that is known."""

import pytest

from binnacle.errors import InvalidInput
from binnacle.work.acceptance import clean_check_names, parse_criterion


@pytest.mark.parametrize(
    ("line", "text", "check", "test"),
    [
        ("totals are rounded", "totals are rounded", "", ""),
        ("totals are rounded [check: tests]", "totals are rounded", "tests", ""),
        ("it greets [test: tests/test_a.py::test_greets[x-1]]", "it greets", "", "tests/test_a.py::test_greets[x-1]"),
        ("both [test: a::b] [check: unit]", "both", "unit", "a::b"),
        ("both [Check: unit]  [TEST: a::b]", "both", "unit", "a::b"),
        ("a list [1, 2]", "a list [1, 2]", "", ""),
        ("not a name [check: two words]", "not a name [check: two words]", "", ""),
        ("in the middle [check: unit] of it", "in the middle [check: unit] of it", "", ""),
        ("", "", "", ""),
    ],
)
def test_a_criterion_ends_with_what_shows_it(line, text, check, test):
    found = parse_criterion(line)
    assert (found.text, found.check, found.test) == (text, check, test)


def test_names_of_checks_are_cleaned_and_there_once():
    assert clean_check_names((" tests ", "lint", "tests")) == ("tests", "lint")
    for wrong in ("two words", "-x", "a/b", "x" * 65):
        with pytest.raises(InvalidInput, match="not the name of a check"):
            clean_check_names((wrong,))
