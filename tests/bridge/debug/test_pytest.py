"""Tests of pytest under the debugger: the one that was named runs, and it stops where it fails and nowhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from binnacle.bridge.debug.launch_request import StartParams, prepare_launch
from binnacle.bridge.debug.pytest_stops import PYTEST_PLUGIN
from bridge.debug.desk import Desk, values, where

NEEDED = ("pytest", "_pytest", "py.py", "pluggy*", "iniconfig*", "packaging*", "pygments*")
"""pytest and what it needs; neither pytest-xdist nor pytest-cov."""

CAUGHT = """\
import warnings

import pytest


def fail(text="no"):
    raise ValueError(text)


class Closing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        raise KeyError("closed")


@pytest.fixture
def shaky():
    with pytest.raises(ValueError):
        fail()
    yield 1
    with pytest.raises(ValueError):
        fail()


def test_block(shaky):
    with pytest.raises(ValueError, match="no"):
        fail()


def test_function():
    pytest.raises(ValueError, fail)


def test_inside_another():
    with pytest.raises(KeyError), Closing():
        fail()


def test_group():
    with pytest.RaisesGroup(ValueError):
        raise ExceptionGroup("several", [ValueError("one")])


def test_warning():
    with pytest.warns(UserWarning):
        warnings.warn("careful", stacklevel=1)


def test_import():
    pytest.importorskip("no_such_module_anywhere")


def test_skip():
    pytest.skip("not today")


@pytest.mark.xfail(raises=ValueError)
def test_expected():
    fail()


def test_late_expectation():
    pytest.xfail("known")


def test_handled():
    try:
        fail()
    except ValueError:
        pass


def test_sorted():
    with pytest.raises(ValueError):
        sorted([1, 2], key=lambda one: fail())
"""

FAILING = """\
import unittest

import pytest


def divide(by):
    rest = 1
    return rest / by


@pytest.fixture
def broken():
    ready = 0
    raise LookupError("before")


@pytest.fixture
def untidy():
    yield
    left = 3
    raise OSError("after")


def test_call():
    divisor = 0
    divide(divisor)


def test_setup(broken):
    pass


def test_teardown(untidy):
    pass


def test_not_raised():
    wanted = 5
    with pytest.raises(ValueError):
        wanted += 1


def test_library():
    text = "x"
    int.from_bytes(text)


class Old(unittest.TestCase):
    def test_old(self):
        old = 4
        self.assertEqual(old, 5)


def test_exit():
    code = 2
    raise SystemExit(code)
