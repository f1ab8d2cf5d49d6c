import unittest

import pytest
from shop import Item, total


def test_total():
    found = total([Item("pen", 2)])
    assert found == 2


@pytest.mark.parametrize("price", [1, 2])
def test_prices(price):
    assert total([Item("pen", price)]) == price


def test_wrong():
    found = total([])
    assert found == 1


class TestItem:
    def test_name(self):
        item = Item("ink", 5)
        assert item.name == "ink"


class Old(unittest.TestCase):
    def test_old(self):
        assert total([]) == 0


def helper():
    return 1
