"""What agents ran themselves, and with which exit code: more than words, and less than a check.

Nobody knows on which files such a command ran, so it proves nothing. It is the difference between an agent that ran the
tests and one that says so. Which commands test something is told from their words. What is not recognized for certain
does not count: a pipe or `|| true` decides the exit code of a line, and `pytest --version` tests nothing.
"""

import os
import re
import shlex
from collections.abc import Iterable, Sequence

from msgspec import Struct

MAX_OBSERVED = 10
"""Commands that are kept for an attempt, the last ones."""

MAX_COMMAND_CHARACTERS = 200

_TESTERS = frozenset(
    ("pytest", "py.test", "unittest", "tox", "nox", "jest", "vitest", "mocha", "ctest", "rspec", "phpunit", "bats",
     "mypy", "pyright", "ruff", "flake8", "pylint", "eslint", "tsc", "pre-commit")
)  # fmt: skip
"""Programs that test something whatever their arguments are, but for `_TESTS_NOTHING`."""

_BUILDERS = frozenset(
    ("npm", "pnpm", "yarn", "bun", "deno", "go", "cargo", "make", "just", "task", "mvn", "gradle", "gradlew", "mvnw",
     "dotnet", "mix", "rake", "swift", "zig", "bazel", "node")
)  # fmt: skip
"""Programs that test something if an argument says so."""

_VERBS = frozenset(("test", "tests", "check", "lint", "vet", "clippy", "typecheck", "--test"))
_TESTS_NOTHING = frozenset(("--version", "--help", "-h", "--collect-only", "--co", "--list", "--dry-run"))
_LAUNCHERS = frozenset(
    ("uv", "uvx", "poetry", "pdm", "hatch", "pipenv", "rye", "npx", "bunx", "env", "time", "nice", "timeout",
     "xvfb-run", "run", "exec", "bundle", "-m", "-q")
)  # fmt: skip
_SHELLS = frozenset(("sh", "bash", "zsh", "dash"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*|\d+[smh]?", re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*")


class ObservedCommand(Struct, frozen=True):
    """A command that an agent ran, and how its client says that it ended."""

    command: str
    exit_code: int


def is_test_command(line: str) -> bool:
    """Whether a command line tests something, and its exit code says how that went."""
    try:
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        parts = _split(list(words))
    except ValueError:
        return False
    return any(_is_test(part) for part in parts)


def _split(words: Sequence[str]) -> list[list[str]]:
    """The commands of a line of which all have to succeed; none if it is another kind of line."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "&&":
            parts.append([])
        elif set(word) <= set("|;&()") and word:
            return []
        else:
            parts[-1].append(word)
    return parts


def _is_test(words: Sequence[str]) -> bool:
    if len(words) == 3 and os.path.basename(words[0]) in _SHELLS and re.fullmatch(r"-\w*c", words[1]):
        return is_test_command(words[2])
    for index, word in enumerate(words):
        name = os.path.basename(word)
        rest = words[index + 1 :]
        if name in _TESTERS:
            return _TESTS_NOTHING.isdisjoint(rest)
        if name in _BUILDERS:
            nothing = {*_TESTS_NOTHING, "-n"} if name == "make" else _TESTS_NOTHING
            return not _VERBS.isdisjoint(rest) and nothing.isdisjoint(rest)
        if not (name in _LAUNCHERS or _ASSIGNMENT.fullmatch(word) or _PYTHON.fullmatch(name)):
            return False
    return False


def has_passed(found: Iterable[ObservedCommand]) -> bool:
    """Whether something was tested, and nothing of it failed when it ran last."""
    codes = [one.exit_code for one in found]
    return bool(codes) and not any(codes)


def describe_observed(found: Iterable[ObservedCommand]) -> str:
    """What ran and how it ended, in a line: `pytest -q` ended with 0."""
    return ", ".join(f"`{one.command}` ended with {one.exit_code}" for one in found)
