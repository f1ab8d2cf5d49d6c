"""The result of a check, from what was seen of its runs. The log of all of them is one file."""

import os
import secrets
import time
from collections.abc import Collection, Sequence

from msgspec import Struct

from binnacle.checks.base_comparison import MAX_TEST_FINDINGS
from binnacle.checks.baselines import remove_oldest
from binnacle.checks.bounded_log import BoundedLog
from binnacle.checks.check_environment import machine_name
from binnacle.checks.check_subject import CheckSubject
from binnacle.checks.single_run import SeenRun
from binnacle.config.private_files import make_private_folder
from binnacle.work.check_result import CheckResult
from binnacle.work.gaming import ChangeFinding, Protection, decide_policy, decision_on
from binnacle.work.verdict import MAX_SHOWN_IDS, JudgedRun, TestComparison, TestReport, compare_with_base

MAX_LOGS = 1000


class CheckCourse(Struct, kw_only=True):
    """What was seen so far."""

    first: SeenRun
    judged: JudgedRun
    logs: list[tuple[str, BoundedLog]]
    """Each run's heading and output, in order."""

    findings: list[ChangeFinding]
    flaky: tuple[str, ...] = ()
    base_report: TestReport | None = None
    quarantined: Collection[str] = ()


def conclude(
    subject: CheckSubject, course: CheckCourse, *, seconds: float, folder: str, protection: Protection
) -> CheckResult:
    """The result, with its log written into `folder`."""
    run, findings = course.first.run, tuple(course.findings[: 2 * MAX_TEST_FINDINGS])
    decision = decide_policy(findings, protection)
    judged = course.judged
    if judged.verdict == "pass" and decision == "refuse":
        judged = JudgedRun("fail", _describe_refused(findings, protection))
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
        new_failed=_list_counting(compared, course.quarantined) if compared else (),
        old_failed=compared.old_failed[:MAX_SHOWN_IDS] if compared else (),
        flaky=course.flaky[:MAX_SHOWN_IDS],
        findings=findings,
        decision=decision,
        seconds=round(seconds, 3),
        log=_save_logs(folder, subject.check.name, course.logs),
        log_bytes=sum(log.size for _, log in course.logs),
        log_excerpt=_excerpt(course),
        machine=machine_name(),
    )


def _list_counting(compared: TestComparison, quarantined: Collection[str]) -> tuple[str, ...]:
    return tuple(one for one in compared.new_failed if one not in quarantined)[:MAX_SHOWN_IDS]


def _save_logs(folder: str, name: str, logs: Sequence[tuple[str, BoundedLog]]) -> str:
    make_private_folder(folder)
    path = os.path.join(folder, f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.log")
    complete = BoundedLog()
    for heading, log in logs:
        complete.write(f"\n=== {heading} ===\n".encode() if heading else b"")
        complete.write(log.content)
    complete.save(path)
    remove_oldest(folder, keep=MAX_LOGS)
    return path


def _describe_refused(findings: Sequence[ChangeFinding], protection: Protection) -> str:
    refused = [one for one in findings if decision_on(one, protection) == "refuse"]
    more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
    return f"{refused[0].path}: {refused[0].text}{more}"


def _excerpt(course: CheckCourse) -> str:
    """The end of the log that explains the verdict."""
    return course.logs[-1][1].excerpt() if course.judged.verdict != "pass" or course.findings else ""
