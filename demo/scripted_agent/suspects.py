"""Which function a failing test is about, and what the test wants of it. Reads files, runs nothing."""

import ast
import copy
import os

from msgspec import Struct

from scripted_agent.candidates import Function, called_name, calls_in, functions
from scripted_agent.code_edits import read
from scripted_agent.pytest_runs import Failure

RESULT = "__result__"
"""Stands in `wanted` for what the function returned."""


class Suspect(Struct, frozen=True, kw_only=True):
    """A function that a failing assertion is about."""

    path: str
    function: Function
    helpers: tuple[Function, ...]
    """Functions of the same file that it calls, or that the test calls besides it."""

    test_path: str
    lines: tuple[int, int]
    """Of the statement in the test that calls it, first and last."""

    wanted: str
    """The assertion, as an expression in which `RESULT` stands for the call."""


def suspect_of(folder: str, failure: Failure) -> Suspect | None:
    """The function that a test failed about; None if the test is not of a kind that can be read."""
    frame = failure.frames[0] if failure.frames else None
    source = read(os.path.join(folder, frame.path)) if frame else None
    if frame is None or source is None:
        return None
    tree = ast.parse(source)
    known = _known(folder, frame.path, tree)
    statements = _statements(tree, frame.line)
    failed = next((one for one in statements if one.lineno <= frame.line <= (one.end_lineno or 0)), None)
    assertion = failed if isinstance(failed, ast.Assert) else _assertion_about(failed, statements)
    if assertion is None:
        return None
    for calling in [assertion, *reversed([one for one in statements if one.lineno < assertion.lineno])]:
        for call in (one for one in ast.walk(calling) if isinstance(one, ast.Call)):
            target = _target(calling, call, assertion)
            if (found := known.get(called_name(call))) and target is not None:
                path, function, helpers = found
                beside = [other for place, other, _ in known.values() if place == path and other != function]
                return Suspect(
                    path=path,
                    function=function,
                    helpers=(*helpers, *(other for other in beside if other not in helpers)),
                    test_path=frame.path,
                    lines=(calling.lineno, calling.end_lineno or calling.lineno),
                    wanted=_replaced(assertion.test, target),
                )
    return None


def _statements(tree: ast.Module, line: int) -> list[ast.stmt]:
    """The plain statements of the function around a line."""
    around = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.lineno <= line <= (one.end_lineno or 0)
    ]
    inner = max(around, key=lambda one: one.lineno, default=None)
    plain = (ast.Assert, ast.Assign, ast.AnnAssign, ast.Expr)
    return (
        sorted((one for one in ast.walk(inner) if isinstance(one, plain)), key=lambda one: one.lineno) if inner else []
    )


def _assertion_about(failed: ast.stmt | None, statements: list[ast.stmt]) -> ast.Assert | None:
    """The first assertion about the variable that a statement which raised an error would have set."""
    names = _names_set(failed)
    return next(
        (
            one
            for one in statements
            if isinstance(one, ast.Assert) and names & {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}
        ),
        None,
    )


def _names_set(statement: ast.stmt | None) -> set[str]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
    return set()


def _target(calling: ast.stmt, call: ast.Call, assertion: ast.Assert) -> ast.expr | None:
    """What stands for the call in the assertion: itself, or the variable that its value was given to."""
    if calling is assertion:
        return call
    if not isinstance(calling, ast.Assign | ast.AnnAssign) or calling.value is not call:
        return None
    names = _names_set(calling)
    return next((one for one in ast.walk(assertion.test) if isinstance(one, ast.Name) and one.id in names), None)


def _replaced(test: ast.expr, target: ast.expr) -> str:
    class Replacing(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            same = type(node) is type(target) and _place(node) == _place(target)
            return ast.Name(RESULT, ast.Load()) if same else self.generic_visit(node)

    return ast.unparse(Replacing().visit(copy.deepcopy(test)))


def _place(node: ast.AST) -> tuple[int, ...]:
    return tuple(getattr(node, name, 0) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))


def _known(folder: str, test_path: str, tree: ast.Module) -> dict[str, tuple[str, Function, tuple[Function, ...]]]:
    """The functions of the project that a test can call, by name, each with its file and helpers."""
    found: dict[str, tuple[str, Function, tuple[Function, ...]]] = {}
    for path in _imported(folder, test_path, tree):
        try:
            all_here = functions(read(os.path.join(folder, path)) or "")
        except SyntaxError:
            continue
        for one in all_here:
            helpers = tuple(other for other in all_here if other.name in one.calls and other != one and not other.owner)
            found.setdefault(one.name, (path, one, helpers))
    called = calls_in(tree)
    return {name: one for name, one in found.items() if name in called}


def _imported(folder: str, test_path: str, tree: ast.Module) -> list[str]:
    """Files of the project that a test imports."""
    modules: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules += [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
    found: list[str] = []
    for module in modules:
        parts = module.split(".")
        for root in ("", "src", os.path.dirname(test_path)):
            for path in (os.path.join(root, *parts) + ".py", os.path.join(root, *parts, "__init__.py")):
                if os.path.isfile(os.path.join(folder, path)) and path not in found:
                    found.append(path)
    return found
