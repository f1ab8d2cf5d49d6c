"""Breakpoints belong to the workspace: conditions, counts, messages, functions, exceptions; bound or not."""

import os

import pytest

from binnacle.bridge.debug import hit_conditions
from bridge.debug.desk import values, where


def test_a_condition_decides_whether_to_stop(desk):
    desk("breakpoint.set", path="shop.py", line=15, condition="item.price == 3")
    told = desk("debug.start", program="shop.py")
    assert values(told["locals"])["amount"] == "7"


def test_a_count_decides_when_to_stop(desk):
    desk("breakpoint.set", path="shop.py", line=15, hitCondition="2")
    told = desk("debug.start", program="shop.py")
    assert values(told["locals"])["amount"] == "2"
    assert desk("debug.continue")["state"] == "terminated"
    desk("breakpoint.set", path="shop.py", line=15, hitCondition=">=2")
    assert values(desk("debug.start", program="shop.py")["locals"])["amount"] == "2"
    assert values(desk("debug.continue")["locals"])["amount"] == "7"


@pytest.mark.parametrize(
    ("count", "due"),
    [("2", [2]), ("==2", [2]), (">= 2", [2, 3, 4]), (">2", [3, 4]), ("<2", [1]), ("<=2", [1, 2]), ("%2", [2, 4])],
)
def test_a_count_says_which_hits_stop(count, due):
    hit_conditions.check_hit_condition(count)
    assert [number for number in range(1, 5) if hit_conditions.is_due(count, number)] == due


def test_hits_are_counted_only_where_the_condition_is_true(desk):
    desk("breakpoint.set", path="shop.py", line=15, condition="item.price > 2", hitCondition="%2")
    told = desk("debug.start", program="shop.py")
    assert values(told["locals"])["amount"] == "7"
    assert desk("debug.continue")["state"] == "terminated"


@pytest.mark.parametrize("count", ["often", "> x", "", "-1", "2 3"])
def test_what_is_no_count_is_refused(desk, count):
    error = desk.fails("E_INVALID_PARAMS", "breakpoint.set", path="shop.py", line=15, hitCondition=count)
    assert ">=5 from then on" in error.hint
    assert desk("breakpoint.list")["count"] == 0


def test_a_message_is_written_instead_of_stopping(desk):
    desk("breakpoint.set", path="shop.py", line=15, logMessage="amount is {amount}")
    told = desk("debug.start", program="shop.py")
    assert told["state"] == "terminated"
    assert "amount is 0\n" in told["output"]
    assert "amount is 7\n" in told["output"]
    assert "breakpointsNotHit" not in told


def test_a_function_stops_on_entry(desk):
    desk("breakpoint.set", function="total")
    told = desk("debug.start", program="shop.py")
    assert told["frames"][0]["name"] == "total"
    assert desk("breakpoint.list")["functions"] == [{"name": "total"}]
    desk("breakpoint.remove", function="total")
    assert desk("debug.continue")["state"] == "terminated"
    desk.fails("E_NOT_FOUND", "breakpoint.remove", function="total")


def test_exceptions_stop_by_filter(desk):
    desk.write("caught.py", "try:\n    int('x')\nexcept ValueError:\n    pass\nint('y')\n")
    desk("breakpoint.set", exceptions=["raised"])
    told = desk("debug.start", program="caught.py")
    assert where(told) == ("caught.py", 2)
    assert told["exception"]["type"] == "ValueError"
    desk.fails("E_INVALID_PARAMS", "breakpoint.set", exceptions=["sometimes"])
    # None at all: it ends as it would without a debugger.
    desk("breakpoint.set", exceptions=[])
    told = desk("debug.continue")
    assert told["state"] == "terminated"
    assert told["exitCode"] == 1


def test_breakpoints_outlive_sessions_and_hosts(desk):
    desk("breakpoint.set", path="shop.py", line=15, condition="amount > 0")
    desk("breakpoint.set", function="main")
    desk("breakpoint.set", exceptions=["raised"])
    desk.restart()
    told = desk("breakpoint.list")
    assert told["count"] == 1
    assert told["breakpoints"][0]["condition"] == "amount > 0"
    assert told["functions"] == [{"name": "main"}]
    assert told["exceptions"] == ["raised"]
    assert desk("debug.start", program="shop.py")["frames"][0]["name"] == "main"
    assert values(desk("debug.continue")["locals"])["amount"] == "2"


