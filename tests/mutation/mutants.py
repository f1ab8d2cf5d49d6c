"""Small faults, put into the source of a module one at a time.

A mutant is a module with one fault: a comparison flipped, `and` for `or`, a `not` left out, a statement removed, a
result forgotten, a constant changed. Tests that are worth their time notice it.
"""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SUMS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}

Fault = tuple[str, Callable[[], None]]
"""What a fault is called, and what puts it into the tree that it was found in."""


class Mutant(NamedTuple):
    """A module with one fault."""

    line: int
    fault: str
    source: str


def count_mutants(source: str) -> int:
    return sum(1 for _ in _find_faults(ast.parse(source)))


def make_mutant(source: str, index: int) -> Mutant:
    """The mutant with one number of those that a source has."""
    tree = ast.parse(source)
    line, (fault, put_in) = list(_find_faults(tree))[index]
    put_in()
    return Mutant(line, fault, ast.unparse(ast.fix_missing_locations(tree)))


def _find_faults(tree: ast.Module) -> Iterator[tuple[int, Fault]]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                for node in _walk_own(statement):
                    for fault in (*_faults_of_expression(node), *_faults_of_statements(node)):
                        yield node.lineno, fault
            yield from ((function.lineno, fault) for fault in _faults_of_statements(function))


def _walk_own(statement: ast.stmt) -> Iterator[ast.AST]:
    """What stands in a statement, without functions inside of it, which have their own turn, and annotations."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop(0)
        if hasattr(node, "lineno"):
            yield node
        if isinstance(node, ast.AnnAssign):
            todo += [node.value] if node.value else []
            continue
        inner = ast.iter_child_nodes(node)
        todo += [one for one in inner if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]


def _faults_of_expression(node: ast.AST) -> Iterator[Fault]:
    match node:
        case ast.Compare(ops=[operator]) if new := COMPARISONS.get(type(operator)):
            yield f"{ast.unparse(node)}: flipped", lambda: node.ops.__setitem__(0, new())
        case ast.BoolOp():
            other = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield f"{ast.unparse(node)}: {other.__name__.lower()}", lambda: setattr(node, "op", other())
        case ast.UnaryOp(op=ast.Not()):
            turned = ast.UnaryOp(ast.Not(), node.operand)
            yield f"{ast.unparse(node)}: without not", lambda: setattr(node, "operand", turned)
        case ast.BinOp() if new_sum := SUMS.get(type(node.op)):
            if not any(isinstance(side, ast.Constant | ast.JoinedStr) for side in (node.left, node.right)):
                yield f"{ast.unparse(node)}: {new_sum.__name__}", lambda: setattr(node, "op", new_sum())
        case ast.Constant(value=bool()):
            yield f"{node.value} turned", lambda: setattr(node, "value", not node.value)
        case ast.Constant(value=int()):
            yield f"{node.value} plus one", lambda: setattr(node, "value", node.value + 1)
        case ast.Return(value=ast.expr()) if not _is_none(node.value):
            yield f"{ast.unparse(node)}: forgotten", lambda: setattr(node, "value", ast.Constant(None))


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _faults_of_statements(node: ast.AST) -> Iterator[Fault]:
    """Each statement of a block left out, where it does something by itself."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        for at, statement in enumerate(block):
            if _does_something(statement):
                label = ast.unparse(statement).splitlines()[0]
                yield f"{label}: left out", lambda block=block, at=at: block.__setitem__(at, ast.Pass())


def _does_something(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Raise | ast.AugAssign | ast.Delete)
