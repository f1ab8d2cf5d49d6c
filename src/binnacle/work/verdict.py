"""What a run of a check says about a change: pure rules over an exit code and a report of tests.

A verdict is formed from what was seen outside of the process that ran the tests. Only `pass` opens a gate, and what is
not understood is never a pass: a runner that speaks a report format must have written a complete report in which at
least one test ran.
"""

from collections.abc import Collection, Iterable
from typing import ClassVar, Literal

from msgspec import Struct

Verdict = Literal["pass", "fail", "could_not_run", "timeout", "flaky"]
ReportFormat = Literal["junit", "jest", "go", "tap", "cargo", "unittest", "count"]

MAX_SHOWN_IDS = 200
"""Ids of tests that are kept of each kind; the rest are counted."""

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""What a shell answers for a command that it cannot run."""


class TestReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which tests ran, as their runner reported it. No id is in two lists: a test that failed once has failed."""

    __test__: ClassVar[bool] = False  # pytest takes it for tests otherwise

    format: ReportFormat
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    counted: int | None = None
    """How many ran, where the runner names none of them."""

    @property
    def ran(self) -> int:
        return len(self.passed) + len(self.failed) if self.counted is None else self.counted

    @property
    def has_ids(self) -> bool:
        return self.counted is None


class CheckRun(Struct, frozen=True, kw_only=True):
    """One run of a check's command, as it was seen from outside."""

    exit: int | None = None
    """Its exit code, negative for a signal; None if it never ran."""

    is_timeout: bool = False
    """Whether it was ended because its time was over."""

    fault: str = ""
    """Why it could not run, or why its report is not believed."""

    is_tampered: bool = False
    """Whether `fault` says that the code under test has changed its runner."""

    doubt: str = ""
    """Why it shows nothing about the commit, however it ended: something else ran than what is in the commit."""

    report: TestReport | None = None
    """None if the runner speaks no format that is known."""

    expects_report: bool = False
    """Whether the runner was asked for a report."""

    no_tests: str = ""
    """The words of its output that say that no test ran."""


class JudgedRun(Struct, frozen=True):
    """A verdict and its reason, in words that an agent can act on."""

    verdict: Verdict
    reason: str = ""


class TestComparison(Struct, frozen=True, kw_only=True):
    """The tests of a change next to those of its base."""

    __test__: ClassVar[bool] = False

    new_failed: tuple[str, ...] = ()
    old_failed: tuple[str, ...] = ()
    """Tests that fail on the base as well."""

    not_run: tuple[str, ...] = ()
    """Tests that passed on the base and are not in the report of the change."""

    newly_skipped: tuple[str, ...] = ()
    """Tests that passed on the base and were skipped with the change."""


def make_report(report_format: ReportFormat, results: Iterable[tuple[str, str]]) -> TestReport:
    """A report from pairs of an id and `passed`, `failed` or `skipped`. The worst result of an id counts."""
    worst: dict[str, str] = {}
    order = {"failed": 2, "passed": 1, "skipped": 0}
    for test_id, result in results:
        if test_id not in worst or order[result] > order[worst[test_id]]:
            worst[test_id] = result

    def list_all(kind: str) -> tuple[str, ...]:
        return tuple(sorted(one for one, result in worst.items() if result == kind))

    return TestReport(
        format=report_format, passed=list_all("passed"), failed=list_all("failed"), skipped=list_all("skipped")
    )


def decide_verdict(
    run: CheckRun, *, base: TestReport | None = None, quarantined: Collection[str] = frozenset()
) -> JudgedRun:
    """The verdict on one run. Failures of `base`, and of tests in quarantine, do not count against the change."""
    judged = _judge(run, base, quarantined)
    return JudgedRun("could_not_run", run.doubt) if judged.verdict == "pass" and run.doubt else judged


