"""docs/scenarios.md and the tests tell the same stories."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "scenarios.md"


def test_every_scenario_is_a_test_and_every_test_a_scenario():
    told = re.findall(r"^### (\d+)\. .+?- `(test_(\d+)_\w+)`$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert [int(number) for number, _, _ in told] == list(range(1, len(told) + 1))
    assert all(int(number) == int(tested) for number, _, tested in told)
    tests = [
        name
        for file in sorted(Path(__file__).parent.glob("test_*.py"))
        for name in re.findall(r"^def (test_\d\d_\w+)\(", file.read_text(), re.MULTILINE)
    ]
    assert sorted(tests) == sorted(name for _, name, _ in told)


def test_every_scenario_says_what_was_tried_what_came_of_it_and_what_is_left():
    _, *stories = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)
    for story in stories:
        places = [story.index(f"- **{word}**") for word in ("tries", "gets", "after")]
        assert places == sorted(places), story
