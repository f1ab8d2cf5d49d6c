"""Small changes that might repair a function: other operators, one more or less, the opposite. Pure."""

import ast
import re
from collections.abc import Iterator

from msgspec import Struct

OPERATORS: dict[type[ast.AST], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-", "*")),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/", "+", "**")),
    ast.Div: ("/", ("*", "//")),
    ast.FloorDiv: ("//", ("/", "%")),
    ast.Mod: ("%", ("//",)),
    ast.Pow: ("**", ("*",)),
    ast.Lt: ("<", ("<=", ">", ">=")),
    ast.LtE: ("<=", ("<", ">=", ">")),
    ast.Gt: (">", (">=", "<", "<=")),
    ast.GtE: (">=", (">", "<=", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.And: ("and", ("or",)),
    ast.Or: ("or", ("and",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
"""How an operator is written, and what might have been meant."""

OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any", "True": "False", "False": "True"}


class Candidate(Struct, frozen=True, kw_only=True):
    """One line written differently."""

    line: int
    before: str
    after: str

    def applied(self, source: str) -> str:
        """A file's text with this change."""
        lines = source.splitlines(keepends=True)
        lines[self.line - 1] = lines[self.line - 1].replace(self.before, self.after)
        return "".join(lines)


class Function(Struct, frozen=True, kw_only=True):
    """A function of a file."""

    name: str
    owner: str
    """The class it belongs to; empty if to none."""

    first: int
    """Line of `def`."""

    body: int
    """Line of its first statement that does something."""

    last: int
    arguments: tuple[str, ...]
    call: str
    """A call of it with variables that are named like its arguments."""

    calls: tuple[str, ...]
    """What it calls, by name."""


def functions(source: str) -> list[Function]:
    """The functions and methods of a file, none of those within others."""
    tree = ast.parse(source)
    return [
        _function(node, owner)
        for owner, body in [
            ("", tree.body),
            *((one.name, one.body) for one in tree.body if isinstance(one, ast.ClassDef)),
        ]
        for node in body
        if isinstance(node, ast.FunctionDef)
    ]


def calls_in(node: ast.AST) -> tuple[str, ...]:
    """Names of what is called somewhere in a piece of code, outermost first."""
    found = [called_name(one) for one in ast.walk(node) if isinstance(one, ast.Call)]
    return tuple(dict.fromkeys(name for name in found if name))


def called_name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def candidates(source: str, function: Function) -> list[Candidate]:
    """Ways to write one line of a function differently: the likely ones first, and of those the last lines first."""
    lines = source.splitlines()
    node = next(
        one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef) and one.lineno == function.first
    )
    found: dict[tuple[int, str], tuple[int, Candidate]] = {}
    for part in (inner for statement in _worked(node) for inner in ast.walk(statement)):
        for rank, (line, start, end, text) in _changes(part, lines):
            before = lines[line - 1]
            after = _spliced(before, start, end, text)
            if after != before and _is_python(lines, line, after):
                found.setdefault((line, after), (rank, Candidate(line=line, before=before, after=after)))
    ranked = sorted(found.values(), key=lambda one: (one[0], -one[1].line))
    return [candidate for _, candidate in ranked]


def code_of(source: str, function: Function) -> str:
    """A function's text by itself, without decorators, as if it stood alone in a file."""
    lines = source.splitlines()[function.first - 1 : function.last]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines) + "\n"


def _function(node: ast.FunctionDef, owner: str) -> Function:
    given = node.args
    plain = [one.arg for one in (*given.posonlyargs, *given.args)]
    named = [one.arg for one in given.kwonlyargs]
    rest = [one.arg for one in (given.vararg, given.kwarg) if one]
    words = [*plain, *([f"*{given.vararg.arg}"] if given.vararg else []), *(f"{one}={one}" for one in named)]
    words += [f"**{given.kwarg.arg}"] if given.kwarg else []
    return Function(
        name=node.name,
        owner=owner,
        first=node.lineno,
        body=_worked(node)[0].lineno,
        last=node.end_lineno or node.lineno,
        arguments=(*plain, *named, *rest),
        call=f"{node.name}({', '.join(words)})",
        calls=calls_in(node),
    )


def _worked(node: ast.FunctionDef) -> list[ast.stmt]:
    """Its statements without the docstring, unless that is all there is."""
    return node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body


Change = tuple[int, int, int, str]
"""A line, from and to which byte of it, and what to write there."""


def _changes(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, Change]]:
    """The changes that a node allows, each with its rank: 0 for what is most often mistaken."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield from _operators(left, op, right, lines)
            yield from _swapped(left, right, lines)
        case (
            ast.Compare(left=left, ops=[op], comparators=[right])
            | ast.BoolOp(op=op, values=[left, right, *_])
            | ast.AugAssign(target=left, op=op, value=right)
        ):
            yield from _operators(left, op, right, lines)
        case ast.Call(func=ast.Name(id="range"), args=[limit] | [_, limit, *_]):
            yield from _one_more_or_less(limit, lines)
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            for bound in (one for one in (lower, upper) if one is not None):
                yield from _one_more_or_less(bound, lines)
        case ast.Subscript(slice=index):
            yield from _one_more_or_less(index, lines)
        case _:
            yield from _opposites(node, lines)


def _opposites(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, Change]]:
    match node:
        case ast.Constant(value=bool()) | ast.Name():
            if (known := OPPOSITES.get(_text(node, lines))) is not None:
                yield 1, (*_where(node), known)
        case ast.Constant(value=int(value)):
            yield from ((1, (*_where(node), str(other))) for other in (value + 1, value - 1))
        case ast.UnaryOp(op=ast.Not(), operand=operand) if _on_one_line(node):
            yield 1, (*_where(node), _text(operand, lines))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if _on_one_line(test):
            yield 2, (*_where(test), f"not ({_text(test, lines)})")


def _operators(left: ast.expr, op: ast.AST, right: ast.expr, lines: list[str]) -> Iterator[tuple[int, Change]]:
    written, others = OPERATORS.get(type(op), ("", ()))
    if not written or left.end_lineno != right.lineno:
        return
    start, end = left.end_col_offset or 0, right.col_offset
    between = _bytes(lines, right.lineno)[start:end].decode()
    found = re.search(rf"{re.escape(written)}(?![*/=])" if not written[0].isalpha() else rf"\b{written}\b", between)
    if found is None:  # of an augmented assignment, where the sign follows
        found = re.search(re.escape(written), between)
    if found is not None:
        for other in others:
            yield 0, (right.lineno, start + found.start(), start + found.end(), other)


def _swapped(left: ast.expr, right: ast.expr, lines: list[str]) -> Iterator[tuple[int, Change]]:
    if _on_one_line(left) and _on_one_line(right) and left.lineno == right.lineno:
        between = _bytes(lines, left.lineno)[left.end_col_offset or 0 : right.col_offset].decode()
        if "(" not in between and ")" not in between:
            text = f"{_text(right, lines)}{between}{_text(left, lines)}"
            yield 2, (left.lineno, left.col_offset, right.end_col_offset or 0, text)


def _one_more_or_less(node: ast.expr, lines: list[str]) -> Iterator[tuple[int, Change]]:
    if _on_one_line(node) and not isinstance(node, ast.Constant | ast.Tuple):
        text = _text(node, lines)
        for other in (f"{text} + 1", f"{text} - 1"):
            yield 1, (*_where(node), other)


def _where(node: ast.AST) -> tuple[int, int, int]:
    return node.lineno, node.col_offset, node.end_col_offset  # type: ignore[attr-defined]


def _on_one_line(node: ast.AST) -> bool:
    return bool(node.lineno == node.end_lineno)  # type: ignore[attr-defined]


def _bytes(lines: list[str], line: int) -> bytes:
    """A line as the parser counts it."""
    return lines[line - 1].encode()


def _text(node: ast.AST, lines: list[str]) -> str:
    line, start, end = _where(node)
    return _bytes(lines, line)[start:end].decode() if _on_one_line(node) else ""


def _spliced(line: str, start: int, end: int, text: str) -> str:
    data = line.encode()
    return (data[:start] + text.encode() + data[end:]).decode()


def _is_python(lines: list[str], line: int, after: str) -> bool:
    try:
        ast.parse("\n".join([*lines[: line - 1], after, *lines[line:]]))
    except SyntaxError:
        return False
    return True


def bounded(code: str) -> str:
    """Code whose loops call `__step__` each time round, so that one without an end can be ended."""

    class Bounding(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            super().generic_visit(node)
            if isinstance(node, ast.For | ast.While):
                node.body.insert(0, ast.parse("__step__()").body[0])
            return node

    return ast.unparse(ast.fix_missing_locations(Bounding().visit(ast.parse(code))))
