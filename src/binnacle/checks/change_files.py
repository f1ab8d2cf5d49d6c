"""The files of a change, as git has them, and how tests of one commit are laid over the tree of another."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from binnacle.checks.check_programs import is_run_by
from binnacle.checks.clean_checkout import CheckRoom
from binnacle.git.command import Git
from binnacle.work.check import Check
from binnacle.work.gaming import MAX_FILE_CHARACTERS, ChangedFile, belongs_to_tests, classify_path, is_test_module

MAX_MEASURED_FILES = 2000
"""Files of a change whose content is read. That others changed is still seen, if they are protected."""


LINK_MODE = "120000"
"""What git calls a symbolic link."""


class CommitChange(NamedTuple):
    """That a file differs between two commits."""

    path: str
    status: str
    """`A`, `D`, or `M` for anything else, as git calls it."""

    is_link: bool = False
    """Whether it is a symbolic link now."""


async def list_changes(git: Git, base: str, commit: str) -> list[CommitChange]:
    """The files that differ between two commits. A rename is a removal and an addition."""
    names = (await git.ask("diff", "--raw", "--no-renames", "-z", "--no-ext-diff", base, commit)).names
    found = [(about.split(), path) for about, path in zip(names[::2], names[1::2], strict=True)]
    return [CommitChange(path, about[-1][:1], about[1] == LINK_MODE) for about, path in found]


async def read_changes(git: Git, base: str, commit: str) -> list[ChangedFile]:
    """The files of a change with their text, as far as it is measured."""
    changes = await list_changes(git, base, commit)
    measured = sorted(changes, key=lambda one: classify_path(one.path) is None)[:MAX_MEASURED_FILES]
    found = []
    for path, status, is_link in measured:
        before = await _read(git, base, path) if status != "A" else None
        after = await _read(git, commit, path) if status != "D" else None
        is_added, is_removed = status == "A", status == "D"
        found.append(
            ChangedFile(
                path=path, before=before, after=after, is_added=is_added, is_removed=is_removed, is_link=is_link
            )
        )
    return found


async def _read(git: Git, commit: str, path: str) -> str | None:
    """The text of a file in a commit; None if it is not text, or too long."""
    name = f"{commit}:{path}"
    size = await git.run("cat-file", "-s", name)
    if size.code or int(size.line or 0) > MAX_FILE_CHARACTERS:
        return None
    found = await git.run("cat-file", "blob", name)
    with suppress(UnicodeDecodeError):
        return found.out.decode() if found.code == 0 else None  # a commit of another repository is no text
    return None


def changes_tests(changes: Sequence[CommitChange], check: Check) -> bool:
    """Whether a change touches tests that were there, or what they load or what runs them. New tests change nothing."""
    return any(
        is_run_by(check, path) or (belongs_to_tests(path) and (status != "A" or not is_test_module(path)))
        for path, status, _ in changes
    )


def select_tests(changes: Sequence[CommitChange], check: Check) -> list[CommitChange]:
    """Those changes of a check's tests, and of what runs them."""
    return [one for one in changes if belongs_to_tests(one.path) or is_run_by(check, one.path)]


async def lay_tests_over(room: CheckRoom, tests: Sequence[CommitChange], *, source: str, is_back: bool) -> None:
    """Gives a checkout the tests of another commit.

    `is_back` if `source` is the base and the checkout has the change, so that what the change added goes.
    """
    gone = "A" if is_back else "D"
    for path, *_ in (one for one in tests if one.status == gone):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(room.tree, path))
    if kept := [path for path, status, _ in tests if status != gone]:
        await room.git.ask(
            "checkout", "--quiet", source, "--pathspec-from-file=-",
            "--pathspec-file-nul", given=b"\0".join(map(os.fsencode, kept)), variables={"GIT_LITERAL_PATHSPECS": "1"},
        )  # fmt: skip
