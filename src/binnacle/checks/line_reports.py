"""Reads what test runners print: the JSON of go and jest, TAP, and the text of cargo and unittest.

It is output of the code under test. A line that does not fit is not understood, and never counts as a test.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from binnacle.checks.junit_report import MAX_ID_CHARACTERS, MAX_TESTS, BadReport
from binnacle.work.verdict import TestReport, make_report

_CARGO_TEST = re.compile(r"test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<result>ok|FAILED|ignored)\b")
_CARGO_END = re.compile(r"test result: (?:ok|FAILED)\.")
_UNITTEST = re.compile(r"(?P<name>\w+ \([\w.]+\)).*? \.\.\. (?P<result>ok|FAIL|ERROR|skipped|expected failure)\b")
_UNITTEST_END = re.compile(r"Ran (?P<count>\d+) tests? in ")
_TAP_TEST = re.compile(r"(?P<indent> *)(?P<not>not )?ok\b(?: +\d+)?(?: +-)?(?P<name>[^#]*)(?:# *(?P<word>\w+))?")
_TAP_PLAN = re.compile(r"1\.\.(\d+)")

_NO_TESTS = (
    re.compile(r"no tests ran", re.IGNORECASE),
    re.compile(r"collected 0 items(?! *\/ *\d+ error)"),
    re.compile(r"\bRan 0 tests\b"),
    re.compile(r"\bNO TESTS RAN\b"),
    re.compile(r"\bNo tests? (?:files? )?(?:were )?found\b", re.IGNORECASE),
    re.compile(r"no test specified", re.IGNORECASE),
    re.compile(r"no tests to run", re.IGNORECASE),
    re.compile(r"^1\.\.0\b", re.MULTILINE),
    re.compile(r"\bTests:\s+0 total\b"),
    re.compile(r"^\s*# tests 0$|^ℹ tests 0$", re.MULTILINE),
)
"""What runners say when there was nothing to run. Exit code 0 with one of them is not a pass."""

_SOME_TESTS = re.compile(
    r"\b[1-9]\d* passed\b|\bRan [1-9]\d* tests?\b|^ok\b|test result: ok\. [1-9]|\b(?:ℹ|#) tests [1-9]", re.MULTILINE
)
"""What runners say when something ran, so that one empty package of many does not count as no tests."""


class _GoEvent(Struct):
    Action: str = ""
    Package: str = ""
    Test: str = ""


class _JestTest(Struct):
    fullName: str = ""  # noqa: N815 - jest's word
    status: str = ""


class _JestFile(Struct):
    name: str = ""
    status: str = ""
    assertionResults: list[_JestTest] = []  # noqa: N815 - jest's word


class _JestReport(Struct):
    testResults: list[_JestFile]  # noqa: N815 - jest's word


def find_no_tests(output: str) -> str:
    """The words by which a runner says that nothing ran; empty if it says nothing of that kind."""
    if _SOME_TESTS.search(output):
        return ""
    return next((match[0].strip() for pattern in _NO_TESTS if (match := pattern.search(output))), "")


def parse_go(output: str) -> TestReport:
    """What `go test -json` prints.

    Raises:
        BadReport: it has no event of a test or a package.
    """
    ended = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    results: list[tuple[str, str]] = []
    is_go = False
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            event = msgspec.json.decode(line, type=_GoEvent)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        is_go = is_go or bool(event.Package)
        result = ended.get(event.Action)
        # A package that failed without a test did not build, or ended early.
        if result and (event.Test or result == "failed"):
            results.append((f"{event.Package}/{event.Test}" if event.Test else event.Package, result))
    if not is_go:
        raise BadReport("go test printed no events")
    return make_report("go", _bounded(results))


def parse_jest(data: bytes, *, root: str = "") -> TestReport:
    """The JSON report of jest and vitest.

    Raises:
        BadReport: it is not of this format.
    """
    words = {"passed": "passed", "failed": "failed", "pending": "skipped", "skipped": "skipped", "todo": "skipped"}
    try:
        report = msgspec.json.decode(data, type=_JestReport)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadReport(f"the report is not the JSON of jest: {error}") from error
    results = []
    for file in report.testResults:
        place = file.name.removeprefix(f"{root.rstrip('/')}/") if root else file.name
        results += [(f"{place} > {one.fullName}", words.get(one.status, "skipped")) for one in file.assertionResults]
        if file.status == "failed" and not any(test.status == "failed" for test in file.assertionResults):
            results.append((place, "failed"))
    return make_report("jest", _bounded(results))


def parse_tap(output: str) -> TestReport:
    """The Test Anything Protocol.

    Raises:
        BadReport: there is no plan, so the runner did not come to its end.
    """
    results = []
    has_plan = False
    for line in output.splitlines():
        has_plan = has_plan or bool(_TAP_PLAN.match(line))
        match = _TAP_TEST.match(line)
        if match is None:
            continue
        word = (match["word"] or "").upper()
        result = "skipped" if word in {"SKIP", "TODO"} else "failed" if match["not"] else "passed"
        results.append((match["name"].strip() or line.strip(), result))
    if not has_plan:
        raise BadReport("TAP without a plan: the runner did not come to its end")
    return make_report("tap", _bounded(results))


def parse_cargo(output: str) -> TestReport:
    """What `cargo test` prints.

    Raises:
        BadReport: no suite came to its end.
    """
    words = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
    if not _CARGO_END.search(output):
        raise BadReport("no test suite came to its end")
    found = (_CARGO_TEST.match(line) for line in output.splitlines())
    return make_report("cargo", _bounded((one["name"], words[one["result"]]) for one in found if one))


def parse_unittest(output: str) -> TestReport:
    """What `unittest -v` prints, or how many it ran.

    Raises:
        BadReport: it did not come to its end.
    """
    words = {"ok": "passed", "expected failure": "passed", "skipped": "skipped"}
    if not (end := _UNITTEST_END.search(output)):
        raise BadReport("unittest did not come to its end")
    found = [match for line in output.splitlines() if (match := _UNITTEST.match(line))]
    if len(found) < int(end["count"]):
        return TestReport(format="unittest", counted=int(end["count"]))
    return make_report("unittest", _bounded((one["name"], words.get(one["result"], "failed")) for one in found))


def _bounded(results: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for number, (test_id, result) in enumerate(results):
        if number >= MAX_TESTS:
            raise BadReport(f"the report has more than {MAX_TESTS} tests")
        yield " ".join(test_id.split())[:MAX_ID_CHARACTERS], result
