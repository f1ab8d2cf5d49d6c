"""Proposes checks for a repository by looking at its files. Nothing is run, and nothing is written."""

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

import msgspec
from msgspec import Struct

from binnacle.work.check import CheckTier

ReadFile = Callable[[str], str]
"""Returns the text of a file of the repository; empty if there is none."""

_MAKE_TARGET = re.compile(r"^(check|test|lint)\s*:(?!=)", re.MULTILINE)
_PACKAGE = "[project]"
_VENV_SETUP = "sh -c 'python3 -m venv .venv && .venv/bin/pip install {wanted} pytest'"
_PLACEHOLDER = "no test specified"
"""What npm puts where a test would be."""


class SuggestedCheck(Struct, frozen=True, kw_only=True):
    """A check that a person may want."""

    name: str
    command: str
    setup: str = ""
    tier: CheckTier = "fast"
    why: str
    """What in the repository speaks for it."""


class _PackageFile(Struct):
    scripts: dict[str, object] = {}
    dependencies: dict[str, object] = {}
    devDependencies: dict[str, object] = {}  # noqa: N815 - npm's word


def suggest_checks(names: AbstractSet[str], read: ReadFile) -> list[SuggestedCheck]:
    """Checks for a repository with these files and folders at its top, the most direct first, one of each name."""
    found: dict[str, SuggestedCheck] = {}
    for one in (*_python(names, read), *_node(names, read), *_others(names, read)):
        name = one.name if one.name not in found else f"{one.name}-{one.command.split()[0]}"
        found.setdefault(name, msgspec.structs.replace(one, name=name))
    return list(found.values())


def _python(names: AbstractSet[str], read: ReadFile) -> Iterator[SuggestedCheck]:
    project = read("pyproject.toml")
    start, setup = _python_start(names, project)
    uses_pytest = "pytest" in project + read("setup.cfg") + read("tox.ini") + read("requirements-dev.txt")
    if uses_pytest or names & {"pytest.ini", "conftest.py"}:
        yield SuggestedCheck(name="tests", command=f"{start}pytest", setup=setup, why="it uses pytest")
    elif "tests" in names and names & {"pyproject.toml", "setup.py", "setup.cfg"}:
        yield SuggestedCheck(name="tests", command=f"{start}python -m unittest", setup=setup, why="it has Python tests")
    if "[tool.ruff" in project or names & {"ruff.toml", ".ruff.toml"}:
        yield SuggestedCheck(name="lint", command=f"{start}ruff check .", setup=setup, why="it is set up for ruff")
    if "[tool.mypy" in project or "mypy.ini" in names:
        yield SuggestedCheck(
            name="types", command=f"{start}mypy", setup=setup, tier="full", why="it is set up for mypy"
        )
    if "tox.ini" in names:
        yield SuggestedCheck(name="tox", command="tox", tier="full", why="it has tox.ini")
    if "noxfile.py" in names:
        yield SuggestedCheck(name="nox", command="nox", tier="full", why="it has noxfile.py")


def _python_start(names: AbstractSet[str], project: str) -> tuple[str, str]:
    """What comes before a Python tool, and how a fresh checkout gets its dependencies."""
    if "uv.lock" in names:
        return "uv run ", "uv sync"
    if "poetry.lock" in names:
        return "poetry run ", "poetry install"
    if "pdm.lock" in names:
        return "pdm run ", "pdm install"
    is_package = _PACKAGE in project or "setup.py" in names
    if is_package or "requirements.txt" in names:
        wanted = "-e ." if is_package else "-r requirements.txt"
        return ".venv/bin/python -m ", _VENV_SETUP.format(wanted=wanted)
    return "python3 -m ", ""


def _node(names: AbstractSet[str], read: ReadFile) -> Iterator[SuggestedCheck]:
    if "package.json" not in names:
        return
    try:
        package = msgspec.json.decode(read("package.json"), type=_PackageFile)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    manager, setup = _node_manager(names)
    needed = {**package.dependencies, **package.devDependencies}
    test = package.scripts.get("test")
    if "vitest" in needed:
        yield SuggestedCheck(name="tests", command="npx vitest run", setup=setup, why="it uses vitest")
    elif "jest" in needed:
        yield SuggestedCheck(name="tests", command="npx jest --ci", setup=setup, why="it uses jest")
    elif isinstance(test, str) and test.startswith("node --test"):
        yield SuggestedCheck(name="tests", command=test, setup=setup if needed else "", why="package.json says so")
    elif isinstance(test, str) and _PLACEHOLDER not in test:
        yield SuggestedCheck(name="tests", command=f"{manager} test", setup=setup, why="package.json has a test script")
    if "lint" in package.scripts:
        yield SuggestedCheck(
            name="lint", command=f"{manager} run lint", setup=setup, why="package.json has a lint script"
        )


def _node_manager(names: AbstractSet[str]) -> tuple[str, str]:
    if "pnpm-lock.yaml" in names:
        return "pnpm", "pnpm install --frozen-lockfile"
    if "yarn.lock" in names:
        return "yarn", "yarn install --immutable"
    return "npm", "npm ci" if "package-lock.json" in names else "npm install"


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