def test_a_file_of_breakpoints_that_is_damaged_is_put_aside(desk):
    desk("breakpoint.set", path="shop.py", line=15)
    file = os.path.join(desk.debugger.folder, "breakpoints.json")
    with open(file, "w", encoding="utf-8") as damaged:
        damaged.write('{"lines": [')
    desk.restart()
    assert desk("breakpoint.list")["count"] == 0
    assert os.path.exists(f"{file}.bad")


def test_one_on_a_line_without_code_says_where_it_is_bound(desk):
    desk("breakpoint.set", path="shop.py", line=17)
    desk.stop_at("shop.py", 15)
    rows = {row["line"]: row for row in desk("breakpoint.list")["breakpoints"]}
    assert rows[15]["verified"]
    assert "boundLine" not in rows[15]
    assert rows[17]["verified"]
    assert rows[17]["boundLine"] != 17


def test_a_run_says_at_the_end_which_were_never_reached(desk):
    desk("breakpoint.set", path="crash.py", line=5)
    desk("breakpoint.set", path="shop.py", line=22)
    assert where(desk("debug.start", program="shop.py"))[1] == 22
    told = desk("debug.continue")
    assert told["state"] == "terminated"
    assert told["breakpointsNotHit"] == [{"path": "crash.py", "line": 5}]
    assert told["hint"]


def test_they_can_be_set_and_removed_while_a_program_runs(desk):
    desk("debug.start", program="endless.py", wait=False)
    set_ = desk("breakpoint.set", path="endless.py", line=6)
    assert set_["verified"]
    desk("debug.wait-for-hit")
    assert desk("breakpoint.remove", path="endless.py", line=6)["success"]
    desk.fails("E_TIMEOUT", "debug.continue", timeoutMs=300)


def test_setting_one_again_changes_it(desk):
    desk("breakpoint.set", path="shop.py", line=15, condition="False")
    desk("breakpoint.set", path="shop.py", line=15)
    told = desk("breakpoint.list")
    assert told["count"] == 1
    assert "condition" not in told["breakpoints"][0]


def test_they_are_cleared_by_file_or_all(desk):
    for path, line in (("shop.py", 15), ("shop.py", 22), ("crash.py", 5), ("endless.py", 6)):
        desk("breakpoint.set", path=path, line=line)
    assert desk("breakpoint.clear.file", path="shop.py")["removed"] == 2
    assert desk("breakpoint.clear.file", path="shop.py")["removed"] == 0
    desk.fails("E_FILE_NOT_FOUND", "breakpoint.clear.file", path="gone.py")
    assert desk("breakpoint.clear.project")["removed"] == 2
    assert desk("breakpoint.list")["breakpoints"] == []


def test_absolute_paths_are_as_good(desk):
    path = os.path.join(desk.workspace, "shop.py")
    assert desk("breakpoint.set", path=path, line=15)["path"] == "shop.py"
    desk("breakpoint.remove", path="shop.py", line=15)


@pytest.mark.parametrize(
    ("code", "params"),
    [
        ("E_FILE_NOT_FOUND", {"path": "gone.py", "line": 1}),
        ("E_FILE_NOT_FOUND", {"path": ".", "line": 1}),
        ("E_INVALID_LINE", {"path": "shop.py", "line": 4000}),
        ("E_INVALID_LINE", {"path": "shop.py", "line": 0}),
        ("E_MISSING_REQUIRED_PARAM", {"path": "shop.py"}),
        ("E_INVALID_PARAMS", {"path": "shop.py", "line": "x"}),
    ],
)
def test_a_place_that_is_none_is_refused(desk, code, params):
    desk.fails(code, "breakpoint.set", **params)
    assert desk("breakpoint.list")["count"] == 0


def test_removing_what_is_not_there_is_an_error(desk):
    desk.fails("E_NOT_FOUND", "breakpoint.remove", path="shop.py", line=3)
    desk.fails("E_INVALID_PARAMS", "breakpoint.remove", path="shop.py")
