"""What is read from a specification."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripted_agent.spec import blocks_in, spec_in, tasks_in


def titles(prompt: str) -> list[str]:
    return [item.title for item in tasks_in(prompt)]


@pytest.mark.parametrize("mark", ["-", "*", "+", "1.", "2)", "- [ ]", "1. [ ]"])
def test_bullets_numbers_and_checkboxes_begin_a_task(mark):
    assert titles(f"## Tasks\n\n{mark} One\n{mark} Two\n") == ["One", "Two"]


def test_what_is_below_an_item_is_its_description():
    (item,) = tasks_in("## Tasks\n\n- One\n  more\n  - a part\n\n  ```python a.py\n  - no item\n  x = 1\n  ```\n")
    assert item.description == "more\n- a part\n\n```python a.py\n- no item\nx = 1\n```"
    assert blocks_in(item.description)[0].code == "- no item\nx = 1\n"


def test_order_dependencies_and_priority_are_kept():
    first, second, third = tasks_in(
        "## Tasks\n1. Write the parser (priority: high)\n2. Use it (depends on 1)\n3. Tell\n   Depends on: use it, 1\n"
    )
    assert (first.title, first.priority, first.depends_on) == ("Write the parser", "high", ())
    assert (second.title, second.depends_on) == ("Use it", (0,))
    assert third.depends_on == (1, 0)


def test_a_ticked_item_is_done():
    assert [item.is_done for item in tasks_in("## Tasks\n- [x] One\n- [ ] Two\n")] == [True, False]


def test_the_servers_own_list_is_no_specification():
    prompt = (
        "## Tasks\n\n- [P2] [bn-1f3a] Old\n\n## Input\n\n# Shop\n\n## Tasks\n\n- New\n\n## Notes\n\n- [tip] x\n\n"
        "## Tasks\n\n- [P2] [bn-1f3a] Old\n\n## Instructions\n\n1. Go.\n"
    )
    assert titles(prompt) == ["New"]
    assert "Go." not in spec_in(prompt)


def test_without_a_list_checkboxes_count_and_else_the_whole_is_one_task():
    assert titles("## Input\n\n# Shop\n\n- a remark\n- [ ] Build it\n\n## Instructions\n\n1. Go.") == ["Build it"]
    assert titles("## Input\n\n# Build a shop\n\nIt sells tea.\n\n## Instructions\n\n1. Go.") == ["Build a shop"]


def test_a_heading_in_a_block_of_code_is_code():
    (item,) = tasks_in("## Tasks\n- One\n  ```sh\n  # Tasks\n  echo\n  ```\n")
    assert blocks_in(item.description)[0].code == "# Tasks\necho\n"


@pytest.mark.parametrize(
    ("info", "language", "path", "is_command"),
    [
        ("python cart.py", "python", "cart.py", False),
        ("src/cart.py", "", "src/cart.py", False),
        ("py path=src/cart.py", "py", "src/cart.py", False),
        ("sh", "sh", "", True),
        ("sh run.sh", "sh", "run.sh", False),
        ("python", "python", "", False),
    ],
)
def test_the_info_of_a_fence_names_language_and_file(info, language, path, is_command):
    (block,) = blocks_in(f"```{info}\nx\n```\n")
    assert (block.language, block.path, block.is_command) == (language, path, is_command)


@given(st.text(alphabet="ab#-*1.)[]x `~\n\t(depends on P", max_size=200))
def test_any_text_is_read(text):
    for item in tasks_in(text):
        assert item.title.strip() == item.title != ""
        blocks_in(item.description)
