"""Ids: as short as the project allows, unique, and forgiving to type."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.errors import InvalidInput
from binnacle.work.ids import near_misses, new_ids, parse_task_id

HEX = "0123456789abcdef"


def nothing_taken(candidates):
    return ()


def test_ids_have_four_digits_at_first():
    (made,) = new_ids("bn-", 1, existing=0, taken=nothing_taken)
    assert re.fullmatch(r"bn-[0-9a-f]{4}", made)


@pytest.mark.parametrize(
    ("existing", "digits"), [(0, 4), (16**4 // 8 - 1, 4), (16**4 // 8, 5), (16**5 // 8 - 1, 5), (16**5 // 8, 6)]
)
def test_ids_grow_when_the_space_is_an_eighth_full(existing, digits):
    (made,) = new_ids("bn-", 1, existing=existing, taken=nothing_taken)
    assert len(made) == len("bn-") + digits


def test_a_batch_counts_towards_the_length():
    made = new_ids("bn-", 9000, existing=0, taken=nothing_taken)
    assert {len(task_id) for task_id in made} == {len("bn-") + 5}


def test_a_batch_has_no_repeats():
    made = new_ids("bn-", 8000, existing=0, taken=nothing_taken)
    assert len(set(made)) == 8000


def test_an_id_that_is_taken_is_never_given_again():
    used = {f"bn-{number:04x}" for number in range(16**4) if number % 100}
    made = new_ids("bn-", 20, existing=0, taken=used.intersection)
    assert len(set(made)) == 20
    assert used.isdisjoint(made)


@pytest.mark.parametrize("text", ["bn-1f3a", "1f3a", " BN-1F3A ", "Bn-1f3a"])
def test_ids_are_understood_without_prefix_and_in_capitals(text):
    assert parse_task_id(text) == "bn-1f3a"


def test_three_digits_suffice():
    assert parse_task_id("1f3") == "bn-1f3"


@pytest.mark.parametrize(
    "text", ["", "bn-", "1f", "bn-1f", "xyz1", "bn-12g4", "#1", "1f3a; drop table task", "a" * 1000]
)
def test_what_cannot_be_an_id_is_refused_with_a_form_to_follow(text):
    with pytest.raises(InvalidInput, match="not a task id") as caught:
        parse_task_id(text)
    assert "bn-1f3a" in caught.value.hint
    assert len(caught.value.message) < 100


def is_one_slip_away(a: str, b: str) -> bool:
    """The rule in its slowest form: apply every slip to `a` and look for `b`."""
    if len(a) == len(b):
        differing = [i for i in range(len(a)) if a[i] != b[i]]
        swapped = len(differing) == 2 and differing[1] == differing[0] + 1
        return len(differing) == 1 or (
            swapped and a[differing[0]] == b[differing[1]] and a[differing[1]] == b[differing[0]]
        )
    short, long = sorted((a, b), key=len)
    return len(long) == len(short) + 1 and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


@given(st.text(HEX, min_size=3, max_size=5), st.text(HEX, min_size=3, max_size=6))
def test_near_misses_are_exactly_the_ids_one_slip_away(typed, other):
    assert (f"bn-{other}" in near_misses(f"bn-{typed}")) == is_one_slip_away(typed, other)


@given(st.text(HEX, min_size=3, max_size=5), st.data())
def test_a_swapped_a_wrong_a_missing_and_an_extra_digit_are_near_misses(digits, data):
    place = data.draw(st.integers(0, len(digits) - 2))
    swapped = digits[:place] + digits[place + 1] + digits[place] + digits[place + 2 :]
    missing = digits[:place] + digits[place + 1 :]
    extra = digits[:place] + data.draw(st.sampled_from(HEX)) + digits[place:]
    found = near_misses(f"bn-{digits}") | {f"bn-{digits}"}
    assert {f"bn-{swapped}", f"bn-{missing}", f"bn-{extra}"} <= found
