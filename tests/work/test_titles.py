"""Titles that mean the same are recognized, and others are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.work.titles import is_same_title, sketch_title


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Write tests", "write  TESTS"),
        ("Write tests", "Write the tests."),
        ("Write a test", "Write tests"),
        ("Add the log-in form", "Add login form!"),
        ("Add an entry to the list", "Add an entry for the list"),
        ("Send notifications", "Send notificatons"),
        ("Show the calendar", "Show the calender"),
        ("Check the address", "Check the adress"),
        ("Receive the payment", "Recieve payments"),
        ("Control the pump", "Controll the pump"),
        ("Document the user's rights", "Document the users rights"),
        ("Fix `parse`", "Fix parse"),
        ("The", "the"),
        ("!!!", "!!!"),
        ("修复登录", "修复登录"),
    ],
)
def test_titles_that_mean_the_same(a, b):
    assert is_same_title(a, b)
    assert is_same_title(b, a)
    assert sketch_title(a) == sketch_title(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Add the word one", "Add the word two"),
        ("Support v1", "Support v2"),
        ("step 11", "step 12"),
        ("Release 1.2", "Release 12"),
        ("Turn the light on", "Turn the light off"),
        ("Log in", "Log out"),
        ("Fix from", "Fix form"),
        ("Test remote", "Test remove"),
        ("Test the compile step", "Test the compiler step"),
        ("Insert rows", "Invert rows"),
        ("Add tracing", "Add tracking"),
        ("Import the orders", "Export the orders"),
        ("Create table 'user'", "Create table 'users'"),
        ("Rename task_add", "Rename task_get"),
        ("Rename getUserName", "Rename getUserNane"),
        ("Fill column A", "Fill column B"),
        ("Fill column A", "Fill column"),
        ("Support C", "Support C++"),
        ("Support * in patterns", "Support ? in patterns"),
        ("Move A to B", "Move B to A"),
        ("Write tests", "Write tests for the cart"),
        ("Lesson one", "Lesson one hundred"),
        ("修复登录一", "修复登录二"),
        ("The", "A"),
        ("Notificaton sendr", "Notification sender"),
    ],
)
def test_titles_that_differ(a, b):
    assert not is_same_title(a, b)
    assert not is_same_title(b, a)


WORDS = st.lists(
    st.sampled_from(["notification", "calendar", "address", "the", "Tests", "v1", "user_id", "classes", "A", "*", "—"]),
    min_size=1,
    max_size=5,
)


@given(words=WORDS, place=st.integers(0, 40), letter=st.sampled_from("aeiounst"), kind=st.integers(0, 3))
def test_titles_that_mean_the_same_have_one_sketch(words, place, letter, kind):
    title = " ".join(words)
    at = place % len(title)
    edited = (
        title[:at] + letter + title[at:],
        title[:at] + title[at + 1 :],
        title[:at] + letter + title[at + 1 :],
        title[:at] + title[at : at + 2][::-1] + title[at + 2 :],
    )[kind]
    if is_same_title(title, edited):
        assert sketch_title(title) == sketch_title(edited)
    assert is_same_title(title, edited) == is_same_title(edited, title)


@given(st.text(max_size=60))
def test_any_text_has_a_sketch_and_is_the_same_as_itself(text):
    assert is_same_title(text, text)
    assert sketch_title(f"  {text}\t") == sketch_title(text)
