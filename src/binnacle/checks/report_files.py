"""Reports that a command writes itself: JUnit XML in files of the checkout, where the definition of its check says.

The code under test can write such a file as well, and bring one along. So those that are there before the command
starts are removed, links are not followed, and a bad exit code counts whatever a report says.
"""

import os
from collections.abc import Iterator

from binnacle.checks.junit_report import BadReport, parse_junit
from binnacle.checks.read_bounded import read_bounded
from binnacle.work.review_policy import matches_path
from binnacle.work.verdict import TestReport, make_report

MAX_FILES = 5000
"""Files with reports of one run. Some runners write one for each class of tests."""

MAX_BYTES = 64 << 20
_WILD = "*?"


def remove_reports(tree: str, pattern: str) -> None:
    """Removes what is there already: it says nothing about the run that begins.

    Raises:
        OSError: one cannot be removed.
    """
    for path in list(_list_files(tree, pattern)):
        os.unlink(path)


def read_reports(tree: str, pattern: str) -> TestReport | None:
    """What all files of the pattern say together; None if there is none.

    Raises:
        BadReport: one is not a complete report, or there are too many.
    """
    results: list[tuple[str, str]] = []
    size = 0
    for number, path in enumerate(_list_files(tree, pattern)):
        data = read_bounded(path, most=MAX_BYTES - size) or b""
        size += len(data)
        if number >= MAX_FILES:
            raise BadReport(f"there are more than {MAX_FILES} files with reports")
        found = parse_junit(data, root=tree)
        for result, ids in (("passed", found.passed), ("failed", found.failed), ("skipped", found.skipped)):
            results += [(one, result) for one in ids]
    return make_report("junit", results) if size else None


def _list_files(tree: str, pattern: str) -> Iterator[str]:
    """The files of a pattern, in order. Folders that are links are left out."""
    parts = pattern.rstrip("/").split("/")
    plain = next((index for index, part in enumerate(parts) if any(sign in part for sign in _WILD)), len(parts) - 1)
    start = os.path.join(tree, *parts[:plain])
    if os.path.realpath(start) != os.path.join(os.path.realpath(tree), *parts[:plain]):
        return
    for folder, folders, files in os.walk(start):
        folders[:] = sorted(one for one in folders if one != ".git")
        for name in sorted(files):
            path = os.path.join(folder, name)
            if matches_path(os.path.relpath(path, tree), [pattern]):
                yield path
