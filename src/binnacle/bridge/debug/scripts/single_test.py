"""The script that debugs the test at a line, which it finds without running anything."""

import ast
import os
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from binnacle.bridge.debug import adapters, debug_errors
from binnacle.bridge.debug.cancellable_wait import ScriptCall
from binnacle.bridge.debug.debugger import Debugger
from binnacle.bridge.debug.launch_request import StartParams, prepare_launch
from binnacle.bridge.debug.scripts.execution import begin

Function = ast.FunctionDef | ast.AsyncFunctionDef


class DebugTestParams(Struct, kw_only=True, rename="camel"):
    path: str
    line: int
    column: int = 1
    python: str | None = None
    timeout_ms: float = 30_000
    wait: bool = True


async def debug_single(debugger: Debugger, params: DebugTestParams, job: ScriptCall) -> dict[str, Any]:
    """Runs one test under the debugger. It stops at breakpoints, and where the test fails."""
    path = debugger.path(params.path)
    if not os.path.isfile(path):
        raise debug_errors.debug_error(
            "E_FILE_NOT_FOUND",
            f"no such file: {params.path!r} (looked for {path})",
            "give path relative to the workspace",
        )
    if not path.endswith(".py"):
        raise debug_errors.script_unsupported(
            "test.debug-single", f"only tests of pytest can be found here, not in {params.path}"
        )
    python = params.python or adapters.find_python(debugger.workspace)
    name = os.path.relpath(path, debugger.workspace) + "::" + find_test(path, params.line)
    start = StartParams(pytest=name, python=python, args=_options(python))
    launch = prepare_launch(start, debugger.workspace)
    answer = await begin(debugger, launch, seconds=params.timeout_ms / 1000 if params.wait else None, job=job)
    return {"test": name} | answer


def find_test(path: str, line: int) -> str:
    """The test around a line, as pytest names it within its file.

    Raises:
        BridgeError: E_DISCOVERY_FAILED, or E_NO_TEST_AT_CURSOR with the tests of the file.
    """
    with open(path, "rb") as file:
        source = file.read()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise debug_errors.debug_error(
            "E_DISCOVERY_FAILED", f"{path} is no valid Python: {error}", "fix the file first"
        ) from error
    tests = list(_tests(tree.body, ()))
    for name, node in tests:
        if _first_line(node) <= line <= (node.end_lineno or node.lineno):
            return name
    known = [f"{name} at line {node.lineno}" for name, node in tests][:20]
    raise debug_errors.debug_error(
        "E_NO_TEST_AT_CURSOR",
        f"no test of pytest is at line {line} of {path}",
        f"give a line of: {', '.join(known)}" if known else "tests are functions called test_…, also in classes Test…",
    )


def _tests(body: list[ast.stmt], inside: tuple[str, ...]) -> Iterator[tuple[str, Function]]:
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield "::".join((*inside, node.name)), node
        elif isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or _is_unittest(node)):
            yield from _tests(node.body, (*inside, node.name))


def _is_unittest(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def _first_line(node: Function) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _options(python: str) -> list[str]:
    """Options for one process without coverage: both would disturb the debugger."""
    options = {"xdist": "-n0", "pytest_cov": "--no-cov"}
    return [option for package, option in options.items() if adapters.has_package(python, package)]


SCRIPTS = {"test.debug-single": (DebugTestParams, debug_single)}
