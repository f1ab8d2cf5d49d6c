"""What still holds of a closed task, by the results of its checks then and now."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from binnacle.work.evidence import Evidence
from binnacle.work.regression import (
    Culprit,
    CulpritSearch,
    describe_regression,
    group_by_task,
    make_regression,
    title_of_regression,
)
from binnacle.work.verification import NeededCheck, judge_check, judge_probe, judge_task

THEN = Evidence(
    id="bne-1", check_name="tests", definition="d1", commit_id="c1", tree="t1", verdict="pass", passed=("a::one",),
    environment="e1", environment_summary="Linux, pytest", machine="box", created_at=datetime(2026, 3, 1, tzinfo=UTC),
)  # fmt: skip
NOW = replace(THEN, id="bne-2", commit_id="c9", tree="t9")
NEEDED = NeededCheck(name="tests", definition="d1", is_own=True, then=THEN)
FAILS = replace(NOW, verdict="fail", passed=(), failed=("a::one",), reason="1 test failed: a::one")


@pytest.mark.parametrize(
    ("now", "then", "tests", "state"),
    [
        (NOW, THEN, (), "holds"),
        (NOW, THEN, ("one",), "holds"),
        (NOW, THEN, ("two",), "broken"),
        (FAILS, THEN, (), "broken"),
        (FAILS, replace(THEN, failed=("a::one",)), (), "holds"),
        (FAILS, replace(THEN, failed=("a::one",)), ("one",), "broken"),
        (FAILS, None, (), "broken"),
        (replace(NOW, verdict="fail"), THEN, (), "broken"),
        (replace(NOW, verdict="fail"), replace(THEN, failed=("a::two",)), (), "broken"),
        (replace(NOW, verdict="flaky"), THEN, (), "unclear"),
        (replace(NOW, verdict="timeout"), THEN, ("one",), "unclear"),
        (replace(NOW, verdict="could_not_run"), THEN, (), "unclear"),
        (None, THEN, (), "unclear"),
    ],
)
def test_what_holds(now, then, tests, state):
    assert judge_check(replace(NEEDED, then=then), now, tests).state == state


def test_the_worst_check_decides_for_the_task():
    good, bad = judge_check(NEEDED, NOW, ()), judge_check(NEEDED, FAILS, ())
    unclear = judge_check(NEEDED, None, ())
    assert judge_task([good, unclear, bad]) == "broken"
    assert judge_task([good, unclear]) == "unclear"
    assert judge_task([good]) == "holds"
    assert judge_task([]) == "unchecked"


def test_what_another_definition_or_environment_says_is_stale():
    assert judge_check(NEEDED, NOW, ()).stale == ()
    assert judge_check(NEEDED, replace(NOW, definition="d2"), ()).stale == (
        "the check was changed and trusted again since",
    )
    (said,) = judge_check(NEEDED, replace(NOW, environment="e2", machine="other"), ()).stale
    assert "Linux, pytest on box, now Linux, pytest on other" in said


@pytest.mark.parametrize(
    ("seen", "result"),
    [
        (FAILS, "bad"),
        (NOW, "good"),
        (replace(FAILS, failed=("a::other",), passed=("a::one",)), "good"),
        (replace(NOW, verdict="flaky"), "unclear"),
        (replace(NOW, verdict="could_not_run", passed=()), "unclear"),
        (replace(NOW, verdict="fail", passed=()), "unclear"),
    ],
)
def test_a_commit_is_bad_if_the_same_test_fails_there(seen, result):
    assert judge_probe(seen, judge_check(NEEDED, FAILS, ())) == result


@pytest.mark.parametrize(
    ("verdict", "result"), [("fail", "bad"), ("pass", "good"), ("could_not_run", "unclear"), ("timeout", "unclear")]
)
def test_without_names_of_tests_the_verdict_decides(verdict, result):
    target = judge_check(NEEDED, replace(NOW, verdict="fail", passed=()), ())
    assert judge_probe(replace(NOW, verdict=verdict, passed=()), target) == result


def test_a_regression_says_all_that_its_reader_needs():
    culprit = Culprit(commit="c" * 40, title="Rename the lexer", task="bn-0007", task_title="the lexer")
    check = judge_check(NEEDED, replace(FAILS, log_excerpt="E  assert 1 == 2"), ())
    one = make_regression("bn-0003", check, CulpritSearch(culprit=culprit), commit="d" * 40)
    said = describe_regression(one)
    for part in ("'tests'", "dddddddd", "a::one", "cccccccc (Rename the lexer)", "of bn-0007 (the lexer)", "assert 1"):
        assert part in said
    assert title_of_regression(one) == "Regression: the check tests of bn-0003 fails since cccccccc"
    unknown = make_regression("", check, CulpritSearch(why_not="nobody looked"), commit="d" * 40)
    assert "not known: nobody looked" in describe_regression(unknown)
    some = replace(culprit, suspects=("a" * 40, "b" * 40))
    assert "one of aaaaaaaa, bbbbbbbb" in describe_regression(replace(one, search=CulpritSearch(culprit=some)))
    other = replace(unknown, check="lint")
    assert group_by_task([one, unknown, one, other]) == [[one, one], [unknown], [other]]
