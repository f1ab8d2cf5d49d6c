"""Measures what a change does to what is meant to judge it: tests, fixtures, CI, lint, coverage and lock files.

Nothing here can prove intent. A finding says what changed, where, and a person's policy says what follows: `allow`,
`ask` a person, or `refuse`. Input is the text of files before and after; it is hostile, and only read.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal, get_args

from msgspec import Struct

ProtectedKind = Literal["test", "fixture", "snapshot", "runner", "ci", "lint", "coverage", "lock", "binnacle"]

FindingKind = Literal[
    "test_removed", "test_skipped", "test_narrowed", "test_not_run", "threshold_lowered", "runner_patched",
    "outside_link", "fewer_assertions", "snapshot_rewritten", "base_test_fails", "ci_changed", "lint_changed",
    "coverage_changed", "lock_changed", "checks_changed", "fixture_changed", "test_changed", "test_added",
]  # fmt: skip

PolicyDecision = Literal["allow", "ask", "refuse"]
Protection = Mapping[FindingKind, PolicyDecision]

FINDING_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
_REFUSED: tuple[FindingKind, ...] = (
    "test_removed", "test_skipped", "test_narrowed", "test_not_run", "threshold_lowered", "runner_patched",
)  # fmt: skip
_ALLOWED: tuple[FindingKind, ...] = ("fixture_changed", "test_changed", "test_added")

DEFAULT_PROTECTION: Protection = {
    kind: "refuse" if kind in _REFUSED else "allow" if kind in _ALLOWED else "ask" for kind in FINDING_KINDS
}

MAX_FILE_CHARACTERS = 2 << 20
"""Longer files are not measured line by line; that they changed is still a finding."""

MAX_FINDINGS_PER_FILE = 20

_PATTERNS: tuple[tuple[ProtectedKind, tuple[str, ...]], ...] = (
    ("binnacle", (".binnacle/*",)),
    ("ci", (".github/workflows/*", ".github/actions/*", ".gitlab-ci.yml", ".circleci/*", "Jenkinsfile",
            "azure-pipelines.yml", ".travis.yml", ".buildkite/*", "bitbucket-pipelines.yml", ".woodpecker*",
            ".drone.yml")),
    ("lock", ("uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "package-lock.json", "npm-shrinkwrap.json",
              "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "Cargo.lock", "go.sum", "Gemfile.lock",
              "composer.lock", "mix.lock", "flake.lock", "requirements*.txt")),
    ("coverage", (".coveragerc", "codecov.yml", ".codecov.yml", ".nycrc*", ".c8rc*")),
    ("lint", (".eslintrc*", "eslint.config.*", ".eslintignore", "ruff.toml", ".ruff.toml", ".flake8", ".pylintrc",
              "mypy.ini", ".mypy.ini", "pyrightconfig.json", ".golangci.*", "clippy.toml", ".clippy.toml",
              "rustfmt.toml", "biome.json*", ".prettierrc*", ".pre-commit-config.yaml", ".editorconfig", ".semgrep*")),
    ("snapshot", ("*.snap", "*.ambr", "__snapshots__/*", "*.approved.*")),
    ("runner", ("conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "noxfile.py", "sitecustomize.py",
                "usercustomize.py", "jest.config.*", "vitest.config.*", "vitest.workspace.*", "playwright.config.*",
                "karma.conf.*", ".mocharc*")),
    ("fixture", ("fixtures/*", "testdata/*", "__fixtures__/*", "__mocks__/*")),
    ("test", ("tests/*", "test/*", "__tests__/*", "spec/*", "test_*.py", "*_test.py", "*_test.go", "*_test.exs",
              "*.test.*", "*.spec.*", "*_spec.rb", "*Test.java", "*Tests.cs", "*_test.rs", "test.py", "tests.py",
              "tests.rs")),
)  # fmt: skip
"""By file name, or from any folder of the path on. The first kind that matches counts."""

_MODULES = tuple(one for kind, patterns in _PATTERNS if kind == "test" for one in patterns if "/" not in one)

_TEST_NAME = re.compile(
    r"""^\s*(?:async\s+)?def\s+(test\w*)\s*\(
      | ^\s*(?:it|test)(?:\.\w+)*\s*\(\s*(["'`])(?P<title>.{1,300}?)\2
      | ^func\s+(?P<go>(?:Test|Fuzz|Example)\w*)\s*\(
      | ^\s*fn\s+(?P<rust>\w+)\s*\(""",
    re.VERBOSE,
)
_SKIP = re.compile(
    r"""pytest\.(?:mark\.)?(?:skip|xfail|importorskip)\b | \bmark\.(?:skip|xfail) | allow_module_level
      | unittest\.(?:skip|expectedFailure) | @(?:skip|skipIf|skipUnless|expectedFailure)\b | \bself\.skipTest\b
      | \braise\s+(?:unittest\.)?SkipTest | \b(?:it|test|describe)\.(?:skip|todo|fixme)\b
      | \b(?:xit|xdescribe|xtest)\s*\(
      | \bt\.Skip(?:f|Now)?\s*\( | \#\[ignore | \bskip\s*:\s*(?:true|["'`]) | @(?:Disabled|Ignore)\b""",
    re.VERBOSE,
)
_NARROWED = re.compile(
    r"""\b(?:it|test|describe)\.only\b | \b(?:fit|fdescribe)\s*\( | collect_ignore(?:_glob)?\b | --deselect | --ignore\b
      | --ignore-glob | pytest_ignore_collect | pytest_collection_modifyitems | \btestpaths\b | \bnorecursedirs\b
      | \bpython_(?:files|functions|classes)\b | \b__test__\s*=\s*False | testPathIgnorePatterns | testMatch\b
      | --passWithNoTests | passWithNoTests | \bcontinue-on-error\s*:\s*true | \|\|\s*true\b""",
    re.VERBOSE,
)
_ASSERTION = re.compile(
    r"""\bassert\b | \bself\.(?:assert|fail)\w* | \bpytest\.raises\b | \bexpect\s*\( | \bassert(?:\.\w+)*\s*\(
      | \bshould\. | \bt\.(?:Error|Fatal|Fail)\w*\s*\( | \brequire\.\w+\s*\( | \bassert(?:_\w+)?!\s*\( | \.should\b""",
    re.VERBOSE,
)
_RUNNER_PATCH = re.compile(
    r"""\b_pytest\b | \bpytest_(?:runtest|sessionfinish|report|exception|pyfunc_call|configure|cmdline|terminal)\w*
      | \bPYTEST_(?:CURRENT_TEST|ADDOPTS)\b
      | ["']pytest["']\s+in\s+sys\.modules | sys\.modules\[["'](?:_?pytest|unittest) | \bunittest\.(?:TestResult|case)\b
      | \bjunit[-_]?xml\b | \bxmlpath\b | \bNODE_TEST_CONTEXT\b | \bJEST_WORKER_ID\b | \bVITEST(?:_\w+)?\b
      | \bos\._exit\b | \btesting\.Testing\s*\( | \bprocess\.(?:reallyExit|binding)\b""",
    re.VERBOSE,
)
_RUNNER_OPTIONS = re.compile(r"""\baddopts\b | \bpytest_plugins\b | ^\s*["']?-p\b""", re.VERBOSE)
"""In settings of the product that a test runner reads, too: they may load code that changes what tests see."""

_THRESHOLD = re.compile(
    r"""(?P<name>fail[-_]under|min[-_]?coverage|coverageThreshold|\bthresholds?\b|--cov-fail-under|\bstatements|\bbranches
      |\blines|\bfunctions|min[-_]?score|minimum[-_]?coverage)["']?(?:\s*[=:]\s*|\s+)["']?(?P<value>\d+(?:\.\d+)?)""",
    re.VERBOSE | re.IGNORECASE,
)
_PRODUCT_TEXT = (".md", ".rst", ".txt", ".json", ".yaml", ".yml", ".toml", ".lock", ".cfg", ".ini", ".html", ".svg")
"""Endings of files that no runner executes."""


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A file of a change, before and after; None where it is not there or not text."""

    path: str
    before: str | None = None
    after: str | None = None
    is_added: bool = False
    is_removed: bool = False
    is_link: bool = False
    """Whether it is a symbolic link now; `after` is where it leads."""


class ChangeFinding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that a change does to what judges it."""

    kind: FindingKind
    path: str
    line: int = 0
    """In the file as it is now; 0 if it is about the file, or about lines that are gone."""

    text: str = ""
    """The line, or what was measured."""


def describe_finding(finding: ChangeFinding) -> str:
    """A finding in one line."""
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    return f"{finding.kind.replace('_', ' ')}: {place} {finding.text}".rstrip()


def classify_path(path: str) -> ProtectedKind | None:
    """Which kind of protected file a path is; None for the product's own."""
    parts = path.split("/")
    tails = ["/".join(parts[start:]) for start in range(len(parts))]
    for kind, patterns in _PATTERNS:
        for pattern in patterns:
            names = tails if "/" in pattern else parts[-1:]
            if any(fnmatchcase(name, pattern) for name in names):
                return kind
    return None


def is_test_module(path: str) -> bool:
    """Whether a runner finds tests in the file by its name, so that other tests do not load it."""
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in _MODULES)


def belongs_to_tests(path: str) -> bool:
    """Whether a file is laid over another commit's tree when that commit's tests are run."""
    return classify_path(path) in {"test", "fixture", "snapshot", "runner"}


def measure_change(files: Sequence[ChangedFile]) -> list[ChangeFinding]:
    """Everything that a change does to protected files, the gravest first."""
    found = [*_find_removed_tests(files)]
    for file in files:
        found += _measure_file(file)
    return sort_findings(found)


def sort_findings(findings: Iterable[ChangeFinding]) -> list[ChangeFinding]:
    """Findings, the gravest first, so that many small ones hide none."""
    return sorted(findings, key=lambda one: (FINDING_KINDS.index(one.kind), one.path, one.line))


def decide_policy(findings: Iterable[ChangeFinding], protection: Protection = DEFAULT_PROTECTION) -> PolicyDecision:
    """The strictest thing that the policy says to any of the findings."""
    order: tuple[PolicyDecision, ...] = ("allow", "ask", "refuse")
    said = (decision_on(one, protection) for one in findings)
    return max(said, key=order.index, default="allow")


def decision_on(finding: ChangeFinding, protection: Protection = DEFAULT_PROTECTION) -> PolicyDecision:
    """What the policy says to one finding."""
    return protection.get(finding.kind, DEFAULT_PROTECTION[finding.kind])


def _measure_file(file: ChangedFile) -> Iterator[ChangeFinding]:
    kind = classify_path(file.path)
    if file.is_link and _leads_outside(file):
        yield ChangeFinding(kind="outside_link", path=file.path, text=f"leads to {(file.after or '?')[:200]}")
    if kind is None:
        if not file.path.endswith(_PRODUCT_TEXT):
            yield from _find_new_lines(file, _RUNNER_PATCH, "runner_patched")
        elif file.path.rpartition("/")[2] in {"pyproject.toml", "setup.cfg", "package.json"}:
            yield from _measure_settings(file)
            yield from _find_new_lines(file, _RUNNER_OPTIONS, "checks_changed")
        return
    if kind in {"test", "runner", "fixture"}:
        yield from _measure_test(file, kind)
        return
    by_kind: dict[ProtectedKind, FindingKind] = {
        "binnacle": "checks_changed", "ci": "ci_changed", "lock": "lock_changed", "coverage": "coverage_changed",
        "lint": "lint_changed",
    }  # fmt: skip
    if kind == "snapshot":
        if not file.is_added:
            yield ChangeFinding(kind="snapshot_rewritten", path=file.path, text=_describe_fate(file))
        return
    yield ChangeFinding(kind=by_kind[kind], path=file.path, text=_describe_fate(file))
    yield from _measure_settings(file)


def _leads_outside(link: ChangedFile) -> bool:
    """Whether a link leaves the tree, so that what it stands for is in no commit."""
    if link.after is None or posixpath.isabs(link.after):
        return True
    return posixpath.normpath(posixpath.join(posixpath.dirname(link.path), link.after)).split("/")[0] == ".."


def _measure_settings(file: ChangedFile) -> Iterator[ChangeFinding]:
    yield from _find_lower_thresholds(file)
    yield from _find_new_lines(file, _NARROWED, "test_narrowed")


def _measure_test(file: ChangedFile, kind: ProtectedKind) -> Iterator[ChangeFinding]:
    fate: FindingKind = "fixture_changed" if kind == "fixture" else "test_added" if file.is_added else "test_changed"
    if not file.is_removed or kind == "fixture":
        yield ChangeFinding(kind=fate, path=file.path, text=_describe_fate(file))
    yield from _find_new_lines(file, _SKIP, "test_skipped")
    yield from _find_new_lines(file, _NARROWED, "test_narrowed")
    if kind == "runner" or file.path.endswith(".pth"):
        yield from _find_new_lines(file, _RUNNER_PATCH, "runner_patched")
    yield from _find_lower_thresholds(file)
    if not file.is_added and not file.is_removed:
        before, after = (len(_ASSERTION.findall(_bounded(text))) for text in (file.before, file.after))
        if after < before:
            yield ChangeFinding(kind="fewer_assertions", path=file.path, text=f"{before} before, {after} now")


def _find_removed_tests(files: Sequence[ChangedFile]) -> Iterator[ChangeFinding]:
    """Names of tests that no changed file has any more. One that moved to another file is not removed."""
    judged = [one for one in files if classify_path(one.path) == "test"]
    left = Counter(name for file in judged for name in _find_tests(file.path, file.after))
    for file in judged:
        names = _find_tests(file.path, file.before)
        gone = [name for name in names if left[name] == 0]
        for name in names:
            left[name] -= 1 if left[name] > 0 else 0
        if file.is_removed and not names and file.before:
            yield ChangeFinding(kind="test_removed", path=file.path, text="the file was removed")
        for name in gone[:MAX_FINDINGS_PER_FILE]:
            yield ChangeFinding(kind="test_removed", path=file.path, text=name)


def _find_tests(path: str, text: str | None) -> list[str]:
    found: list[str] = []
    is_rust = path.endswith(".rs")
    previous = ""
    for line in _bounded(text).splitlines():
        if match := _TEST_NAME.match(line):
            if match["rust"] is None:
                found.append(match[1] or match["title"] or match["go"])
            elif is_rust and "#[" in previous and "test" in previous:
                found.append(match["rust"])
        if line.strip():
            previous = line
    return found


def _find_new_lines(file: ChangedFile, pattern: re.Pattern[str], kind: FindingKind) -> Iterator[ChangeFinding]:
    """Lines with a pattern that were not there before, wherever they stood."""
    known = Counter(line.strip() for line in _bounded(file.before).splitlines() if pattern.search(line))
    count = 0
    for number, line in enumerate(_bounded(file.after).splitlines(), 1):
        words = line.strip()
        if not pattern.search(line[:2000]):
            continue
        if known[words] > 0:
            known[words] -= 1
        elif (count := count + 1) <= MAX_FINDINGS_PER_FILE:
            yield ChangeFinding(kind=kind, path=file.path, line=number, text=words[:200])


def _find_lower_thresholds(file: ChangedFile) -> Iterator[ChangeFinding]:
    if file.is_added:
        return
    before, after = (_find_thresholds(text) for text in (file.before, file.after))
    for name, values in before.items():
        now = after.get(name, [])
        if sum(now) < sum(values):
            shown = " ".join(f"{value:g}" for value in now) or "none"
            was = " ".join(f"{value:g}" for value in values)
            yield ChangeFinding(kind="threshold_lowered", path=file.path, text=f"{name}: {was} before, {shown} now")


def _find_thresholds(text: str | None) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for match in _THRESHOLD.finditer(_bounded(text)):
        found.setdefault(match["name"].lower().strip("-"), []).append(float(match["value"]))
    return found


def _describe_fate(file: ChangedFile) -> str:
    return "added" if file.is_added else "removed" if file.is_removed else "changed"


def _bounded(text: str | None) -> str:
    return text if text is not None and len(text) <= MAX_FILE_CHARACTERS else ""
