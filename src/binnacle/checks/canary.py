"""Tests of ours that run among those of the project, to see whether the runner tells the truth.

For pytest, a plugin that is given from outside adds a few tests, some of which must pass and some of which must fail;
names and results are chosen by chance for each run, and they stand next to the project's tests. Code under test that
marks everything as passed, drops tests, or writes a report of its own gets them wrong. Code that knows the plugin can
evade it, because the process is the same. So the findings of `work.gaming` stand beside it, and the base's own tests.

The plugin takes the canaries out of the exit code and out of the printed summary, and writes down which modules were
loaded, and which files were opened, in the person's folder instead of the checkout.
"""

import os
import secrets
from contextlib import suppress
from typing import NamedTuple

from binnacle.config.private_files import make_private_folder
from binnacle.work.verdict import TestReport

_CANARIES = 4
_MAX_ELSEWHERE_BYTES = 4000

_BODIES = {True: "raise AssertionError", False: "pass"}
_PLUGIN = """\
import os
import pathlib
import sys

import pytest

FOLDER, FILES, MODULES, REPO, TREE, ELSEWHERE = {values!r}
TESTS = {{name for name, text in MODULES}}
OTHERS = tuple(os.path.realpath(one) + os.sep for one in {{sys.prefix, sys.base_prefix, TREE, REPO + os.sep + ".git"}})
sessions = []
opened = set()


def note_open(event, values):
    if event == "open" and isinstance(values[0], str) and REPO in values[0] and len(opened) < 5:
        path = os.path.abspath(values[0])
        if path.startswith(REPO + os.sep) and not path.startswith(OTHERS) and "-packages" not in path:
            opened.add(path)


sys.addaudithook(note_open)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    sessions.append(session)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session, config, items):
    yield
    if config.option.collectonly:
        return
    # Next to the project's own tests, so that its conftest files apply to them as to any other.
    places = sorted({{str(item.path.parent) for item in items if str(item.path).startswith(TREE + os.sep)}})
    for number, (name, text) in enumerate(MODULES):
        path = write_module(places[number % len(places)] if places else FOLDER, FILES[number], text)
        items.extend(session.genitems(pytest.Module.from_parent(session, path=path)))


def write_module(place, name, text):
    path = pathlib.Path(place, name + ".py")
    part = path.with_suffix("." + str(os.getpid()))
    part.write_text(text)
    os.replace(part, path)  # several workers may write it at once
    return path


def pytest_ignore_collect(collection_path):
    return True if collection_path.stem in FILES else None


def is_ours(report):
    return report.nodeid.rpartition("::")[2] in TESTS


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.failed and is_ours(report) and sessions:
        sessions[0].testsfailed -= 1


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report):
    if is_ours(report):
        return "", "", ""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    found = list(opened)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.startswith(REPO + os.sep) or file.startswith(TREE + os.sep):
            continue
        if "site-packages" not in file and "dist-packages" not in file:
            found.append(file)
    if found:
        with open(ELSEWHERE, "a", encoding="utf-8", errors="replace") as out:
            out.write("\\n".join(sorted(set(found))[:5]) + "\\n")
"""


class PytestCanary(NamedTuple):
    """The canaries of one run."""

    folder: str
    """Has the plugin; goes into `PYTHONPATH`."""

    plugin: str
    passing: frozenset[str]
    failing: frozenset[str]
    files: tuple[str, ...]
    """Names of the files with our tests; by chance, so that nothing else is called like that."""

    elsewhere: str
    """The file for what was used of the person's folder."""


def write_canary(outside: str, *, repo: str, tree: str) -> PytestCanary:
    """Writes the plugin and its tests into a new folder in `outside`."""
    folder = os.path.join(outside, f"bn-{secrets.token_hex(4)}")
    make_private_folder(folder)
    plugin = f"bn_{secrets.token_hex(6)}"
    names = [f"test_{secrets.token_hex(6)}" for _ in range(_CANARIES)]
    failing = frozenset(name for name in names[1:-1] if secrets.randbelow(2)) | {names[-1]}
    modules = tuple((name, f"def {name}():\n    {_BODIES[name in failing]}\n") for name in names)
    elsewhere = os.path.join(folder, f"{secrets.token_hex(6)}.txt")
    files = tuple(f"bn-{secrets.token_hex(6)}" for _ in names)
    values = (folder, files, modules, os.path.realpath(repo), os.path.realpath(tree), elsewhere)
    with open(os.path.join(folder, f"{plugin}.py"), "w", encoding="utf-8") as file:
        file.write(_PLUGIN.format(values=values))
    return PytestCanary(folder, plugin, frozenset(names) - failing, failing, files, elsewhere)


def check_canary(canary: PytestCanary, report: TestReport) -> tuple[TestReport, str]:
    """The report without the canaries, and what was wrong with them; empty if nothing was."""
    ours = canary.passing | canary.failing
    by_name = {
        result: {_name(one) for one in ids} & ours
        for result, ids in (("passed", report.passed), ("failed", report.failed), ("skipped", report.skipped))
    }
    plain = TestReport(
        format=report.format,
        passed=tuple(one for one in report.passed if _name(one) not in ours),
        failed=tuple(one for one in report.failed if _name(one) not in ours),
        skipped=tuple(one for one in report.skipped if _name(one) not in ours),
    )
    return plain, _find_fault(canary, by_name, plain)


def _find_fault(canary: PytestCanary, by_name: dict[str, set[str]], plain: TestReport) -> str:
    changed = "the code under test changed the test runner"
    if by_name["passed"] & canary.failing:
        return f"{changed}: a test that must fail was reported as passed"
    if by_name["skipped"]:
        return f"{changed}: a test that must run was skipped"
    seen = by_name["passed"] | by_name["failed"]
    # After an error of collection pytest runs nothing, and reports the error.
    if canary.passing | canary.failing != seen and (seen or not plain.failed):
        return f"{changed}: the report lacks tests that must be in it"
    return ""


def find_elsewhere(canary: PytestCanary) -> list[str]:
    """Files of the person's folder that were used instead of those of the checkout."""
    with suppress(OSError), open(canary.elsewhere, encoding="utf-8", errors="replace") as file:
        return sorted(set(file.read(_MAX_ELSEWHERE_BYTES).split("\n")) - {""})
    return []


def _name(test_id: str) -> str:
    return test_id.rpartition("::")[2]
