"""What was asked for is shown by tests that are there."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "how" / "upstream-acceptance.md"


def test_every_test_that_the_page_names_is_there():
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    texts = (path.read_text() for path in TESTS.rglob("test_*.py"))
    there = {name for text in texts for name in re.findall(r"^\s*(?:async )?def (test_\w+)", text, re.MULTILINE)}
    assert len(named) > 40
    assert named - there == set()
