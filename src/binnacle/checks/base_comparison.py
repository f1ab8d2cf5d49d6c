"""Rules that compare the run of a change with runs on its base, test by test."""

from collections.abc import Sequence

from binnacle.work.gaming import ChangeFinding, FindingKind
from binnacle.work.verdict import CheckRun, TestReport, compare_with_base, describe_exit

MAX_TEST_FINDINGS = 50


def find_missing_tests(report: TestReport, base: TestReport | None) -> list[ChangeFinding]:
    """Tests that passed on the base, and did not run with the change or were skipped."""
    compared = compare_with_base(report, base)
    return [
        *name_tests("test_not_run", compared.not_run, "it passed on the base and did not run"),
        *name_tests("test_skipped", compared.newly_skipped, "it passed on the base and was skipped"),
    ]


def compare_base_tests(base: TestReport | None, run: CheckRun) -> list[ChangeFinding]:
    """What the base's tests say about the new code."""
    if run.doubt or run.report is None or not run.report.has_ids or base is None:
        if run.exit == 0 and not run.fault and not run.doubt:
            return []
        said = run.doubt or run.fault or describe_exit(run.exit)
        return [ChangeFinding(kind="base_test_fails", path="all", text=f"as it is on the base, it fails: {said}")]
    passed, failed = frozenset(run.report.passed), frozenset(run.report.failed)
    return [
        *name_tests("base_test_fails", [one for one in base.passed if one in failed], "as it is on the base, it fails"),
        *name_tests(
            "test_not_run",
            [one for one in base.passed if one not in failed and one not in passed],
            "as it is on the base, it does not run on the new code",
        ),
    ]


def shows_bug(now: CheckRun, before: CheckRun) -> bool:
    """Whether a test that passes now fails without the change."""
    if before.doubt:
        return False
    if now.report is None or before.report is None or not now.report.has_ids:
        return before.exit not in {0, None} and not before.fault
    passed = frozenset(now.report.passed)
    on_base = frozenset(before.report.passed)
    # A test whose module cannot even be loaded without the change has failed there.
    is_broken = bool(frozenset(before.report.failed) - passed)
    return any(one in passed for one in before.report.failed) or (is_broken and bool(passed - on_base))


def name_tests(kind: FindingKind, ids: Sequence[str], text: str) -> list[ChangeFinding]:
    return [ChangeFinding(kind=kind, path=one, text=text) for one in ids[:MAX_TEST_FINDINGS]]
