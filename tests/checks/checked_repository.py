"""A repository with a product, its tests, and branches on which agents did something; and what checks say to that."""

import asyncio
import json
import os
import shlex
import sys
from pathlib import Path

from binnacle.checks.baselines import BaselineFiles
from binnacle.checks.check_runner import CheckRunner
from binnacle.processes.keeper import Keeper
from binnacle.project.check_file import parse_check_file
from binnacle.work.check import Check
from binnacle.work.check_result import CheckResult
from binnacle.work.gaming import DEFAULT_PROTECTION
from runner.repositories import Repository

PYTEST = f"{shlex.quote(sys.executable)} -m pytest -q"
CART = "def total(prices):\n    return sum(prices)\n"
TESTS = """\
from cart import total


def test_total():
    assert total([1, 2]) == 3


def test_empty():
    assert total([]) == 0
"""
BROKEN_CART = "def total(prices):\n    return 7\n"


def make_check(command: str = PYTEST, **fields: object) -> Check:
    """A check as the file of a project has it."""
    lines = [f"    {name}: {value}" for name, value in {"timeout": 60, **fields}.items()]
    text = "\n".join(["checks:", "  - name: tests", f"    command: {json.dumps(command)}", *lines, ""])
    return parse_check_file(text, file="checks.yaml").checks[0]


class CheckedRepository:
    """The repository, and a folder for checkouts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repo = Repository.new(path / "repo", {"cart.py": CART, "tests/test_cart.py": TESTS})
        self.base = self.repo.git("rev-parse", "HEAD")
        self.folder = path / "checks"
        self.told: list[str] = []
        self.environ: dict[str, str] = {}

    def branch(self, files: dict[str, str | None]) -> str:
        """A commit on the base. A file that is None is removed."""
        self.repo.git("checkout", "--quiet", "-B", "work", self.base)
        for name in (name for name, text in files.items() if text is None):
            self.repo.git("rm", "--quiet", name)
        written = {name: text for name, text in files.items() if text is not None}
        self.repo.write(written)
        self.repo.git("add", "--all")
        self.repo.git("commit", "--quiet", "--allow-empty", "-m", "work of an agent")
        return self.repo.git("rev-parse", "HEAD")

    def run(self, check: Check, commit: str, base: str | None = None, **options: object) -> CheckResult:
        return asyncio.run(asyncio.wait_for(self.run_async(check, commit, base, **options), 110))

    async def run_async(self, check: Check, commit: str, base: str | None = None, **options: object) -> CheckResult:
        protection = {**DEFAULT_PROTECTION, **options.pop("protect", {})}
        async with Keeper() as keeper:
            runner = CheckRunner(
                repo=str(self.repo.path),
                folder=str(self.folder),
                keeper=keeper,
                environ={**os.environ, **self.environ},
                baselines=BaselineFiles(str(self.folder / "baselines")),
                protection=protection,
                tell=lambda _name, what: self.told.append(what),
            )
            return await runner.run(check, commit, self.base if base is None else base, **options)

    def test(self, files: dict[str, str | None], command: str = PYTEST, **options: object) -> CheckResult:
        """What the check says to a change of the base."""
        return self.run(make_check(command), self.branch(files), **options)

    @property
    def rooms(self) -> list[str]:
        """What is left of checkouts."""
        return [name for name in os.listdir(self.folder) if name.startswith("room-")]
