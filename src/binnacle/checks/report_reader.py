"""Reads the report of one run. Its file is hostile: it may be a link, a pipe, or larger than memory."""

from binnacle.checks.junit_report import parse_junit
from binnacle.checks.line_reports import parse_cargo, parse_go, parse_jest, parse_tap, parse_unittest
from binnacle.checks.read_bounded import read_bounded
from binnacle.checks.report_files import read_reports
from binnacle.checks.report_options import ReportRequest
from binnacle.work.verdict import TestReport

MAX_REPORT_BYTES = 64 << 20


def read_report(request: ReportRequest, output: str, *, root: str) -> TestReport | None:
    """The report of a run that printed `output` in the checkout at `root`; None if it wrote none.

    Raises:
        BadReport: what it wrote is not a complete report.
    """
    if request.written:
        return read_reports(root, request.written)
    if request.file:
        data = read_bounded(request.file, most=MAX_REPORT_BYTES)
        if data is None:
            return None
        return parse_jest(data, root=root) if request.format == "jest" else parse_junit(data, root=root)
    parsers = {"go": parse_go, "cargo": parse_cargo, "unittest": parse_unittest, "tap": parse_tap}
    return parsers[request.format](output) if request.format in parsers else None
