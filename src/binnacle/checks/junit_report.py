"""Reads JUnit XML as it is parsed, without building a tree. The file is hostile: the code under test may have written
it. There are no entities and no document types, and its size, depth and number of tests are bounded.
"""

from collections.abc import Iterator
from xml.parsers import expat

from binnacle.work.verdict import TestReport, make_report

MAX_DEPTH = 64
MAX_TESTS = 200_000
MAX_ID_CHARACTERS = 500

_RESULTS = {"failure": "failed", "error": "failed", "skipped": "skipped"}
_UNTOLD_CLASSES = frozenset(("", "test"))
"""Names of classes that say nothing: node writes `test` for all."""


class BadReport(ValueError):
    """A report that is not what its format says."""


def parse_junit(data: bytes, *, root: str = "") -> TestReport:
    """The report in `data`. Paths below `root`, the checkout, are told from there.

    Raises:
        BadReport: it is not complete, or not of this format.
    """
    reader = _JunitReader(root)
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise BadReport(f"the report is not XML: {error}") from error
    if not reader.is_junit:
        raise BadReport("the report has no test suites")
    return make_report("junit", reader.results)


class _JunitReader:
    def __init__(self, root: str) -> None:
        self.results: list[tuple[str, str]] = []
        self.is_junit = False
        self._root = f"{root.rstrip('/')}/" if root else ""
        self._path: list[str] = []
        self._suites: list[str] = []
        self._case = ""
        self._result = ""
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self.parser.buffer_text = False

    def _refuse(self, *_: object) -> None:
        raise BadReport("the report has a document type, which no test runner writes")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        if len(self._path) > MAX_DEPTH:
            raise BadReport("the report is nested too deeply")
        if name in {"testsuites", "testsuite"}:
            self.is_junit = True
            self._suites.append(self._shorten(attributes.get("name", "")))
        elif name == "testcase":
            self._case = "\n".join(self._describe(attributes))
            self._result = "passed"
        elif self._case and self._path[-2] == "testcase" and name in _RESULTS and self._result != "failed":
            self._result = _RESULTS[name]

    def _end(self, name: str) -> None:
        self._path.pop()
        if name in {"testsuites", "testsuite"}:
            self._suites.pop()
        elif name == "testcase" and self._case:
            if len(self.results) >= MAX_TESTS:
                raise BadReport(f"the report has more than {MAX_TESTS} tests")
            self.results.append((self._case, self._result))
            self._case = ""

    def _describe(self, attributes: dict[str, str]) -> Iterator[str]:
        name, class_name = (self._shorten(attributes.get(key, "")) for key in ("name", "classname"))
        if class_name not in _UNTOLD_CLASSES:
            yield f"{class_name}::{name}"
            return
        suites = [one for one in self._suites if one and one != "pytest"]
        file = self._shorten(attributes.get("file", ""))
        yield " > ".join(one for one in (file, *suites, name) if one) or "a test without a name"

    def _shorten(self, text: str) -> str:
        if self._root:
            text = text.replace(self._root, "")
        return " ".join(text.split())[:MAX_ID_CHARACTERS]
