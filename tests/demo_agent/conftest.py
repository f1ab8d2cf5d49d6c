"""A small program with a fault, in a git repository."""

import subprocess
from pathlib import Path

import pytest

from demo_agent.driver import environment

CART = '''"""A cart."""


def subtotal(items):
    return sum(price * count for price, count in items)


def total(items, discount=0):
    """What the items cost, less a discount in percent."""
    whole = subtotal(items)
    reduction = whole * discount / 100
    return whole + reduction
'''

TESTS = """from cart import total


def test_total():
    assert total([(10, 2)]) == 20


def test_discount():
    assert total([(10, 2), (5, 2)], discount=10) == 27
"""


@pytest.fixture
def env(tmp_path) -> dict[str, str]:
    return environment(tmp_path)


@pytest.fixture
def shop(tmp_path) -> Path:
    folder = tmp_path / "shop"
    (folder / "tests").mkdir(parents=True)
    (folder / "cart.py").write_text(CART)
    (folder / "conftest.py").touch()
    (folder / "tests" / "test_cart.py").write_text(TESTS)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, timeout=60)
    return folder
