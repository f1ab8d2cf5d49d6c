"""Every code that a script or a host may answer with is documented."""

import ast
import re
from pathlib import Path

from binnacle import bridge
from binnacle.bridge.error_codes import ERROR_CODES

KNOWN = {code for found in ERROR_CODES.values() for code in found}


def test_every_code_is_there_once():
    assert len(KNOWN) == sum(map(len, ERROR_CODES.values()))


def test_every_code_in_the_code_and_the_metadata_is_documented():
    (folder,) = bridge.__path__
    used = {
        code
        for path in Path(folder).rglob("*")
        if path.suffix in (".py", ".yaml") and path.name != "codes.py"
        for pair in re.findall(r"\"(E_[A-Z_]+)\"|\bcode: (E_[A-Z_]+)", path.read_text())
        for code in pair
        if code
    }
    assert used - KNOWN == set()
    assert KNOWN - used == set(), "a code that nobody uses is not documented"


def test_every_error_says_what_to_do_next():
    (folder,) = bridge.__path__
    made = [
        (path.name, node.lineno, {word.arg for word in node.keywords})
        for path in Path(folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("BridgeError", "HostStuck")
    ]
    assert len(made) > 20
    assert [(name, line) for name, line, words in made if not words & {"hint", None}] == []