def _judge(run: CheckRun, base: TestReport | None, quarantined: Collection[str]) -> JudgedRun:
    if run.is_timeout:
        return JudgedRun("timeout", run.fault or "it took longer than its timeout and was ended")
    if run.is_tampered:
        return JudgedRun("fail", run.fault)
    if run.fault or run.exit is None:
        return JudgedRun("could_not_run", run.fault or "it was never started")
    if run.exit in {NOT_EXECUTABLE, NOT_FOUND}:
        return JudgedRun("could_not_run", f"exit code {run.exit}: a command was not found or cannot be executed")
    if run.report is None:
        return _judge_without_report(run)
    return _judge_report(run, run.report, compare_with_base(run.report, base), frozenset(quarantined))


def _judge_without_report(run: CheckRun) -> JudgedRun:
    if run.expects_report:
        return JudgedRun(
            "could_not_run", f"{describe_exit(run.exit)}, and the test runner wrote no report: something ended it early"
        )
    if run.no_tests:
        return JudgedRun("could_not_run", f"no test ran: it said {run.no_tests!r}")
    if run.exit == 0:
        return JudgedRun("pass", "exit code 0; how many tests ran is not known")
    return JudgedRun("fail", describe_exit(run.exit))


def _judge_report(
    run: CheckRun, report: TestReport, compared: TestComparison, quarantined: frozenset[str]
) -> JudgedRun:
    counting = [one for one in compared.new_failed if one not in quarantined]
    if counting:
        spared = len(compared.new_failed) - len(counting)
        also = f"; {spared} more in quarantine" if spared else ""
        return JudgedRun("fail", f"{_count(len(counting), 'test')} failed: {_name(counting)}{also}")
    if report.ran == 0:
        return JudgedRun("could_not_run", "all tests were skipped" if report.skipped else "no test ran")
    if run.exit == 0:
        return JudgedRun("pass", _describe_pass(report, compared, quarantined))
    if not report.failed:
        return JudgedRun("fail", f"{describe_exit(run.exit)}, although no test failed; the log says why")
    if not report.passed:
        return JudgedRun("fail", "no test passed")
    return JudgedRun("pass", _describe_pass(report, compared, quarantined))


def _describe_pass(report: TestReport, compared: TestComparison, quarantined: frozenset[str]) -> str:
    said = f"{_count(report.ran, 'test')} ran"
    if compared.old_failed:
        said += f", {len(compared.old_failed)} of them failed before this change, too: {_name(compared.old_failed)}"
    if spared := [one for one in compared.new_failed if one in quarantined]:
        said += f", {len(spared)} failed and {'is' if len(spared) == 1 else 'are'} in quarantine: {_name(spared)}"
    return said


def compare_with_base(report: TestReport, base: TestReport | None) -> TestComparison:
    """What differs from the base, by id. Without the ids of a base, every failure is new."""
    if base is None or not base.has_ids or not report.has_ids:
        return TestComparison(new_failed=report.failed)
    old, passed_before = frozenset(base.failed), frozenset(base.passed)
    known = frozenset((*report.passed, *report.failed, *report.skipped))
    return TestComparison(
        new_failed=tuple(one for one in report.failed if one not in old),
        old_failed=tuple(one for one in report.failed if one in old),
        not_run=tuple(one for one in base.passed if one not in known),
        newly_skipped=tuple(one for one in report.skipped if one in passed_before),
    )


def judge_two_runs(first: JudgedRun, second: JudgedRun) -> JudgedRun:
    """The verdict on a failure and a second run. A pass then buys a label, and never a pass."""
    if second.verdict == "pass":
        return JudgedRun(
            "flaky", f"it failed, and passed when it was run again without a change. First: {first.reason}"
        )
    return first


def describe_exit(code: int | None) -> str:
    """An exit code in words."""
    if code is None:
        return "it was never started"
    return f"ended by signal {-code}" if code < 0 else f"exit code {code}"


def _name(ids: Collection[str]) -> str:
    shown = ", ".join(list(ids)[:5])
    return f"{shown} and {len(ids) - 5} more" if len(ids) > 5 else shown


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
