"""Proposes how a fresh checkout is prepared, and by which files that is decided, if it is by some.

A setup is only kept where nothing but these files decides it: not where it builds the product, or copies it.
"""

import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec
from msgspec import Struct

ReadFile = Callable[[str], str]
"""Returns the text of a file of the repository; empty if there is none."""

_TEST_EXTRAS = ("test", "tests", "testing", "dev")
"""What projects call the requirements of their tests, the most usual first."""

_BACKEND = re.compile(r"""^\s*build-backend\s*=\s*["']([^"']+)["']""", re.MULTILINE)
_LINKING_BACKENDS = frozenset(
    ("flit_core.buildapi", "hatchling.build", "pdm.backend", "poetry.core.masonry.api", "uv_build")
)
"""Their installation for development is a link to the checkout, and nothing is built. setuptools may list the packages
that there are, or compile."""

_BUILDS = ("backend-path", "[tool.hatch.build", "[tool.poetry.build", "[tool.pdm.build", "[tool.uv.sources",
           "[tool.uv.workspace", "[tool.hatch.metadata.hooks", "path =", "path=")  # fmt: skip
"""What makes more of the repository count than its lock file."""

_NODE_BUILDS = frozenset(("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"))
"""Scripts of a package that an installation runs."""

_LOCAL = ("file:", "link:", "portal:", "workspace:", "./", "../", "/")
_PLAIN_REQUIREMENT = re.compile(r"(?:#.*)?|[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?\s*(?:[<>=!~;# ][^@]*)?")


class SuggestedSetup(NamedTuple):
    """A setup, and the files on which it depends; without them, it is not kept."""

    command: str
    cache: tuple[str, ...] = ()


class PackageFile(Struct):
    """What a `package.json` says, as far as it matters here."""

    scripts: dict[str, object] = {}
    dependencies: dict[str, object] = {}
    devDependencies: dict[str, object] = {}  # noqa: N815 - npm's word
    workspaces: object = None


class PythonProjectTable(Struct, frozen=True, rename="kebab"):
    """What a `pyproject.toml` says about what its tests need."""

    optional_dependencies: dict[str, object] = {}


class PythonProjectFile(Struct, frozen=True, rename="kebab"):
    """A `pyproject.toml`, as far as it matters here."""

    project: PythonProjectTable = PythonProjectTable()
    dependency_groups: dict[str, list[object]] = {}


def suggest_python_setup(
    names: AbstractSet[str], project: str, read: ReadFile, *, tools: Sequence[str]
) -> tuple[str, SuggestedSetup]:
    """What comes before a Python tool, and how a fresh checkout gets its dependencies and these tools."""
    links = _only_links(project)
    for lock, start, command in (
        ("uv.lock", "uv run ", "uv sync"),
        ("poetry.lock", "poetry run ", "poetry install"),
        ("pdm.lock", "pdm run ", "pdm install"),
    ):
        if lock in names:
            return start, SuggestedSetup(command, (lock, "pyproject.toml") if links else ())
    if "[project]" in project or "setup.py" in names:
        is_kept = links and "[build-system]" in project and "setup.py" not in names
        command = _make_environment("-e", *_list_test_requirements(project), *tools)
        return ".venv/bin/python -m ", SuggestedSetup(command, ("pyproject.toml",) if is_kept else ())
    if "requirements.txt" in names:
        lines = (line.strip() for line in read("requirements.txt").splitlines())
        is_kept = all(_PLAIN_REQUIREMENT.fullmatch(line) for line in lines)
        command = _make_environment("-r", "requirements.txt", *tools)
        return ".venv/bin/python -m ", SuggestedSetup(command, ("requirements.txt",) if is_kept else ())
    return "python3 -m ", SuggestedSetup("")


def _make_environment(*wanted: str) -> str:
    install = shlex.join((".venv/bin/pip", "install", *dict.fromkeys(wanted)))
    return shlex.join(("sh", "-c", f"python3 -m venv .venv && {install}"))


def _list_test_requirements(project: str) -> list[str]:
    """The project, as pip installs it with what its tests need."""
    try:
        found = msgspec.convert(tomllib.loads(project), PythonProjectFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError):
        return ["."]
    extra = next((name for name in _TEST_EXTRAS if name in found.project.optional_dependencies), "")
    group = next((found.dependency_groups[name] for name in _TEST_EXTRAS if name in found.dependency_groups), [])
    return [f".[{extra}]" if extra else ".", *(one for one in group if isinstance(one, str))]


def _only_links(project: str) -> bool:
    """Whether installing the project for development is nothing but a link to its sources."""
    if any(sign in project for sign in _BUILDS):
        return False
    backend = _BACKEND.search(project)
    return backend[1] in _LINKING_BACKENDS if backend else "[build-system]" not in project


def suggest_node_setup(names: AbstractSet[str], package: PackageFile) -> tuple[str, SuggestedSetup]:
    """The package manager, and how a fresh checkout gets its dependencies."""
    depends_on = {**package.dependencies, **package.devDependencies}.values()
    is_kept = (
        _NODE_BUILDS.isdisjoint(package.scripts)
        and not package.workspaces
        and "pnpm-workspace.yaml" not in names
        and not any(isinstance(one, str) and one.startswith(_LOCAL) for one in depends_on)
    )
    settings = [name for name in (".npmrc", ".yarnrc", ".yarnrc.yml") if name in names]
    for lock, manager, command in (
        ("pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "yarn", "yarn install --immutable"),
        ("package-lock.json", "npm", "npm ci"),
    ):
        if lock in names:
            return manager, SuggestedSetup(command, (lock, "package.json", *settings) if is_kept else ())
    return "npm", SuggestedSetup("npm install")
