"""Puts code from a specification into files so that doing it twice changes nothing more."""

import ast
import os

from scripted_agent.spec import Block

_MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")


def place(folder: str, path: str) -> str:
    """Where a file of the project is.

    Raises:
        ValueError: outside of the folder, or in git's own.
    """
    root = os.path.realpath(folder)
    found = os.path.realpath(os.path.join(root, path))
    inside = os.path.relpath(found, root)
    if inside.split(os.sep)[0] in ("..", ".git") or found == root:
        raise ValueError(f"{path} is not a file of this project")
    return found


def read(file: str) -> str | None:
    """A file's text; None if it is not there."""
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except FileNotFoundError:
        return None


def write(file: str, text: str) -> None:
    """Replaces a file's text."""
    os.makedirs(os.path.dirname(file), exist_ok=True)
    before = int(os.stat(file).st_mtime) if os.path.exists(file) else 0
    with open(file, "w", encoding="utf-8") as opened:
        opened.write(text)
    if int(os.stat(file).st_mtime) == before:
        # Python takes code it has compiled for current if neither the second nor the size has changed.
        os.utime(file, (before + 1, before + 1))


def both_sides(text: str) -> str:
    """A text with the marks of a merge taken out, and with what stood on both sides of them left in."""
    kept, is_ancestor = [], False
    for line in text.splitlines(keepends=True):
        mark = line[:7]
        is_ancestor = mark == "|||||||" or (is_ancestor and mark != "=======")
        if not is_ancestor and mark not in _MARKS:
            kept.append(line)
    return "".join(kept)


def merged(old: str | None, block: Block) -> str:
    """A file's text with a block in it: definitions of a Python file by their names, any other file as a whole.

    A block that begins with a docstring is the whole module.
    """
    if old is None or not block.path.endswith(".py") or ast.get_docstring(_parsed(block.code) or ast.Module([], [])):
        return block.code
    text = old
    new = _parsed(block.code)
    for node in new.body if new else ():
        if _parsed(text) is None:
            return block.code
        text = _with(text, block.code, node)
    return text if new else block.code


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError):
        return None


def _with(text: str, code: str, node: ast.stmt) -> str:
    """`text` with one statement of `code`: in place of the one of that name, below the imports, or at the end."""
    written = _lines_of(node, code)
    body = ast.parse(text).body
    name = _name(node)
    there = next((one for one in body if name and _name(one) == name), None)
    lines = text.splitlines()
    if there is not None:
        start, end = _span(there)
        lines[start:end] = written
    elif isinstance(node, ast.Import | ast.ImportFrom):
        if any(ast.dump(one) == ast.dump(node) for one in body):
            return text
        last = max((one.end_lineno or 0 for one in body[:1] if ast.get_docstring(ast.parse(text))), default=0)
        last = max([last, *(one.end_lineno or 0 for one in body if isinstance(one, ast.Import | ast.ImportFrom))])
        lines[last:last] = written
    else:
        while lines and not lines[-1].strip():
            lines.pop()
        lines += ["", "", *written] if lines else written
    return "\n".join(lines) + "\n"


def _name(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _span(node: ast.stmt) -> tuple[int, int]:
    """Its lines, decorators included."""
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    return first - 1, node.end_lineno or node.lineno


def _lines_of(node: ast.stmt, code: str) -> list[str]:
    start, end = _span(node)
    return code.splitlines()[start:end]
