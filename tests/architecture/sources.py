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
