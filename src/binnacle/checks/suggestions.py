"""Proposes checks for a repository by looking at its files. Nothing is run, and nothing is written."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec
from msgspec import Struct

from binnacle.checks.setup_suggestions import PackageFile, ReadFile, suggest_node_setup, suggest_python_setup
from binnacle.work.check import CheckTier

_MAKE_TARGET = re.compile(r"^(check|test|lint)\s*:(?!=)", re.MULTILINE)
_PLACEHOLDER = "no test specified"
"""What npm puts where a test would be."""


class SuggestedCheck(Struct, frozen=True, kw_only=True):
    """A check that a person may want."""

    name: str
    command: str
    setup: str = ""
    cache: tuple[str, ...] = ()
    tier: CheckTier = "fast"
    why: str
    """What in the repository speaks for it."""


def suggest_checks(names: AbstractSet[str], read: ReadFile) -> list[SuggestedCheck]:
    """Checks for a repository with these files and folders at its top, the most direct first, one of each name."""
    found: dict[str, SuggestedCheck] = {}
    for one in (*_python(names, read), *_node(names, read), *_others(names, read)):
        name = one.name if one.name not in found else f"{one.name}-{one.command.split()[0]}"
        found.setdefault(name, msgspec.structs.replace(one, name=name))
    return list(found.values())


def _python(names: AbstractSet[str], read: ReadFile) -> Iterator[SuggestedCheck]:
    project = read("pyproject.toml")
    found = list(_find_python_tools(names, read, project))
    tools = [one.tool for one in found if one.tool != "unittest"]
    start, prepared = suggest_python_setup(names, project, read, tools=tools)
    for one in found:
        # unittest comes with Python, so only the interpreter has to be the right one.
        starts_python = start.endswith("-m ") or one.tool != "unittest"
        command = f"{start}{'' if starts_python else 'python -m '}{one.tool} {one.arguments}".strip()
        yield SuggestedCheck(
            name=one.name, command=command, setup=prepared.command, cache=prepared.cache, tier=one.tier, why=one.why
        )
    if "tox.ini" in names:
        yield SuggestedCheck(name="tox", command="tox", tier="full", why="it has tox.ini")
    if "noxfile.py" in names:
        yield SuggestedCheck(name="nox", command="nox", tier="full", why="it has noxfile.py")


class _PythonTool(NamedTuple):
    """A tool that is run with the Python of the project."""

    name: str
    """Of the check."""

    tool: str
    why: str
    arguments: str = ""
    tier: CheckTier = "fast"


def _find_python_tools(names: AbstractSet[str], read: ReadFile, project: str) -> Iterator[_PythonTool]:
    uses_pytest = "pytest" in project + read("setup.cfg") + read("tox.ini") + read("requirements-dev.txt")
    if uses_pytest or names & {"pytest.ini", "conftest.py"}:
        yield _PythonTool("tests", "pytest", "it uses pytest")
    elif "tests" in names and names & {"pyproject.toml", "setup.py", "setup.cfg"}:
        yield _PythonTool("tests", "unittest", "it has Python tests")
    if "[tool.ruff" in project or names & {"ruff.toml", ".ruff.toml"}:
        yield _PythonTool("lint", "ruff", "it is set up for ruff", "check .")
    if "[tool.mypy" in project or "mypy.ini" in names:
        yield _PythonTool("types", "mypy", "it is set up for mypy", tier="full")


def _node(names: AbstractSet[str], read: ReadFile) -> Iterator[SuggestedCheck]:
    if "package.json" not in names:
        return
    try:
        package = msgspec.json.decode(read("package.json"), type=PackageFile)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    manager, prepared = suggest_node_setup(names, package)
    needed = {**package.dependencies, **package.devDependencies}
    test = package.scripts.get("test")
    if "vitest" in needed:
        yield SuggestedCheck(
            name="tests", command="npx vitest run", setup=prepared.command, cache=prepared.cache, why="it uses vitest"
        )
    elif "jest" in needed:
        yield SuggestedCheck(
            name="tests", command="npx jest --ci", setup=prepared.command, cache=prepared.cache, why="it uses jest"
        )
    elif isinstance(test, str) and test.startswith("node --test"):
        yield SuggestedCheck(
            name="tests",
            command=test,
            setup=prepared.command if needed else "",
            cache=prepared.cache if needed else (),
            why="package.json says so",
        )
    elif isinstance(test, str) and _PLACEHOLDER not in test:
        yield SuggestedCheck(
            name="tests",
            command=f"{manager} test",
            setup=prepared.command,
            cache=prepared.cache,
            why="package.json has a test script",
        )
    if "lint" in package.scripts:
        yield SuggestedCheck(
            name="lint",
            command=f"{manager} run lint",
            setup=prepared.command,
            cache=prepared.cache,
            why="package.json has a lint script",
        )


def _others(names: AbstractSet[str], read: ReadFile) -> Iterator[SuggestedCheck]:
    if "Cargo.toml" in names:
        yield SuggestedCheck(name="tests", command="cargo test", why="it has Cargo.toml")
    if "go.mod" in names:
        yield SuggestedCheck(name="tests", command="go test ./...", why="it has go.mod")
    if ".pre-commit-config.yaml" in names:
        yield SuggestedCheck(
            name="pre-commit", command="pre-commit run --all-files", tier="full", why="it is set up for pre-commit"
        )
    makefile = next((text for name in ("GNUmakefile", "makefile", "Makefile") if (text := read(name))), "")
    for target in dict.fromkeys(_MAKE_TARGET.findall(makefile)):
        yield SuggestedCheck(
            name=f"make-{target}", command=f"make {target}", tier="full", why=f"the makefile has {target}"
        )
