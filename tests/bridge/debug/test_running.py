"""Programs are started, stepped through, left running and ended."""

import asyncio
import re
from importlib.metadata import version

import pytest

from binnacle.bridge.debug import adapters
from binnacle.bridge.debug.scripts.script_table import list_capabilities
from binnacle.bridge.jobs.protocol import EDITOR_NEEDED
from binnacle.errors import BridgeError
from bridge.debug.desk import Call, is_there, values, where


def test_a_program_stops_goes_on_and_ends(desk):
    set_ = desk("breakpoint.set", path="shop.py", line=15)
    assert set_["success"]
    assert not set_["verified"]
    assert "session" in set_["message"]

    told = desk("debug.start", program="shop.py", args=["3"])
    assert where(told) == ("shop.py", 15)
    assert told["reason"] == "breakpoint"
    assert told["frames"][0]["code"] == "amount += item.price"
    assert [frame["name"] for frame in told["frames"]] == ["total", "main", "<module>"]
    assert values(told["locals"])["amount"] == "0"
    assert told["output"] == "open\n"

    told = desk("debug.continue")
    assert values(told["locals"])["amount"] == "2"
    assert "output" not in told
    desk("breakpoint.clear.project")
    # Leaving with a code that is not 0 is an exception that nobody catches.
    told = desk("debug.continue")
    assert told["exception"]["type"] == "SystemExit"
    told = desk("debug.continue")
    assert told["state"] == "terminated"
    assert told["exitCode"] == 3
    error = desk.fails("E_NO_SESSION", "debug.continue")
    assert error.hint == "start a debug session first using debug_start"
    assert "exit code 3" in error.message


def test_steps_go_over_into_and_out_of_functions(desk):
    desk.stop_at("shop.py", 22)
    assert where(desk("debug.step-into"))[1] == 13
    assert where(desk("debug.step-over"))[1] == 14
    told = desk("debug.step-out")
    assert where(told)[1] == 22
    assert where(desk("debug.step-over"))[1] == 23


def test_output_comes_with_the_answer_that_follows_it_and_only_once(desk):
    desk("breakpoint.set", path="shop.py", line=24)
    assert desk("debug.start", program="shop.py")["output"] == "open\ntotal 10\n"
    assert "output" not in desk("debug.status")
    assert "output" not in desk("debug.continue")


def test_an_answer_is_cut_where_it_grows_too_large_and_says_how_to_get_the_rest(desk):
    told = desk.stop_at("many.py", 49)
    assert len(told["frames"]) == 5
    assert "debug_stack" in told["moreFrames"]
    assert len(told["output"]) == 4000
    assert "dap_logs" in told["outputCut"]
    assert len(desk("debug.stack")["frames"]) == 11

    desk("breakpoint.clear.project")
    told = desk("debug.step-out")
    while told["frames"][0]["name"] != "crowd":
        told = desk("debug.step-out")
    assert len(told["locals"]) < 40
    assert "debug_get_variable" in told["moreLocals"]


def test_a_program_that_raises_stops_where_it_did(desk):
    told = desk("debug.start", program="crash.py")
    assert told["reason"] == "exception"
    assert told["exception"]["type"] == "ZeroDivisionError"
    assert told["exception"]["message"] == "division by zero"
    assert where(told) == ("crash.py", 5)
    told = desk("debug.continue")
    assert told["state"] == "terminated"
    assert told["exitCode"] == 1
    assert "ZeroDivisionError" in told["output"]


def test_a_start_need_not_wait(desk):
    told = desk("debug.start", program="endless.py", wait=False)
    assert told["state"] == "running"
    desk("breakpoint.set", path="endless.py", line=6)
    told = desk("debug.wait-for-hit")
    assert where(told) == ("endless.py", 6)
    # Asked again, it tells the same.
    assert where(desk("debug.wait-for-hit")) == ("endless.py", 6)
    assert desk("debug.continue", wait=False)["sessionId"] == told["sessionId"]
    assert where(desk("debug.wait-for-hit")) == ("endless.py", 6)


