"""Runs a check on a commit, and says what came of it and on what that rests.

    the commit in a clean checkout ── could not run, timeout ──→ that is the verdict
      │ tests failed that pass on the base
      ├──→ the same once more: passes? then it is flaky, which is not a pass
      │ passed
      ├──→ tests of the base that did not run or were skipped: findings
      ├──→ tests were changed: the base's tests on the new code, findings
      └──→ a bug: the new tests on the base's code, where one of them must fail

What a base says is kept by tree, definition and environment, and so is run once. The caller gives the definition of the
check, which must come from the base.
"""

import os
import time
from collections.abc import Collection, Mapping
from contextlib import nullcontext

from binnacle.checks.base_comparison import compare_base_tests, find_missing_tests, shows_bug
from binnacle.checks.baselines import BaselineCache, BaselineKey, BaseReport
from binnacle.checks.change_files import changes_tests, lay_tests_over, select_tests
from binnacle.checks.check_conclusion import CheckCourse, conclude
from binnacle.checks.check_subject import CheckSubject, find_subject
from binnacle.checks.clean_checkout import CheckRoom
from binnacle.checks.exclusive_lock import hold_exclusively
from binnacle.checks.single_run import SingleRuns, Tell
from binnacle.git.command import Git
from binnacle.processes.keeper import Keeper
from binnacle.work.check import Check
from binnacle.work.check_result import CheckResult
from binnacle.work.gaming import DEFAULT_PROTECTION, Protection
from binnacle.work.verdict import CheckRun, JudgedRun, decide_verdict, judge_two_runs

__all__ = ["CheckRunner", "Tell"]

LOG_FOLDER = "logs"
_NO_BUG_SHOWN = JudgedRun("fail", "it is a bug, and no test of this change fails on the base")


class CheckRunner:
    """Runs the checks of one repository. The keeper owns every process that it starts."""

    def __init__(
        self,
        *,
        repo: str,
        folder: str,
        keeper: Keeper,
        environ: Mapping[str, str],
        baselines: BaselineCache,
        protection: Protection = DEFAULT_PROTECTION,
        tell: Tell | None = None,
    ) -> None:
        """`folder` is for checkouts and logs; nothing outside of it is changed."""
        self._git = Git(repo)
        self._folder = folder
        self._environ = environ
        self._baselines = baselines
        self._protection = protection
        self._runs = SingleRuns(repo=repo, folder=folder, keeper=keeper, tell=tell or (lambda _name, _what: None))

    async def run(
        self,
        check: Check,
        commit: str,
        base: str = "",
        *,
        is_bug: bool = False,
        quarantined: Collection[str] = frozenset(),
    ) -> CheckResult:
        """Runs a check on a commit and compares it with `base`. Cancelling ends everything that it started.

        `is_bug` if the change fixes one: then a test of it has to fail on the base. Failures of `quarantined` tests
        are shown and do not count.

        Raises:
            GitError: there is no such commit.
        """
        began = time.monotonic()
        subject = await find_subject(self._git, check, commit, base, environ=self._environ)
        lock = hold_exclusively(self._folder, check.exclusive) if check.exclusive else nullcontext()
        async with lock:
            course = await self._follow(subject, is_bug=is_bug, quarantined=quarantined)
        return conclude(
            subject,
            course,
            seconds=time.monotonic() - began,
            folder=os.path.join(self._folder, LOG_FOLDER),
            protection=self._protection,
        )

    async def _follow(self, subject: CheckSubject, *, is_bug: bool, quarantined: Collection[str]) -> CheckCourse:
        first = await self._runs.run(subject, "running", subject.commit)
        course = CheckCourse(first=first, judged=JudgedRun("fail"), logs=[("", first.log)], findings=[])
        course.quarantined = frozenset(quarantined)
        if subject.has_base and _needs_base(first.run):
            baseline = await self._find_baseline(subject)
            course.base_report = baseline.report if baseline else None
        course.judged = decide_verdict(first.run, base=course.base_report, quarantined=quarantined)
        if course.judged.verdict == "pass":
            self._keep_baseline(subject.own_key, first.run)  # other work may begin from this tree
        if course.judged.verdict == "fail" and not first.run.is_tampered:
            await self._run_again(subject, course, quarantined)
        if first.run.report is not None:
            course.findings += find_missing_tests(first.run.report, course.base_report)
        if course.judged.verdict == "pass" and changes_tests(subject.changes, subject.check):
            await self._run_base_tests(subject, course)
        if course.judged.verdict == "pass" and is_bug:
            await self._run_new_tests_on_base(subject, course)
        return course

    async def _run_again(self, subject: CheckSubject, course: CheckCourse, quarantined: Collection[str]) -> None:
        second = await self._runs.run(subject, "running it once more", subject.commit)
        judged = decide_verdict(second.run, base=course.base_report, quarantined=quarantined)
        course.judged = judge_two_runs(course.judged, judged)
        course.logs.append(("the second run", second.log))
        if course.first.run.report is not None and second.run.report is not None:
            passed = frozenset(second.run.report.passed)
            course.flaky = tuple(one for one in course.first.run.report.failed if one in passed)

    async def _find_baseline(self, subject: CheckSubject) -> BaseReport | None:
        known = self._baselines.get(subject.baseline_key)
        if known is not None:
            return known
        seen = (await self._runs.run(subject, "running it on the base", subject.base)).run
        return self._keep_baseline(subject.baseline_key, seen)

    def _keep_baseline(self, key: BaselineKey, seen: CheckRun) -> BaseReport | None:
        """Keeps what a run on a tree says about it; None if it says nothing."""
        if (
            seen.is_timeout
            or seen.fault
            or seen.doubt
            or seen.exit is None
            or (seen.expects_report and seen.report is None)
        ):
            return None
        baseline = BaseReport(exit=seen.exit, report=seen.report)
        self._baselines.put(key, baseline)
        return baseline

    async def _run_base_tests(self, subject: CheckSubject, course: CheckCourse) -> None:
        tests = select_tests(subject.changes, subject.check)

        async def put_back(room: CheckRoom) -> None:
            await lay_tests_over(room, tests, source=subject.base, is_back=True)

        stage, paths = "running the base's tests on the new code", [one.path for one in tests]
        seen = await self._runs.run(subject, stage, subject.commit, change=put_back, laid_over=paths)
        course.logs.append(("the base's tests on the new code", seen.log))
        course.findings += compare_base_tests(course.base_report, seen.run)

    async def _run_new_tests_on_base(self, subject: CheckSubject, course: CheckCourse) -> None:
        if not any(one.status != "D" for one in subject.changes):
            course.judged = _NO_BUG_SHOWN
            return

        tests = select_tests(subject.changes, subject.check)

        async def bring_tests(room: CheckRoom) -> None:
            await lay_tests_over(room, tests, source=subject.commit, is_back=False)

        stage, paths = "running the new tests on the base", [one.path for one in tests]
        seen = await self._runs.run(subject, stage, subject.base, change=bring_tests, laid_over=paths)
        course.logs.append(("the new tests on the base", seen.log))
        if not shows_bug(course.first.run, seen.run):
            course.judged = _NO_BUG_SHOWN


def _needs_base(run: CheckRun) -> bool:
    """Whether the base can say more: which tests should have run, and which failed before."""
    return run.report is not None and run.report.has_ids and not run.fault and not run.is_timeout
