"""The test at a line is found and debugged."""

import os

import pytest

from binnacle.bridge.debug.scripts.single_test import find_test
from binnacle.bridge.jobs.protocol import EDITOR_NEEDED
from bridge.debug.desk import values, where


def test_the_test_at_a_line_stops_at_a_breakpoint_and_where_it_fails(desk):
    desk("breakpoint.set", path="test_shop.py", line=19)
    told = desk("test.debug-single", path="test_shop.py", line=18)
    assert told["test"] == "test_shop.py::test_wrong"
    assert (where(told), told["reason"]) == (("test_shop.py", 19), "breakpoint")
    assert values(told["locals"])["found"] == "0"
    told = desk("debug.continue")
    assert where(told) == ("test_shop.py", 19)
    assert told["exception"]["type"] == "AssertionError"
    assert values(told["locals"])["found"] == "0"
    told = desk("debug.continue")
    assert told["exitCode"] == 1
    assert "1 failed" in told["output"]


@pytest.mark.parametrize(
    ("line", "name"),
    [(12, "test_prices"), (14, "test_prices"), (23, "TestItem::test_name"), (30, "Old::test_old")],
)
def test_tests_in_classes_and_with_decorators_are_found(desk, line, name):
    assert find_test(os.path.join(desk.workspace, "test_shop.py"), line) == name


def test_a_test_in_a_class_is_named_as_pytest_names_it(desk):
    told = desk("test.debug-single", path="test_shop.py", line=30)
    assert told["test"] == "test_shop.py::Old::test_old"
    assert told["exitCode"] == 0
    assert "1 passed" in told["output"]


def test_a_line_without_a_test_names_the_tests_there_are(desk):
    error = desk.fails("E_NO_TEST_AT_CURSOR", "test.debug-single", path="test_shop.py", line=34)
    assert "test_total at line 7" in error.hint
    desk.write("plain.py", "x = 1\n")
    desk.fails("E_NO_TEST_AT_CURSOR", "test.debug-single", path="plain.py", line=1)


def test_what_holds_no_tests_of_pytest_is_refused(desk):
    desk.fails("E_FILE_NOT_FOUND", "test.debug-single", path="test_gone.py", line=1)
    desk.write("broken.py", "def test_(:\n")
    desk.fails("E_DISCOVERY_FAILED", "test.debug-single", path="broken.py", line=1)
    desk.write("cart.test.js", "test('x', () => {})\n")
    error = desk.fails("E_UNSUPPORTED", "test.debug-single", path="cart.test.js", line=1)
    assert error.hint == EDITOR_NEEDED


def test_a_whole_file_of_tests_is_debugged(desk):
    desk("breakpoint.set", path="shop.py", line=16)
    told = desk("debug.start", pytest="test_shop.py", args=["-k", "total"])
    assert where(told) == ("shop.py", 16)
    assert desk("debug.continue")["exitCode"] == 0
