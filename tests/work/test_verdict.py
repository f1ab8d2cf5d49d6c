"""Verdicts: only a run in which at least one test ran, and none failed that passed before, is a pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.work.verdict import (
    CheckRun,
    JudgedRun,
    TestReport,
    compare_with_base,
    decide_verdict,
    judge_two_runs,
    make_report,
)

IDS = st.lists(st.sampled_from("abcdef"), max_size=6).map(tuple)


def report(passed="", failed="", skipped="") -> TestReport:
    return TestReport(format="junit", passed=tuple(passed), failed=tuple(failed), skipped=tuple(skipped))


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (CheckRun(exit=0, report=report("a")), "pass"),
        (CheckRun(exit=1, report=report("a", "b")), "fail"),
        (CheckRun(exit=0, report=report("a", "b")), "fail"),
        (CheckRun(exit=1, report=report("a")), "fail"),
        (CheckRun(exit=0, report=report()), "could_not_run"),
        (CheckRun(exit=0, report=report(skipped="a")), "could_not_run"),
        (CheckRun(exit=0, expects_report=True), "could_not_run"),
        (CheckRun(exit=0), "pass"),
        (CheckRun(exit=0, no_tests="no tests ran"), "could_not_run"),
        (CheckRun(exit=2), "fail"),
        (CheckRun(exit=-9), "fail"),
        (CheckRun(exit=126), "could_not_run"),
        (CheckRun(exit=127, report=report("a")), "could_not_run"),
        (CheckRun(), "could_not_run"),
        (CheckRun(exit=0, fault="no"), "could_not_run"),
        (CheckRun(exit=0, fault="changed", is_tampered=True, report=report("a")), "fail"),
        (CheckRun(exit=0, is_timeout=True, report=report("a")), "timeout"),
        (CheckRun(exit=0, report=TestReport(format="unittest", counted=0)), "could_not_run"),
        (CheckRun(exit=0, report=TestReport(format="unittest", counted=2)), "pass"),
    ],
)
def test_each_run_has_one_verdict(run, verdict):
    assert decide_verdict(run).verdict == verdict


@given(
    st.builds(
        CheckRun,
        exit=st.one_of(st.none(), st.integers(-15, 130)),
        is_timeout=st.booleans(),
        fault=st.sampled_from(["", "no"]),
        is_tampered=st.booleans(),
        expects_report=st.booleans(),
        no_tests=st.sampled_from(["", "no tests ran"]),
        report=st.one_of(st.none(), st.builds(lambda p, f, s: make_report("junit", [
            *((one, "passed") for one in p), *((one, "failed") for one in f), *((one, "skipped") for one in s)
        ]), IDS, IDS, IDS)),
    ),
    st.one_of(st.none(), st.builds(report, IDS, IDS, IDS)),
)  # fmt: skip
def test_a_pass_always_rests_on_something(run, base):
    if decide_verdict(run, base=base).verdict != "pass":
        return
    assert not run.is_timeout
    assert not run.fault
    assert not run.is_tampered
    if run.report is None:
        assert (run.exit, run.expects_report, run.no_tests) == (0, False, "")
    else:
        assert run.report.ran > 0
        old = set(base.failed) if base else set()
        assert set(run.report.failed) <= old
        assert run.exit == 0 or run.report.failed


@given(st.builds(report, IDS, IDS, IDS), st.builds(report, IDS, IDS, IDS))
def test_what_is_new_and_what_is_old_are_all_that_failed(now, base):
    found = compare_with_base(now, base)
    assert sorted((*found.new_failed, *found.old_failed)) == sorted(now.failed)
    assert set(found.old_failed) <= set(base.failed)
    assert set(found.not_run) <= set(base.passed)


def test_without_a_base_every_failure_is_new():
    assert compare_with_base(report("a", "b"), None).new_failed == ("b",)


@pytest.mark.parametrize("second", ["pass", "fail", "could_not_run", "timeout"])
def test_a_second_run_never_makes_a_pass(second):
    found = judge_two_runs(JudgedRun("fail", "first"), JudgedRun(second, "second"))
    assert found.verdict == ("flaky" if second == "pass" else "fail")
    assert "first" in found.reason
