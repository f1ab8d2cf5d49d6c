"""Specifications are read to the byte, whatever they look like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.work import specification
from binnacle.work.specification import (
    find_coverage,
    find_covered,
    find_problems,
    outline,
    parse_specification,
    split_into_parts,
)

SHOP = """# Shop

A shop for books. It must be fast.

## Cart

- Items are kept
  for a day
  ```python cart.py
  # not a heading
  - not an item
  ```
- Prices:
  - in cents
  - never negative
* [A3] a total
1. Ordered, too

The cart must never lose items.

## Search
Users find books by title.

By author, too:

```sql
select 1
```

### REQ-7: Speed
Fast.

- one
- REQ-8: two

Table
-----

| id | what |
|----|------|
| T-1 | first |
| plain | second |

<!-- - no requirement
-->

## Dark mode
"""


def ids_and_words(text):
    return [(one.id, one.summary) for one in parse_specification(text).requirements]


def test_what_is_asked_for_has_ids_in_the_order_of_the_text():
    assert ids_and_words(SHOP) == [
        ("R1", "A shop for books. It must be fast."),
        ("R2", "Items are kept"),
        ("R3", "in cents"),
        ("R4", "never negative"),
        ("A3", "[A3] a total"),
        ("R5", "Ordered, too"),
        ("R6", "The cart must never lose items."),
        ("R7", "Users find books by title."),
        ("R8", "By author, too:"),
        ("REQ-7", "REQ-7: Speed"),
        ("REQ-8", "REQ-8: two"),
        ("T-1", "| T-1 | first |"),
        ("R9", "| plain | second |"),
        ("R10", "Dark mode"),
    ]


def test_code_stays_with_what_it_belongs_to():
    found = {one.id: one.text for one in parse_specification(SHOP).requirements}
    assert found["R2"].endswith("- not an item\n  ```")
    assert found["R8"] == "By author, too:\n\n```sql\nselect 1\n```"
    assert found["REQ-7"] == "REQ-7: Speed\n\nFast.\n\n- one"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("\n\n", []),
        ("One thing.\n\nAnother\nthing.", [("R1", "One thing."), ("R2", "Another")]),
        ("Title\n=====\n\nJust words.", [("R1", "Just words.")]),
        ("# Intro\n\nJust words.\n\n## Tasks\n\n- a\n- b", [("R1", "a"), ("R2", "b")]),
        ("Do the following:\n\n- a", [("R1", "a")]),
        ("- R1: a\n- b\n- c", [("R1", "R1: a"), ("R2", "b"), ("R3", "c")]),
        ("- b\n- R1: a", [("R2", "b"), ("R1", "R1: a")]),
        ("- **FR-1** a\n- (X2) b\n- FR-1: again", [("FR-1", "**FR-1** a"), ("X2", "(X2) b")]),
        ("---\ntitle: x\n---\n- a", [("R1", "a")]),
        ("- [ ] a\n- [x] b\n  more\n- c", [("R1", "a"), ("R2", "c")]),
        ("## Done\n\n- [X] b", []),
        ("# Only code\n\n```\nx\n```", [("R1", "```")]),
        ("- a\r\n- b\r\n", [("R1", "a"), ("R2", "b")]),
        ("```\nnever closed\n- x", [("R1", "```")]),
    ],
)
def test_texts_of_many_shapes(text, found):
    assert ids_and_words(text) == found


def test_a_long_text_is_divided_at_sections_and_nothing_is_lost():
    spec = parse_specification(SHOP)
    parts = split_into_parts(spec, 40)
    assert "".join(part.text for part in parts) == SHOP
    assert [one.id for part in parts for one in part.requirements] == [one.id for one in spec.requirements]
    assert all(part.total == len(parts) for part in parts)
    assert len(parts) > 3
    assert [part.text.lstrip("\n")[:1] for part in parts].count("#") >= 3
    assert len(split_into_parts(spec)) == 1


def test_a_section_that_is_too_large_is_divided_between_its_blocks():
    text = "# A\n\n" + "".join(f"- item {number}\n  ```\n  code {number}\n\n  more\n  ```\n" for number in range(40))
    parts = split_into_parts(parse_specification(text), 60)
    assert "".join(part.text for part in parts) == text
    assert len(parts) > 5
    assert all(part.text.count("```") % 2 == 0 for part in parts)
    assert all(part.text.startswith(("# A", "- item")) for part in parts)


def test_a_heading_stays_with_what_follows_it():
    text = f"# A\n\n{'word ' * 50}\n\n# B\n\n{'word ' * 50}\n\n{'more ' * 50}\n"
    parts = split_into_parts(parse_specification(text), 70)
    assert [part.text[:3] for part in parts] == ["# A", "# B", "mor"]


@given(
    st.lists(
        st.sampled_from([*SHOP.split("\n"), "```", "~~~", "\r", "| a |", "\u2028x", "\x0c", "é " * 30]), max_size=60
    )
)
def test_any_text_is_read_to_the_byte(lines):
    text = "\n".join(lines)
    spec = parse_specification(text)
    blocks = [block for section in spec.sections for block in section.blocks]
    assert "".join(text[block.start : block.end] for block in blocks) == text
    for tokens in (5, 40, 1000):
        parts = split_into_parts(spec, tokens)
        assert "".join(part.text for part in parts) == text
        assert [one for part in parts for one in part.requirements] == list(spec.requirements)
    ids = [one.id for one in spec.requirements]
    assert len(set(map(str.casefold, ids))) == len(ids)


@given(st.text(max_size=300))
def test_any_characters_are_read_to_the_byte(text):
    spec = parse_specification(text)
    assert "".join(part.text for part in split_into_parts(spec, 10)) == text


def test_what_is_covered_and_what_is_not():
    spec = parse_specification(SHOP)
    found = find_coverage(spec, {"bn-1": ["R1-R3", "req-7"], "bn-2": ["[T-1], R9", "R2"], "bn-3": ["R99", "R4..5"]})
    assert found.covered["R2"] == ["bn-1", "bn-2"]
    assert found.covered["REQ-7"] == ["bn-1"]
    assert [one.id for one in found.missing] == ["R6", "R7", "R8", "REQ-8", "R10"]
    assert found.unknown == {"bn-3": ["R99"]}
    assert [one.id for one in find_covered(spec, ["R9", "R1"])] == ["R1", "R9"]


def test_the_outline_has_every_heading_or_the_upper_ones():
    spec = parse_specification(SHOP)
    assert outline(spec).splitlines()[:4] == ["- Shop", "  - Cart", "  - Search", "    - REQ-7: Speed"]
    assert outline(spec, max_lines=5).splitlines() == [
        "- Shop",
        "  - Cart",
        "  - Search",
        "  - Table",
        "  - Dark mode",
        "… and 1 more",
    ]


def test_what_cannot_be_given_is_said(monkeypatch):
    assert find_problems(SHOP) == []
    assert find_problems("a\nb\0c") == ["it is not text in UTF-8: line 2 has bytes that are no characters"]
    assert find_problems("\ufffd")[0].startswith("it is not text in UTF-8: line 1")
    large = f"# A\n\n```\n{'x' * 4 * specification.MAX_BLOCK_TOKENS}\n```\n"
    assert find_problems(large) == [
        "the block at line 3 has about 30003 tokens, and an agent gets at most 30000 at once"
    ]
    size = specification.MAX_PART_TOKENS * 4
    long = "".join(f"# {number}\n\n{'word ' * (size // 5 - 10)}\n\n" for number in range(specification.MAX_PARTS + 1))
    assert find_problems(long) == [
        f"it has about {specification.count_tokens(long)} tokens: 41 parts, of which 40 are planned"
    ]


@pytest.mark.parametrize("line", ["-|" + " " * 100_000 + "x", " " * 100_000 + "x|", "- [" + " " * 100_000 + "x"])
def test_a_line_of_spaces_is_read_at_once(line):
    parse_specification(f"a|b\n{line}\n")