def test_who_waits_is_told_of_the_end_once(desk):
    desk("debug.start", program="shop.py", wait=False)
    told = desk("debug.wait-for-hit")
    assert told["state"] == "terminated"
    assert told["exitCode"] == 0
    desk.fails("E_NO_SESSION", "debug.wait-for-hit")


def test_a_program_that_does_not_stop_is_left_running(desk):
    error = desk.fails("E_TIMEOUT", "debug.start", program="endless.py", timeoutMs=200)
    assert error.retryable
    assert error.details["state"] == "running"
    assert "debug_wait_for_hit" in error.hint
    assert desk("debug.status")["state"] == "running"
    error = desk.fails("E_NOT_PAUSED", "debug.evaluate", expression="count")
    assert "debug_wait_for_hit" in error.hint
    desk.fails("E_NOT_PAUSED", "debug.continue")
    desk.fails("E_NOT_PAUSED", "debug.stack")
    desk.fails("E_TIMEOUT", "debug.wait-for-hit", timeoutMs=50)


def test_a_program_that_stands_is_paused_already(desk):
    told = desk.stop_at("shop.py", 15)
    again = desk("debug.pause", timeoutMs=1)
    assert where(again) == ("shop.py", 15)
    assert again["reason"] == "breakpoint"
    assert desk("debug.pause", sessionId=told["sessionId"])["locals"] == again["locals"]
    assert desk("debug.evaluate", expression="amount")["result"] == "0"


def test_a_running_program_can_be_paused(desk):
    desk("debug.start", program="endless.py", wait=False)
    told = desk("debug.pause")
    assert told["state"] == "paused"
    assert told["frames"][0]["file"] == "endless.py"
    assert desk("debug.evaluate", expression="1 + 1")["result"] == "2"


def test_a_program_is_restarted_with_its_breakpoints(desk):
    first = desk.stop_at("shop.py", 15)
    second = desk("debug.restart")
    assert where(second) == ("shop.py", 15)
    assert second["sessionId"] != first["sessionId"]
    assert values(second["locals"])["amount"] == "0"
    desk("breakpoint.clear.project")
    assert desk("debug.continue")["state"] == "terminated"
    # Also when it has ended by itself.
    assert desk("debug.restart")["state"] == "terminated"


def test_a_stop_ends_the_program_and_all_it_started(desk):
    desk.fails("E_TIMEOUT", "debug.start", program="parent.py", timeoutMs=300)
    process = desk("debug.status")["sessions"][0]["process"]

    async def child() -> int:
        while True:
            lines = (await desk.ask("dap.summary"))["lastLines"]
            if found := re.search(r"child (\d+)'", str(lines)):
                return int(found[1])
            await asyncio.sleep(0.02)

    started = desk.run(child())
    assert is_there(process)
    assert is_there(started)
    told = desk("debug.stop")
    assert told["state"] == "terminated"
    assert not is_there(process)
    assert not is_there(started)
    desk.fails("E_NO_SESSION", "debug.stop")


def test_several_programs_are_debugged_at_once(desk):
    one = desk.stop_at("shop.py", 15)
    other = desk.stop_at("crash.py", 5)
    assert one["sessionId"] != other["sessionId"]
    # Without an id, the one told about last is meant.
    assert desk("debug.evaluate", expression="b")["result"] == "0"
    found = desk("debug.evaluate", expression="amount", sessionId=one["sessionId"])
    assert found["result"] == "0"
    assert {row["sessionId"] for row in desk("debug.status")["sessions"]} == {one["sessionId"], other["sessionId"]}
    assert desk("debug.stop")["sessions"] == [one["sessionId"]]
    assert where(desk("debug.continue")) == ("shop.py", 15)
    desk.fails("E_NO_SESSION", "debug.continue", sessionId=other["sessionId"])
    desk.fails("E_NO_SESSION", "debug.continue", sessionId="77")