"""


@pytest.fixture
def plain(desk: Desk) -> str:
    """A Python of the project that has pytest and no plugin of it."""
    home = Path(desk.workspace, ".venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True, timeout=60)
    packages = Path(pytest.__file__).parent.parent
    (there,) = home.glob("lib/python*/site-packages")
    for pattern in NEEDED:
        for one in packages.glob(pattern):
            os.symlink(one, there / one.name)
    return str(home / "bin" / "python")


def test_the_test_that_was_named_runs_alone_where_pytest_has_no_plugins(desk, plain):
    told = desk("test.debug-single", path="test_shop.py", line=8)
    assert told["exitCode"] == 0, told.get("output")
    assert "1 passed" in told["output"]


@pytest.mark.parametrize("args", [[], None, ["-q"]])
def test_the_test_that_was_named_stands_before_whatever_arguments_are_given(desk, args):
    launch = prepare_launch(StartParams(pytest="test_shop.py::test_total", args=args), desk.workspace)
    assert launch.configuration["args"] == ["-p", PYTEST_PLUGIN, "test_shop.py::test_total", *(args or [])]


def test_the_test_that_was_named_runs_alone(desk):
    told = desk("debug.start", pytest="test_shop.py::test_total", args=["-q"])
    assert told["exitCode"] == 0, told.get("output")
    assert "1 passed" in told["output"]


def test_what_a_test_or_pytest_catches_stops_nothing(desk):
    desk.write("test_caught.py", CAUGHT)
    told = desk("debug.start", pytest="test_caught.py", args=["-p", "no:cacheprovider"])
    assert told["state"] == "terminated", (told["exception"], told["frames"][0])
    assert told["exitCode"] == 0, told["output"]
    assert "7 passed, 2 skipped, 2 xfailed" in told["output"]


FAILURES = {
    "test_call": ("ZeroDivisionError", "divide", 8, ("by", "0")),
    "test_setup": ("LookupError", "broken", 14, ("ready", "0")),
    "test_teardown": ("OSError", "untidy", 21, ("left", "3")),
    "test_not_raised": ("Failed", "test_not_raised", 39, ("wanted", "6")),
    "test_library": ("TypeError", "test_library", 45, ("text", "'x'")),
    "Old::test_old": ("AssertionError", "test_old", 51, ("old", "4")),
    "test_exit": ("SystemExit", "test_exit", 56, ("code", "2")),
}
"""What each test of `FAILING` fails with, in which function, at which line, and a variable there."""


def test_each_test_that_fails_stops_once_in_the_frame_that_failed_and_breakpoints_stop_between_them(desk):
    desk.write("test_failing.py", FAILING)
    desk("breakpoint.set", path="test_failing.py", line=50)
    told = desk("debug.start", pytest=[f"test_failing.py::{test}" for test in FAILURES])
    for test, (kind, name, line, shown) in FAILURES.items():
        if test == "Old::test_old":
            assert (where(told), told["reason"]) == (("test_failing.py", 50), "breakpoint")
            assert where(desk("debug.step-over")) == ("test_failing.py", 51)
            told = desk("debug.continue")
        assert where(told) == ("test_failing.py", line), test
        assert told["reason"] == "exception"
        assert told["exception"]["type"] == kind
        assert told["frames"][0]["name"] == name
        assert shown in values(told["locals"]).items()
        assert desk("debug.evaluate", expression=shown[0])["result"] == shown[1]
        told = desk("debug.continue")
    assert told["exitCode"] == 1


def test_a_file_of_tests_that_cannot_be_loaded_stops_where_it_fails(desk):
    desk.write("test_unloadable.py", "size = 2\nhalf = size / 0\n\n\ndef test_it():\n    pass\n")
    told = desk("debug.start", pytest="test_unloadable.py")
    assert where(told) == ("test_unloadable.py", 2)
    assert told["exception"]["type"] == "ZeroDivisionError"


def test_without_exceptions_no_failing_test_stops(desk):
    desk.write("test_failing.py", FAILING)
    assert desk("breakpoint.set", exceptions=[])["exceptions"] == []
    told = desk("debug.start", pytest="test_failing.py")
    assert told["state"] == "terminated", told["exception"]
    assert told["exitCode"] == 1
    desk("breakpoint.clear.project")
    assert desk("debug.start", pytest="test_failing.py")["state"] == "paused"
    desk("breakpoint.set", exceptions=[])  # while tests run
    assert desk("debug.continue")["state"] == "terminated"


def test_tests_that_fail_in_workers_stop_there(desk):
    desk.write("test_failing.py", FAILING)
    told = desk("debug.start", pytest="test_failing.py::test_call", args=["-n1"], timeoutMs=50_000)
    assert where(told) == ("test_failing.py", 8)
    assert "." in told["sessionId"]
    assert values(told["locals"])["by"] == "0"
    assert desk("debug.continue", timeoutMs=50_000)["exitCode"] == 1


def test_a_test_sees_no_trace_of_how_failures_are_found_and_leaves_the_folders_of_other_runs_alone(desk, monkeypatch):
    """To remove the folders of a whole suite takes minutes under a debugger, and looks as if a stop had been lost."""
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    desk.write(
        "test_environment.py",
        "import os, sys\n\n\n"
        "def test_it(tmp_path):\n    print(f'in {tmp_path}')\n    print(os.environ.get('PYTHONPATH'), sys.argv[1:])\n",
    )
    told = desk("debug.start", pytest="test_environment.py", args=["-s"])
    assert told["exitCode"] == 0
    assert f"in {os.environ['PYTEST_DEBUG_TEMPROOT']}/" in told["output"]
    assert "/elsewhere [" in told["output"]


def test_a_python_that_ignores_its_path_runs_tests_and_says_that_failures_do_not_stop(desk):
    launch = {"type": "debugpy", "request": "launch", "module": "pytest", "python": [sys.executable, "-E"]}
    told = desk("debug.start", launch=launch | {"args": ["test_shop.py::test_wrong"]})
    assert told["exitCode"] == 1
    assert "failing tests do not stop" in told["notes"][0]
