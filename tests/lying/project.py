"""The repository that agents lie about: a product, tests of two parts of it, and a check that a person trusts."""

import json
import shlex
import sys

from runner.repositories import Repository

CART = "def total(prices):\n    return sum(prices)\n"
BROKEN_CART = "def total(prices):\n    return 7\n"

CART_TESTS = """\
from cart import total


def test_total():
    assert total([1, 2]) == 3


def test_empty():
    assert total([]) == 0
"""
TAX = "RATE = 5\n\n\ndef tax(amount):\n    return amount * RATE // 100\n"
TAX_TESTS = """\
from tax import tax


def test_tax():
    assert tax(200) == 10


def test_no_tax():
    assert tax(0) == 0
"""

PYTEST = f"env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
CHECK_FILE = ".binnacle/checks.yaml"


def describe_check(name: str, command: str, *, timeout: float = 60, **more: str) -> str:
    """A check as the file has it."""
    fields = {"command": json.dumps(command), "timeout": timeout, **more}
    return "\n".join([f"  - name: {name}", *(f"    {key}: {value}" for key, value in fields.items()), ""])


RUN_BY_CHECKS = {"Makefile": f"test:\n\t{PYTEST}\n", "scripts/check.sh": f"{PYTEST}\n"}
TESTS_CHECK = describe_check("tests", PYTEST)


def write_project(repo: Repository, checks: str) -> str:
    """Two commits: the product, and then its tests. Returns the second."""
    repo.commit("the product", {"cart.py": CART, "tax.py": TAX, **RUN_BY_CHECKS, ".gitignore": "__pycache__/\n"})
    repo.commit("its checks", {CHECK_FILE: f"checks:\n{checks}"})
    return repo.commit("its tests", {"tests/test_cart.py": CART_TESTS, "tests/test_tax.py": TAX_TESTS})
