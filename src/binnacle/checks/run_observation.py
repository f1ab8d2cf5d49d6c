"""What was seen of one run of a check, from outside of its process: how it ended, what it reported, and whether its
test runner told the truth.
"""

from msgspec.structs import replace

from binnacle.checks.bounded_log import BoundedLog
from binnacle.checks.canary import PytestCanary, check_canary, find_elsewhere
from binnacle.checks.check_process import ProcessEnd
from binnacle.checks.junit_report import BadReport
from binnacle.checks.line_reports import find_no_tests
from binnacle.checks.report_options import ReportRequest
from binnacle.checks.report_reader import read_report
from binnacle.work.check import Check
from binnacle.work.verdict import CheckRun, TestReport, describe_exit


def observe_run(
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
        fault = f"the tests used files from outside of the checkout: {elsewhere[0]}; install the project in its setup"
        return replace(seen, report=plain, fault=fault)
    return replace(seen, report=plain)
