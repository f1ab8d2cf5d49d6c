"""Processes that a program starts join its session."""

from bridge.debug.desk import values, where


def test_a_child_stops_at_breakpoints_too(desk):
    desk("breakpoint.set", path="family.py", line=6)
    told = desk("debug.start", program="family.py")
    assert where(told) == ("family.py", 6)
    root, _, number = told["sessionId"].partition(".")
    assert number
    assert values(told["locals"])["doubled"] == "8"
    # Without an id, the process that stands is meant; so it is with the id of the whole.
    assert desk("debug.evaluate", expression="number")["result"] == "4"
    assert desk("debug.evaluate", expression="number", sessionId=root)["result"] == "4"
    assert desk("debug.threads", sessionId=told["sessionId"])["state"] == "paused"
    (row,) = desk("debug.status")["sessions"]
    assert row["state"] == "running"
    assert told["sessionId"] in [child["sessionId"] for child in row["children"]]

    told = desk("debug.continue")
    assert told["sessionId"] == root
    assert told["state"] == "terminated"
    assert told["exitCode"] == 0
    assert "sum 8" in told["output"]
    assert "breakpointsNotHit" not in told


def test_a_stop_ends_children_as_well(desk):
    desk("breakpoint.set", path="family.py", line=6)
    desk("debug.start", program="family.py")
    before = len(desk.stage.processes())
    assert desk("debug.stop")["state"] == "terminated"
    assert len(desk.stage.processes()) <= 1 < before


def test_workers_of_pytest_stop_one_after_the_other(desk):
    desk("breakpoint.set", path="test_shop.py", line=14)
    told = desk("debug.start", pytest="test_shop.py::test_prices", args=["-n2", "--dist=each"], timeoutMs=50_000)
    seen = []
    while told["state"] == "paused":
        assert where(told) == ("test_shop.py", 14)
        seen.append((told["sessionId"], values(told["locals"])["price"]))
        told = desk("debug.continue", timeoutMs=50_000)
    assert told["exitCode"] == 0
    assert len(seen) == 4
    assert len({session for session, _ in seen}) == 2
    assert sorted(price for _, price in seen) == ["1", "1", "2", "2"]
