"""Statuses, priorities and kinds, and the words understood for them."""

import pytest

from binnacle.errors import InvalidInput
from binnacle.work.journal import parse_note_type
from binnacle.work.status import KINDS, PRIORITIES, STATUSES, is_closed, parse_kind, parse_priority, parse_status


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_is_understood_as_itself(status):
    assert parse_status(status) == status


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("remaining", "pending"),
        ("open", "pending"),
        ("completed", "done"),
        ("closed", "done"),
        ("skipped", "cancelled"),
        ("canceled", "cancelled"),
        ("in-progress", "in_progress"),
        ("In Progress", "in_progress"),
        (" DONE ", "done"),
        ("needs-input", "needs_input"),
        ("review", "in_review"),
        ("Reviewing", "in_review"),
        ("in review", "in_review"),
    ],
)
def test_the_words_of_the_older_systems_are_understood(word, status):
    assert parse_status(word) == status


def test_an_unknown_status_is_refused_with_the_nearest():
    with pytest.raises(InvalidInput, match="unknown status 'pendign'") as caught:
        parse_status("pendign")
    assert caught.value.hint == "did you mean 'pending'?"


def test_an_unknown_status_like_no_other_lists_them_all():
    with pytest.raises(InvalidInput) as caught:
        parse_status("xyzzy")
    assert all(status in caught.value.hint for status in STATUSES)


def test_only_done_and_cancelled_are_closed():
    assert [status for status in STATUSES if is_closed(status)] == ["done", "cancelled"]


@pytest.mark.parametrize("word", [0, "0", "critical", "P0", "Critical "])
def test_priority_zero_survives(word):
    assert parse_priority(word) == 0


@pytest.mark.parametrize(("number", "name"), list(enumerate(PRIORITIES)))
def test_priorities_have_numbers_and_names(number, name):
    assert parse_priority(number) == parse_priority(str(number)) == parse_priority(name) == number


@pytest.mark.parametrize("word", ["5", -1, "", "urgent", "p", "p9", "2.0", True])
def test_other_priorities_are_refused_with_the_scale(word):
    with pytest.raises(InvalidInput) as caught:
        parse_priority(word)
    assert caught.value.hint == "0 critical, 1 high, 2 medium, 3 low, 4 backlog"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_understood(kind):
    assert parse_kind(f" {kind.upper()} ") == kind


def test_an_unknown_kind_is_refused_with_the_nearest():
    with pytest.raises(InvalidInput) as caught:
        parse_kind("bgu")
    assert caught.value.hint == "did you mean 'bug'?"


def test_an_unknown_note_type_is_refused_with_the_nearest():
    assert parse_note_type("Decision") == "decision"
    with pytest.raises(InvalidInput) as caught:
        parse_note_type("decison")
    assert caught.value.hint == "did you mean 'decision'?"
