"""What follows from reports, as functions of values."""

from datetime import timedelta

import pytest

from binnacle.errors import InvalidInput
from binnacle.work.report import (
    Question,
    Report,
    choose_answer,
    is_same_work,
    may_requeue,
    outcome_of,
    remaining_of,
    stuck_in_a_row,
    title_for,
    words_of,
)
from binnacle.work.status import STATUSES
from places import NOW


def report(kind, /, outcome="pending", note="", **body) -> Report:
    return Report(
        id="bnr-1", task_id="bn-1", kind=kind, body=body, author="bna-1", created_at=NOW,
        settled_at=NOW + timedelta(minutes=1), outcome=outcome, note=note,
    )  # fmt: skip


def question(*options: str) -> Question:
    return Question(
        id="bnq-1", task_id="bn-1", text="Which one?", options=options, blocking=True, asked_by="bna-1", created_at=NOW
    )


@pytest.mark.parametrize(
    ("kind", "given", "outcome"),
    [
        ("done", {}, "done"),
        ("done", {"awaits_answer": True}, "done"),
        ("done", {"unfinished": "a part is open"}, "pending"),
        ("done", {"unfinished": "a part is open", "awaits_answer": True}, "needs_input"),
        ("partial", {}, "pending"),
        ("partial", {"stuck_before": 9}, "pending"),
        ("partial", {"awaits_answer": True}, "needs_input"),
        ("stuck", {}, "pending"),
        ("stuck", {"stuck_before": 1}, "pending"),
        ("stuck", {"stuck_before": 2}, "blocked"),
        ("stuck", {"stuck_before": 2, "awaits_answer": True}, "needs_input"),
        ("blocked", {}, "blocked"),
        ("blocked", {"waits_for_task": True}, "pending"),
        ("blocked", {"waits_for_task": True, "awaits_answer": True}, "needs_input"),
    ],
)
def test_what_a_closing_report_comes_to(kind, given, outcome):
    usual = {"unfinished": "", "awaits_answer": False, "stuck_before": 0, "waits_for_task": False}
    assert outcome_of(kind, **(usual | given)) == outcome


def test_only_work_under_way_or_waiting_is_requeued():
    assert [status for status in STATUSES if may_requeue(status)] == ["pending", "in_progress", "partial"]


@pytest.mark.parametrize(
    ("reports", "count"),
    [
        ([], 0),
        ([report("stuck"), report("stuck")], 2),
        ([report("stuck"), report("partial"), report("stuck")], 1),
        ([report("partial"), report("stuck")], 0),
        ([report("stuck"), report("partial", "superseded"), report("stuck", "left"), report("stuck")], 2),
        ([report("stuck"), report("stuck", "blocked"), report("stuck")], 1),
        ([report("stuck"), report("stuck", "needs_input")], 2),
    ],
)
def test_stucks_count_in_a_row_and_anew_after_they_blocked_the_task(reports, count):
    assert len(stuck_in_a_row(reports)) == count


@pytest.mark.parametrize(
    ("reports", "remaining"),
    [
        ([], ""),
        ([report("stuck", reason="x"), report("partial", remaining="the tests")], "the tests"),
        ([report("partial", "left", remaining="no"), report("partial", remaining="the tests")], "the tests"),
        ([report("done", note="a part is open", summary="x")], "a part is open"),
        ([report("stuck", reason="x"), report("done", "done"), report("partial", remaining="old")], ""),
    ],
)
def test_what_remains_is_said_by_the_newest_report_that_says_so(reports, remaining):
    assert remaining_of(reports) == remaining


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("done", {"summary": "s"}, "Done: s"),
        ("partial", {"summary": "s", "remaining": "r"}, "Partly done: s\n\nRemaining: r"),
        ("stuck", {"reason": "r"}, "Stuck: r"),
        ("blocked", {"on": "o"}, "Blocked on o"),
        ("blocked", {"on": "o", "detail": "d"}, "Blocked on o: d"),
        ("flag", {"what": "w", "severity": "info"}, "Flag (info): w"),
        ("flag", {"what": "w", "severity": "blocking", "category": "bug"}, "Flag (blocking, bug): w"),
        ("learning", {"text": "t", "kind": "decision", "rationale": "r"}, "Learned (decision): t (r)"),
        ("suggestion", {"what": "w", "why": "y", "kind": "refactor"}, "Suggestion (refactor): w\n\nWhy: y"),
        ("question", {"question": "q"}, "Asked: q"),
    ],
)
def test_every_report_can_be_told(kind, body, said):
    assert words_of(report(kind, **body)) == said


@pytest.mark.parametrize(
    ("options", "text", "answer"),
    [
        ((), "Whatever you like", "Whatever you like"),
        ((), "2", "2"),
        (("keep it", "drop it"), "2", "drop it"),
        (("keep it", "drop it"), " Keep  IT ", "keep it"),
        (("keep it", "drop it"), "neither, rename it", "neither, rename it"),
        (("8", "16"), "16", "16"),
    ],
)
def test_an_answer_is_an_option_or_words_of_ones_own(options, text, answer):
    assert choose_answer(question(*options), text) == answer


@pytest.mark.parametrize(("text", "word"), [("3", "2 options"), ("0", "2 options"), ("  ", "empty")])
def test_an_answer_that_is_none_is_refused(text, word):
    with pytest.raises(InvalidInput, match=word):
        choose_answer(question("keep it", "drop it"), text)


def test_a_title_is_the_first_line_and_never_too_long():
    assert title_for("Cache the tokens\nbecause it is slow") == "Cache the tokens"
    assert len(title_for("word " * 200)) <= 300
    assert title_for("word " * 200).endswith("…")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Cache the tokens", "cache  the TOKENS", True),
        ("Write tests for the auth module", "Write the tests for the auth module!", True),
        ("Add the login page", "Add the logout page", False),
        ("a", "b", False),
        ("", "", True),
    ],
)
def test_titles_that_mean_the_same_work(a, b, same):
    assert is_same_work(a, b) is same