def test_no_more_programs_than_a_machine_can_bear(desk, monkeypatch):
    monkeypatch.setattr("binnacle.bridge.debug.debugger.MAX_LIVE_SESSIONS", 1)
    desk.stop_at("shop.py", 15)
    error = desk.fails("E_CAPACITY", "debug.start", program="shop.py")
    assert "debug_stop" in error.hint


def test_a_start_that_is_cancelled_leaves_nothing(desk):
    async def test() -> None:
        call = Call()
        start = asyncio.ensure_future(desk.ask("debug.start", call=call, program="endless.py"))
        await call.began.wait()
        call.cancelled.set()
        with pytest.raises(BridgeError) as caught:
            await start
        assert caught.value.code == "E_CANCELLED"

    desk.run(test())
    desk.fails("E_NO_SESSION", "debug.status")


@pytest.mark.parametrize("way", ["marked", "ended"])
def test_a_wait_that_is_cancelled_leaves_the_program_running(desk, way):
    desk("debug.start", program="endless.py", wait=False)

    async def test() -> None:
        call = Call()
        waiting = asyncio.ensure_future(desk.ask("debug.wait-for-hit", call=call))
        await asyncio.sleep(0.05)
        if way == "marked":
            call.cancelled.set()
            with pytest.raises(BridgeError) as caught:
                await waiting
            assert caught.value.code == "E_CANCELLED"
            assert "debug_wait_for_hit" in caught.value.hint
        else:
            waiting.cancel()
            await asyncio.wait([waiting])

    desk.run(test())
    assert desk("debug.status")["state"] == "running"


def test_threads_are_listed(desk):
    desk.stop_at("threads.py", 15)
    told = desk("debug.threads")
    assert {row["name"]: row["isStopped"] for row in told["threads"]} == {"MainThread": True, "helper": False}
    helper = next(row["id"] for row in told["threads"] if row["name"] == "helper")
    names = [frame["name"] for frame in desk("debug.stack", threadId=helper)["frames"]]
    assert "idle" in names


def test_what_was_tracked_is_told(desk):
    desk.fails("E_NO_SESSION", "debug.tracker")
    told = desk.stop_at("shop.py", 15)
    (row,) = desk("debug.tracker")["sessions"]
    assert row["sessionId"] == told["sessionId"]
    assert row["adapter"] == "debugpy"
    assert row["events"] > 3


@pytest.mark.parametrize(
    "script", ["debug.status", "debug.continue", "debug.step-over", "debug.step-into", "debug.step-out", "debug.stop"]
)
def test_without_a_session_every_script_says_what_to_call(desk, script):
    error = desk.fails("E_NO_SESSION", script)
    assert error.hint == "start a debug session first using debug_start"


@pytest.mark.parametrize("script", ["editor.goto-line", "symbol.rename", "search.symbol-search", "util.restart-vscode"])
def test_what_needs_an_editor_says_so(desk, script):
    error = desk.fails("E_UNSUPPORTED", script)
    assert error.hint == EDITOR_NEEDED
    assert error.details["host"] == "vscode"
    assert script not in list_capabilities()["scripts"]


def test_parameters_of_the_wrong_kind_are_refused(desk):
    desk.fails("E_INVALID_PARAMS", "debug.start", program=["shop.py"])
    desk.fails("E_SCRIPT_NOT_FOUND", "debug.jump")


def test_the_overview_names_adapters_and_how_to_get_others(desk):
    rows = {row["name"]: row for row in adapters.list_adapters(desk.workspace)}
    assert rows["debugpy"]["found"]
    assert rows["debugpy"]["version"] == version("debugpy")
    assert set(rows) == {"debugpy", "js-debug", "lldb-dap", "delve"}
    assert all(row["found"] or row["install"] for row in rows.values())
