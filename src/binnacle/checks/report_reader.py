"""Reads the report of one run. Its file is hostile: it may be a link, a pipe, or larger than memory."""

import os
import stat

from binnacle.checks.junit_report import BadReport, parse_junit
from binnacle.checks.line_reports import parse_cargo, parse_go, parse_jest, parse_tap, parse_unittest
from binnacle.checks.report_options import ReportRequest
from binnacle.work.verdict import TestReport

MAX_REPORT_BYTES = 64 << 20


def read_report(request: ReportRequest, output: str, *, root: str) -> TestReport | None:
    """The report of a run that printed `output` in the checkout at `root`; None if it wrote none.

    Raises:
        BadReport: what it wrote is not a complete report.
    """
    if request.file:
        data = _read_file(request.file)
        if data is None:
            return None
        return parse_jest(data, root=root) if request.format == "jest" else parse_junit(data, root=root)
    parsers = {"go": parse_go, "cargo": parse_cargo, "unittest": parse_unittest, "tap": parse_tap}
    return parsers[request.format](output) if request.format in parsers else None


def _read_file(path: str) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadReport(f"the report cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_REPORT_BYTES:
            raise BadReport(f"the report is not a file of at most {MAX_REPORT_BYTES >> 20} MiB")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(MAX_REPORT_BYTES)
    finally:
        os.close(handle)
