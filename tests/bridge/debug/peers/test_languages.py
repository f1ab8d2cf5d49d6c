"""What holds for every language, on the same program written in each."""

import os
import signal
from typing import Any

import pytest

from binnacle.bridge.debug import adapters
from binnacle.errors import BridgeError
from bridge.debug.desk import Desk, values, where
from bridge.debug.peers.conftest import Language

pytestmark = pytest.mark.peers


def start(desk: Desk, language: Language, *args: str, **params: Any) -> Any:
    given = {"args": list(args), "env": {"GREETING": "bye"}, "timeoutMs": 50_000}
    return desk("debug.start", program=language.program, **(given | params))


def test_a_program_stops_is_looked_into_changed_and_goes_on(desk, language):
    desk("breakpoint.set", path=language.source, line=language.sum_line)
    told = start(desk, language)
    assert where(told) == (language.source, language.sum_line)
    assert told["reason"] == "breakpoint"
    assert values(told["locals"])["total"] == "0"
    assert desk("breakpoint.list")["breakpoints"][0]["verified"]
    assert desk("debug.evaluate", expression="total + 40")["result"] == "40"
    assert "nix" in desk.fails("E_INVALID_EXPRESSION", "debug.evaluate", expression="nix").message

    assert desk("debug.set-variable", name="total", value="100")["value"] == "100"
    desk.fails("E_VARIABLE_NOT_FOUND", "debug.set-variable", name="nix", value="1")
    told = desk("debug.step-over")
    assert where(told) == (language.source, language.sum_line + 1)
    assert values(told["locals"])["sum"] == "103"
    assert desk("debug.step-out")["frames"][0]["line"] in (language.call_line, language.call_line + 1)

    told = desk("debug.continue")
    assert values(told["locals"])["total"] == "103"
    assert "total 103 bye\n" in told["output"]
    desk("breakpoint.clear.project")
    told = desk("debug.continue")
    assert told["state"] == "terminated"
    assert told["exitCode"] == 115
    assert "total 115 bye\n" in told["output"]


def test_locals_and_members_of_them_are_shown(desk, language):
    desk("breakpoint.set", path=language.source, line=language.call_line)
    told = start(desk, language)
    assert {"item", "cart", "total"} <= values(told["locals"]).keys()
    assert "tea" in values(told["locals"])["item"]
    scopes = desk("debug.list-variables")["scopes"]
    item = next(one for scope in scopes for one in scope.get("variables", ()) if one["name"] == "item")
    assert {name.lower(): value for name, value in values(item["variables"]).items()}["price"] == "3"
    cart = next(one for one in told["locals"] if one["name"] == "cart")
    members = desk("debug.get-variable", variablesReference=cart["variablesReference"])["variables"]
    assert len([one for one in members if one["name"].strip("[]").isdigit()]) == 3


def test_a_step_goes_into_a_function(desk, language):
    desk("breakpoint.set", path=language.source, line=language.call_line)
    start(desk, language)
    told = desk("debug.step-into")
    assert "add" in told["frames"][0]["name"]
    assert told["frames"][1]["line"] == language.call_line


@pytest.mark.parametrize("kind", [{"condition": "total == 8"}, {"hitCondition": "3"}], ids=["condition", "count"])
def test_breakpoints_with_a_condition_or_a_count(desk, language, kind):
    desk("breakpoint.set", path=language.source, line=language.call_line, **kind)
    assert values(start(desk, language)["locals"])["total"] == "8"
    assert desk("debug.continue")["exitCode"] == 15


@pytest.mark.parametrize(
    ("kind", "totals"),
    [
        ({"hitCondition": "2"}, ["3"]),
        ({"hitCondition": ">=2"}, ["3", "8"]),
        ({"hitCondition": "2", "condition": "total > 0"}, ["8"]),
    ],
    ids=["one", "from", "where"],
)
def test_a_count_means_what_it_means_for_python(desk, language, kind, totals):
    desk("breakpoint.set", path=language.source, line=language.call_line, **kind)
    told, found = start(desk, language), []
    while told["state"] == "paused":
        found.append(values(told["locals"])["total"])
        told = desk("debug.continue")
    assert found == totals


def test_breakpoints_that_print_instead(desk, language):
    desk("breakpoint.set", path=language.source, line=language.call_line, logMessage="so far {total}")
    told = start(desk, language)
    assert told["exitCode"] == 15
    assert [number for number in ("0", "3", "8") if f"so far {number}" in told["output"]] == ["0", "3", "8"]


def test_breakpoints_on_functions_or_that_there_are_none(desk, language):
    desk("breakpoint.set", function=language.function, condition="total == 8")
    told = start(desk, language)
    if language.adapter is adapters.NODE:
        assert told["exitCode"] == 15
        assert told["notes"] == ["js-debug has no breakpoints on functions, so there is none on add"]
    else:
        assert "add" in told["frames"][0]["name"]
        assert values(told["locals"])["total"] == "8"


def test_exceptions_stop_a_program(desk, language):
    if language.exceptions:
        desk("breakpoint.set", exceptions=language.exceptions)
    told = start(desk, language, "poor")
    assert told["reason"] == "exception"
    assert (language.source, language.raise_line) in [(one["file"], one["line"]) for one in told["frames"]]
    desk("breakpoint.set", exceptions=[])
    told = desk("debug.continue")
    if told["state"] == "paused":
        assert told["exception"]["message"] == "signal SIGABRT"
        told = desk("debug.continue")
    assert told["exitCode"] not in (0, None)


def test_a_running_program_is_paused_and_ended(desk, language):
    desk("debug.start", program=language.program, args=["endlessly"], timeoutMs=50_000, wait=False)
    error = desk.fails("E_TIMEOUT", "debug.wait-for-hit", timeoutMs=3_000)
    assert error.details["state"] == "running"
    told = desk("debug.pause")
    assert told["reason"] in ("pause", "step"), "js-debug goes on to a line of the program's own"
    assert told["frames"]
    desk("debug.stop")
    assert len(desk.stage.processes()) == 1, "the keeper alone"


def test_a_program_stops_at_its_entry(desk, language):
    assert start(desk, language, stopOnEntry=True)["reason"] == "entry"
    if language.adapter is not adapters.NODE:  # js-debug comes to a stop there again and again
        assert desk("debug.continue")["exitCode"] == 15


def test_an_adapter_that_is_killed_is_a_coded_error_and_the_next_call_works(desk, language):
    desk("breakpoint.set", path=language.source, line=language.sum_line)
    start(desk, language)
    os.kill(desk.debugger.live()[-1]._adapter._process.pid, signal.SIGKILL)

    async def notice() -> BridgeError:
        while True:
            try:
                await desk.ask("debug.evaluate", expression="1")
            except BridgeError as error:
                return error

    assert desk.run(notice()).code in ("E_NO_SESSION", "E_SESSION_TERMINATED")
    assert where(start(desk, language)) == (language.source, language.sum_line)


def test_its_adapter_is_told_with_a_version(desk, language):
    row = next(row for row in adapters.list_adapters(desk.workspace) if row["name"] == language.id)
    assert row["found"]
    assert os.path.exists(str(row["path"]))
    assert str(row["version"])[0].isdigit()
