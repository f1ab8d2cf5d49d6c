"""The modules of the package as they are written, for tests about its shape."""

import ast
from functools import cache
from pathlib import Path

import binnacle

ROOT = Path(binnacle.__file__).parent


@cache
def read_modules() -> dict[str, ast.Module]:
    """Every module of the package, parsed, by its dotted name."""
    return {_name_of(path): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def _name_of(path: Path) -> str:
    parts = ("binnacle", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(name: str) -> set[str]:
    """The modules of the package that a module imports, at its top or later."""
    known, found = read_modules(), set()
    for node in ast.walk(known[name]):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{one.name}" for one in node.names} | {node.module}
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    modules = {one for one in found if one in known}
    return {one for one in modules if not _is_only_a_way_to(one, modules)} - {name}


def _is_only_a_way_to(package: str, modules: set[str]) -> bool:
    """Whether a package is named only because one of its modules is imported."""
    return any(one.startswith(f"{package}.") for one in modules)
