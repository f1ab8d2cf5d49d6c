"""Runs tests with the Python of the project, and reads from the output what failed where."""

import contextlib
import json
import os
import re
import sys
from collections.abc import Sequence

from msgspec import Struct

from binnacle.processes.keeper import Keeper
from scripted_agent.candidates import functions
from scripted_agent.code_edits import read
from scripted_agent.commands import Ended, run

TRIALS = """
import json, os, signal, sys
import pytest
file, test, *flags = sys.argv[1:]
for number, text in enumerate(json.load(sys.stdin)):
    child = os.fork()
    if not child:
        signal.alarm(10)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)
        os._exit(pytest.main([test, "-q", *flags]))
    if os.waitpid(child, 0)[1] == 0:
        print(number, flush=True)
        break
"""
"""Runs a test with one text of a file after the other, in children of a process that has pytest loaded already."""

HAS_PYTEST = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"
TRIALS_TIMEOUT_SECONDS = 300.0
_TEST = re.compile(r"[\w./-]*\btest_?\w*\.py(?:::\w+)*|\btest_\w+\b")
_FRAME = re.compile(r"^(\S+\.py):(\d+): in (\S+)", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::\S+)?)", re.MULTILINE)
_SAID = re.compile(r"^E\s+(.*\S)", re.MULTILINE)


class Frame(Struct, frozen=True):
    """A place in a traceback."""

    path: str
    line: int
    name: str


class Failure(Struct, frozen=True, kw_only=True):
    """A test that failed."""

    test: str
    """As pytest names it."""

    frames: tuple[Frame, ...]
    """From the test inwards."""

    message: str


class Python:
    """The project's Python, and its tests."""

    def __init__(self, keeper: Keeper, folder: str) -> None:
        self._keeper = keeper
        self._folder = folder
        self._python = ""

    async def tests(self, *names: str, copy: str = "") -> Ended:
        """Runs tests, all without a name, in the project or a copy of it. It leaves no cache and no compiled code."""
        words = [
            await self._found(),
            "-m",
            "pytest",
            "-q",
            "--tb=short",
            "--color=no",
            "-rfE",
            "-p",
            "no:cacheprovider",
        ]
        return await run(self._keeper, [*words, *names], folder=copy or self._folder, env=_environment(copy))

    async def first_to_pass(self, test: str, path: str, texts: Sequence[str], *, copy: str) -> int | None:
        """Which text of a file in a copy of the project makes a test pass first."""
        words = [await self._found(), "-c", TRIALS, os.path.join(copy, path), test, "-p", "no:cacheprovider"]
        given = json.dumps(texts).encode()
        env = _environment(copy)
        ended = await run(self._keeper, words, folder=copy, env=env, given=given, within=TRIALS_TIMEOUT_SECONDS)
        return int(ended.output.split()[-1]) if ended.is_good and ended.output.strip() else None

    async def _found(self) -> str:
        """The Python that has pytest: of the project's environment, of the active one, or the one that runs this."""
        if not self._python:
            homes = [os.path.join(self._folder, name) for name in (".venv", "venv")] + [
                os.environ.get("VIRTUAL_ENV", "")
            ]
            known = [python for home in homes if home and os.path.exists(python := os.path.join(home, "bin", "python"))]
            for python in [*known, "python3"]:
                tried = await run(self._keeper, [python, "-c", HAS_PYTEST], folder=self._folder)
                if tried.is_good:
                    self._python = python
                    break
            else:
                self._python = sys.executable
        return self._python


def _environment(copy: str) -> dict[str, str]:
    found = {"PYTHONDONTWRITEBYTECODE": "1"}
    if copy:
        places = [copy, os.path.join(copy, "src"), os.environ.get("PYTHONPATH", "")]
        found["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    return found


def named_tests(text: str, folder: str) -> list[str]:
    """The tests that a text names, as pytest takes them; those that are not there are left out."""
    found: list[str] = []
    for word in dict.fromkeys(_TEST.findall(text)):
        path = word.split("::")[0]
        if path.endswith(".py"):
            found += [word] if os.path.isfile(os.path.join(folder, path)) else []
        elif not any(word in one.split("::") for one in found):
            found += _defining(word, folder)
    return [one for one in dict.fromkeys(found) if not any(other.startswith(f"{one}::") for other in found)]


def failures_in(output: str) -> list[Failure]:
    """What failed, in order."""
    sections = re.split(r"^_{3,} (?:ERROR (?:at \w+ of |collecting ))?(\S.*?) _{3,}$", output, flags=re.MULTILINE)
    names = _FAILED.findall(output)
    found: list[Failure] = []
    for name, body in zip(sections[1::2], sections[2::2], strict=True):
        body = body.split("short test summary info")[0]  # noqa: PLW2901 - the last one has it at its end
        frames = tuple(Frame(path, int(line), where) for path, line, where in _FRAME.findall(body))
        wanted = name.replace(".", "::")
        test = next((one for one in names if one.endswith(f"::{wanted}") or one == name), "")
        said = _SAID.findall(body)
        found.append(Failure(test=test, frames=frames, message=said[0] if said else ""))
    return [one for one in found if one.test] or [Failure(test=one, frames=(), message="") for one in names]


def _defining(name: str, folder: str) -> list[str]:
    """The tests of a name, wherever they are."""
    found: list[str] = []
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in ("venv", "node_modules"))
        for file in sorted(files):
            if file.endswith(".py") and file.startswith("test"):
                whole = os.path.join(path, file)
                with contextlib.suppress(SyntaxError, ValueError):
                    found += [
                        "::".join([os.path.relpath(whole, folder), *filter(None, [one.owner]), name])
                        for one in functions(read(whole) or "")
                        if one.name == name
                    ]
    return found
