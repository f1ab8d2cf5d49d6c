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

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import nullcontext

from msgspec import Struct
from msgspec.structs import replace

from binnacle.checks.baselines import BaselineCache, BaselineKey, BaseReport, remove_oldest
from binnacle.checks.bounded_log import BoundedLog
from binnacle.checks.canary import PytestCanary, check_canary, find_elsewhere, write_canary
from binnacle.checks.change_files import CommitChange, changes_tests, lay_tests_over, list_changes
from binnacle.checks.check_environment import CheckEnvironment, describe_environment, machine_name
from binnacle.checks.check_process import ProcessEnd, run_bounded
from binnacle.checks.clean_checkout import CheckRoom
from binnacle.checks.exclusive_lock import hold_exclusively
from binnacle.checks.junit_report import BadReport
from binnacle.checks.line_reports import find_no_tests
from binnacle.checks.prepared_rooms import PreparedRooms
from binnacle.checks.report_options import ReportRequest, request_report
from binnacle.checks.report_reader import read_report
from binnacle.config.private_files import make_private_folder
from binnacle.errors import GitError
from binnacle.git.command import Git
from binnacle.processes.keeper import Keeper
from binnacle.work.check import Check
from binnacle.work.check_result import CheckResult
from binnacle.work.gaming import DEFAULT_PROTECTION, ChangeFinding, FindingKind, Protection, decide_policy, decision_on
from binnacle.work.verdict import (
    MAX_SHOWN_IDS,
    CheckRun,
    JudgedRun,
    TestReport,
    compare_with_base,
    decide_verdict,
    describe_exit,
    judge_two_runs,
)

MAX_LOGS = 1000
MAX_TEST_FINDINGS = 50

Tell = Callable[[str, str], None]
"""Called with the name of a check and what happens: a stage of its run, or the last line that it wrote."""


class _Subject(Struct, frozen=True, kw_only=True):
    """What one call is about."""

    check: Check
    commit: str
    tree: str
    base: str
    base_tree: str
    changes: Sequence[CommitChange]
    environment: CheckEnvironment

    @property
    def baseline_key(self) -> BaselineKey:
        return BaselineKey(self.base_tree, self.check.definition_hash, self.environment.hash)


class _SeenRun(Struct, frozen=True, kw_only=True):
    run: CheckRun
    log: BoundedLog
    seconds: float


