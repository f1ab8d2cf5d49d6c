"""The page on security and the tests that it names are kept in step."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "security.md"

SUITES = ("hostile_repository", "hostile_agent/test_every_command.py", "trust/test_person.py")
"""Tests that are there to hold a promise of the page."""

ON_THE_SIDE = {
    "test_every_place_that_is_read_is_made_hostile",
    "test_without_an_agent_above_yes_is_enough",
    "test_what_a_client_that_node_runs_starts_is_refused",
    "test_names_that_only_look_like_an_agents_are_people",
    "test_what_a_person_starts_a_run_through_is_no_run",
    "test_the_error_says_who_is_above_and_what_to_do",
}
"""Tests in them that hold the others up, and no promise."""


def named() -> set[str]:
    return set(re.findall(r"`(test_\w+)`", PAGE.read_text()))


def find_tests(path: Path) -> set[str]:
    files = path.rglob("test_*.py") if path.is_dir() else [path]
    return {
        name for file in files for name in re.findall(r"^\s*(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    }


def test_every_test_that_the_page_names_is_there():
    assert named() - find_tests(TESTS) == set()


def test_every_test_of_a_promise_is_on_the_page():
    assert {name for one in SUITES for name in find_tests(TESTS / one)} - named() - ON_THE_SIDE == set()


def test_every_promise_names_a_test():
    lines = PAGE.read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) > 25
    assert [row for row in rows if "`test_" not in row] == []
