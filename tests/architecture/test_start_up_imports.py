"""Nothing heavy on the start-up path: what is loaded when a command's module is imported.

`tests/cli/test_start_up.py` measures what a few commands have loaded when they end. This test reads the sources, so it
holds for every command: importing the module of one, as its help and completion do too, reaches only light modules.
What a command needs beyond that is imported inside its function.
"""

import ast
from functools import cache

import pytest

from architecture.sources import read_modules

HEAVY = {
    *("aiohttp", "asyncio", "concurrent", "dataclasses", "difflib", "email", "hashlib", "http", "inspect", "json"),
    *("logging", "multiprocessing", "pathlib", "psycopg", "rich", "socket", "ssl", "subprocess", "tempfile"),
    *("tomlkit", "tomllib", "typing_extensions", "unittest", "uvloop", "yaml"),
}
"""Modules that take a noticeable part of a short command's time."""

MACHINERY = {"passthrough", "server", "serving"}
"""Packages that only a command which serves something needs, once it runs."""

COMMANDS = sorted(name for name in read_modules() if name.startswith("binnacle.cli.commands."))


@cache
def reached_from(module: str) -> frozenset[str]:
    """All modules that are loaded when a module is imported, foreign ones by their first word."""
    reached: set[str] = set()
    waiting = {module}
    while waiting:
        name = waiting.pop()
        if name not in read_modules():
            reached.add(name.partition(".")[0])
        elif name not in reached:
            reached.add(name)
            words = name.split(".")
            waiting |= {".".join(words[:count]) for count in range(1, len(words))}
            waiting |= loaded_with(name)
    return frozenset(reached)


@cache
def loaded_with(module: str) -> set[str]:
    """What a module imports outside of functions, and not for type checkers alone."""
    found: set[str] = set()
    waiting: list[ast.AST] = [read_modules()[module]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {name for one in node.names if (name := f"{node.module}.{one.name}") in read_modules()}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return found


def test_the_entry_point_loads_the_errors_alone():
    ours = {name for name in reached_from("binnacle.cli.main") if name.startswith("binnacle")}
    assert ours == {"binnacle", "binnacle.cli", "binnacle.cli.main", "binnacle.errors"}


def test_finding_a_command_loads_neither_project_nor_store():
    ours = {name for name in reached_from("binnacle.cli.parser") if name.startswith("binnacle.")}
    assert {name.split(".")[1] for name in ours} == {"cli", "errors"}


@pytest.mark.parametrize("module", COMMANDS)
def test_a_command_loads_nothing_heavy_before_it_runs(module):
    reached = reached_from(module)
    assert reached & HEAVY == set()
    assert {name.split(".")[1] for name in reached if name.startswith("binnacle.")} & MACHINERY == set()