class _Course(Struct, kw_only=True):
    """What was seen so far."""

    first: _SeenRun
    judged: JudgedRun
    logs: list[tuple[str, BoundedLog]]
    findings: list[ChangeFinding]
    flaky: tuple[str, ...] = ()
    base_report: TestReport | None = None


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
        self._repo = repo
        self._git = Git(repo)
        self._folder = folder
        self._keeper = keeper
        self._environ = environ
        self._baselines = baselines
        self._protection = protection
        self._tell: Tell = tell or (lambda _name, _what: None)
        self._rooms = PreparedRooms(repo=repo, folder=folder, run_setup=self._run_setup)

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
        subject = await self._look(check, commit, base)
        lock = hold_exclusively(self._folder, check.exclusive) if check.exclusive else nullcontext()
        async with lock:
            course = await self._follow(subject, is_bug=is_bug, quarantined=quarantined)
        return self._conclude(subject, course, time.monotonic() - began)

    async def _look(self, check: Check, commit: str, base: str) -> _Subject:
        commit_id, tree = await self._resolve(commit)
        base_id, base_tree = await self._resolve(base) if base else ("", "")
        programs = [*check.needs, check.words[0], *check.setup[:1]]
        return _Subject(
            check=check,
            commit=commit_id,
            tree=tree,
            base=base_id,
            base_tree=base_tree,
            changes=await list_changes(self._git, base_id, commit_id) if base_id and base_tree != tree else (),
            environment=await asyncio.to_thread(describe_environment, self._environ, programs),
        )

    async def _resolve(self, revision: str) -> tuple[str, str]:
        found = await self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if found.code or not found.line:
            raise GitError(f"no such commit: {revision}", hint="name a commit or a branch of this repository")
        commit = found.line.splitlines()[-1]
        return commit, (await self._git.ask("rev-parse", f"{commit}^{{tree}}")).line

    async def _follow(self, subject: _Subject, *, is_bug: bool, quarantined: Collection[str]) -> _Course:
        first = await self._run_once(subject, "running", subject.commit)
        course = _Course(first=first, judged=JudgedRun("fail"), logs=[("", first.log)], findings=[])
        if subject.base_tree and subject.base_tree != subject.tree and _needs_base(first.run):
            baseline = await self._find_baseline(subject)
            course.base_report = baseline.report if baseline else None
        course.judged = decide_verdict(first.run, base=course.base_report, quarantined=quarantined)
        if course.judged.verdict == "fail" and not first.run.is_tampered:
            await self._run_again(subject, course, quarantined)
        if first.run.report is not None:
            self._add_missing(first.run.report, course)
        if course.judged.verdict == "pass" and changes_tests(subject.changes):
            await self._run_base_tests(subject, course)
        if course.judged.verdict == "pass" and is_bug:
            await self._run_new_tests_on_base(subject, course)
        return course

    async def _run_again(self, subject: _Subject, course: _Course, quarantined: Collection[str]) -> None:
        second = await self._run_once(subject, "running it once more", subject.commit)
        judged = decide_verdict(second.run, base=course.base_report, quarantined=quarantined)
        course.judged = judge_two_runs(course.judged, judged)
        course.logs.append(("the second run", second.log))
        if course.first.run.report is not None and second.run.report is not None:
            passed = frozenset(second.run.report.passed)
            course.flaky = tuple(one for one in course.first.run.report.failed if one in passed)

    async def _find_baseline(self, subject: _Subject) -> BaseReport | None:
        known = self._baselines.get(subject.baseline_key)
        if known is not None:
            return known
        seen = (await self._run_once(subject, "running it on the base", subject.base)).run
        if seen.is_timeout or seen.fault or seen.exit is None or (seen.expects_report and seen.report is None):
            return None
        baseline = BaseReport(exit=seen.exit, report=seen.report)
        self._baselines.put(subject.baseline_key, baseline)
        return baseline

    def _add_missing(self, report: TestReport, course: _Course) -> None:
        compared = compare_with_base(report, course.base_report)
        course.findings += _name_tests("test_not_run", compared.not_run, "it passed on the base and did not run")
        course.findings += _name_tests("test_skipped", compared.newly_skipped, "it passed on the base and was skipped")

    async def _run_base_tests(self, subject: _Subject, course: _Course) -> None:
        async def put_back(room: CheckRoom) -> None:
            await lay_tests_over(room, subject.changes, source=subject.base, is_back=True)

        seen = await self._run_once(subject, "running the base's tests on the new code", subject.commit, put_back)
        course.logs.append(("the base's tests on the new code", seen.log))
        course.findings += _compare_base_tests(course.base_report, seen.run)

    async def _run_new_tests_on_base(self, subject: _Subject, course: _Course) -> None:
        if not any(status != "D" for _, status in subject.changes):
            course.judged = JudgedRun("fail", "it is a bug, and no test of this change fails on the base")
            return

        async def bring_tests(room: CheckRoom) -> None:
            await lay_tests_over(room, subject.changes, source=subject.commit, is_back=False)

        seen = await self._run_once(subject, "running the new tests on the base", subject.base, bring_tests)
        course.logs.append(("the new tests on the base", seen.log))
        if not _shows_bug(course.first.run, seen.run):
            course.judged = JudgedRun("fail", "it is a bug, and no test of this change fails on the base")

    async def _run_once(
        self,
        subject: _Subject,
        stage: str,
        commit: str,
        change: Callable[[CheckRoom], Awaitable[None]] | None = None,
    ) -> _SeenRun:
        """One run of the check on a commit, in a checkout that `change` may alter first."""
        check = subject.check
        log = BoundedLog(lambda line: self._tell(check.name, line))
        self._tell(check.name, stage)
        missing = [
            one for one in check.needs if shutil.which(one, path=subject.environment.variables.get("PATH")) is None
        ]
        if missing:
            return _never_ran(f"a program that it needs is missing: {', '.join(missing)}", log)
        async with self._rooms.open(check, commit, environment=subject.environment, log=log) as opened:
            if opened.fault:
                return _never_ran(opened.fault, log)
            if change is not None:
                await change(opened.room)
            return await self._run_in(subject, opened.room, log)

    async def _run_in(self, subject: _Subject, room: CheckRoom, log: BoundedLog) -> _SeenRun:
        check = subject.check
        env = subject.environment.variables_in(room)
        canary = write_canary(room.outside, repo=self._repo, tree=room.tree)
        file = os.path.join(room.outside, f"{secrets.token_hex(8)}.report")
        request = request_report(check.words, file=file, plugin=canary.plugin, plugin_folder=canary.folder)
        if request.takes_canary:
            env["PYTHONPATH"] = canary.folder
        end = await run_bounded(
            self._keeper,
            request.words,
            cwd=room.tree,
            env=env,
            timeout=check.timeout,
            log=log,
            memory=check.memory << 20,
        )
        run = await asyncio.to_thread(_observe, end, request, canary, log, room.tree, check)
        return _SeenRun(run=run, log=log, seconds=end.seconds)

    async def _run_setup(self, check: Check, room: CheckRoom, environment: CheckEnvironment, log: BoundedLog) -> str:
        """Prepares a checkout. Returns why that failed; empty if it did not."""
        self._tell(check.name, "preparing the checkout")
        end = await run_bounded(
            self._keeper, check.setup, cwd=room.tree, env=environment.variables_in(room), timeout=check.timeout, log=log
        )
        if end.is_timeout:
            return f"its setup took longer than {check.timeout:g} s"
        if end.fault or end.exit:
            return f"its setup failed: {end.fault or describe_exit(end.exit)}"
        return ""

    def _conclude(self, subject: _Subject, course: _Course, seconds: float) -> CheckResult:
        run, findings = course.first.run, tuple(course.findings[: 2 * MAX_TEST_FINDINGS])
        decision = decide_policy(findings, self._protection)
        judged = course.judged
        if judged.verdict == "pass" and decision == "refuse":
            judged = JudgedRun("fail", _describe_refused(findings, self._protection))
        report = run.report
        compared = compare_with_base(report, course.base_report) if report else None
        return CheckResult(
            check=subject.check.name,
            definition=subject.check.definition_hash,
            commit=subject.commit,
            tree=subject.tree,
            base=subject.base,
            environment=subject.environment.hash,
            environment_summary=subject.environment.summary,
            verdict=judged.verdict,
            reason=judged.reason,
            exit=run.exit,
            ran=report.ran if report else None,
            passed=report.passed if report else (),
            failed=report.failed[:MAX_SHOWN_IDS] if report else (),
            new_failed=compared.new_failed[:MAX_SHOWN_IDS] if compared else (),
            old_failed=compared.old_failed[:MAX_SHOWN_IDS] if compared else (),
            flaky=course.flaky[:MAX_SHOWN_IDS],
            findings=findings,
            decision=decision,
            seconds=round(seconds, 3),
            log=self._save_logs(subject.check.name, course.logs),
            log_bytes=sum(log.size for _, log in course.logs),
            log_excerpt=_excerpt(course),
            machine=machine_name(),
        )

    def _save_logs(self, name: str, logs: Sequence[tuple[str, BoundedLog]]) -> str:
        folder = os.path.join(self._folder, "logs")
        make_private_folder(folder)
        path = os.path.join(folder, f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.log")
        whole = BoundedLog()
        for heading, log in logs:
            whole.write(f"\n=== {heading} ===\n".encode() if heading else b"")
            whole.write(log.content)
        whole.save(path)
        remove_oldest(folder, keep=MAX_LOGS)
        return path


def _needs_base(run: CheckRun) -> bool:
    """Whether the base can say more: which tests should have run, and which failed before."""
    return run.report is not None and run.report.has_ids and not run.fault and not run.is_timeout


def _never_ran(fault: str, log: BoundedLog) -> _SeenRun:
    return _SeenRun(run=CheckRun(fault=fault), log=log, seconds=0.0)


def _observe(
    end: ProcessEnd, request: ReportRequest, canary: PytestCanary, log: BoundedLog, tree: str, check: Check
) -> CheckRun:
    """What was seen of a run, from outside."""
    seen = CheckRun(exit=end.exit, fault=end.fault, expects_report=request.format is not None)
    if end.fault:
        return seen
    if end.is_timeout:
        return replace(seen, is_timeout=True, fault=f"it took longer than {check.timeout:g} s and was ended")
    output = log.text
    seen = replace(seen, no_tests=find_no_tests(output))
    try:
        report = read_report(request, output, root=tree)
    except BadReport as error:
        return replace(seen, fault=f"{describe_exit(end.exit)}, and {error}")
    if report is None or not request.takes_canary:
        return replace(seen, report=report)
    return _check_pytest(replace(seen, report=report), canary, report)


def _check_pytest(seen: CheckRun, canary: PytestCanary, report: TestReport) -> CheckRun:
    plain, wrong = check_canary(canary, report)
    if wrong and not plain.failed and seen.exit not in {0, 1}:
        return replace(seen, report=plain, fault=f"pytest ended early: {describe_exit(seen.exit)}")
    if wrong:
        return replace(seen, report=plain, fault=wrong, is_tampered=True)
    if elsewhere := find_elsewhere(canary):
        fault = f"the tests loaded code from outside of the checkout: {elsewhere[0]}; install the project in its setup"
        return replace(seen, report=plain, fault=fault)
    return replace(seen, report=plain)


def _compare_base_tests(base: TestReport | None, run: CheckRun) -> list[ChangeFinding]:
    """What the base's tests say about the new code."""
    if run.report is None or not run.report.has_ids or base is None:
        if run.exit == 0 and not run.fault:
            return []
        return [ChangeFinding(kind="base_test_fails", path="", text=run.fault or describe_exit(run.exit))]
    passed, failed = frozenset(run.report.passed), frozenset(run.report.failed)
    return [
        *_name_tests(
            "base_test_fails", [one for one in base.passed if one in failed], "as it is on the base, it fails"
        ),
        *_name_tests(
            "test_not_run",
            [one for one in base.passed if one not in failed and one not in passed],
            "as it is on the base, it does not run on the new code",
        ),
    ]


def _shows_bug(now: CheckRun, before: CheckRun) -> bool:
    """Whether a test that passes now fails without the change."""
    if now.report is None or before.report is None or not now.report.has_ids:
        return before.exit not in {0, None} and not before.fault
    passed = frozenset(now.report.passed)
    on_base = frozenset(before.report.passed)
    # A test whose module cannot even be loaded without the change has failed there.
    is_broken = bool(frozenset(before.report.failed) - passed)
    return any(one in passed for one in before.report.failed) or (is_broken and bool(passed - on_base))


def _name_tests(kind: FindingKind, ids: Sequence[str], text: str) -> list[ChangeFinding]:
    return [ChangeFinding(kind=kind, path=one, text=text) for one in ids[:MAX_TEST_FINDINGS]]


def _describe_refused(findings: Sequence[ChangeFinding], protection: Protection) -> str:
    refused = [one for one in findings if decision_on(one, protection) == "refuse"]
    more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
    return f"{refused[0].path}: {refused[0].text}{more}"


def _excerpt(course: _Course) -> str:
    """The end of the log that explains the verdict."""
    return course.logs[-1][1].excerpt() if course.judged.verdict != "pass" or course.findings else ""
