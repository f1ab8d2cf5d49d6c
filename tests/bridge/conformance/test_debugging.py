"""Programs are debugged alike by every host."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from bridge.conformance.desk import values, wait_until, where

NEEDS_SESSION = [
    ("debug.evaluate", {"expression": "x"}),
    ("debug.continue", {}),
    ("debug.step-over", {}),
    ("debug.step-into", {}),
    ("debug.step-out", {}),
    ("debug.pause", {}),
    ("debug.stop", {}),
    ("debug.status", {}),
    ("debug.stack", {}),
    ("debug.threads", {}),
    ("debug.list-variables", {}),
    ("debug.set-variable", {"name": "x", "value": "1"}),
    ("debug.save-variable", {"expression": "x", "outputPath": "x.jsonl"}),
    ("debug.wait-for-hit", {}),
]

SUM = """\
function add() {
  let sum = 0;
  for (let i = 1; i < 3; i++) {
    sum += i;
  }
  return sum;
}
add();
process.exit(3);
"""


CAUGHT = """\
import pytest


def fail():
    raise ValueError("no")


def test_function():
    pytest.raises(ValueError, fail)


def test_import():
    pytest.importorskip("no_such_module_anywhere")


@pytest.mark.xfail
def test_expected():
    fail()
"""

CHAIN = """\
def read():
    raise KeyError("a")


def load():
    try:
        read()
    except KeyError as error:
        raise LookupError from error


load()
"""


@pytest.mark.parametrize(("script", "params"), NEEDS_SESSION)
def test_without_a_session_the_next_step_is_said(desk, script, params):
    assert "debug_start" in desk.fails("E_NO_SESSION", script, **params).hint


def test_a_program_is_debugged_from_its_first_stop_to_its_end(desk):
    told = desk.stop_at("shop.py", 15)
    assert told["reason"] == "breakpoint"
    assert [frame["name"] for frame in told["frames"]][:2] == ["total", "main"]
    assert told["frames"][0]["code"] == "amount += item.price"
    assert values(told["locals"])["amount"] == "0"
    assert told["output"] == "open\n"
    assert desk("debug.evaluate", expression="amount + 40")["result"] == "40"
    assert values(desk("debug.continue")["locals"])["amount"] == "2"
    assert desk("debug.set-variable", name="amount", value=100)["value"] == "100"
    desk("breakpoint.clear.project")
    ended = desk("debug.continue")
    assert (ended["state"], ended["exitCode"]) == ("terminated", 0)
    assert ended["output"] == "total 108\n"
    assert "is over" in desk.fails("E_NO_SESSION", "debug.status").message


def test_exceptions_and_frames_have_plain_names(desk):
    desk.write("chain.py", CHAIN)
    told = desk("debug.start", program="chain.py")
    assert told["exception"] == {"type": "LookupError", "message": "", "mode": "unhandled"}
    assert [one["name"] for one in told["frames"]] == ["load", "<module>", "load", "read"]
    assert [one.get("cause") for one in told["frames"]] == [None, None, "'a'", "'a'"]


def test_steps(desk):
    desk.stop_at("shop.py", 22)
    assert where(desk("debug.step-into")) == ("shop.py", 13)
    assert where(desk("debug.step-over")) == ("shop.py", 14)
    assert where(desk("debug.step-out")) == ("shop.py", 22)


def test_variables_by_scope_page_and_depth(desk):
    told = desk.stop_at("shop.py", 15)
    frame = told["frames"][0]["id"]
    scopes = desk("debug.scopes", frameId=frame)["scopes"]
    assert scopes[0]["name"] == "Locals"
    page = desk("debug.get-variable", variablesReference=scopes[0]["variablesReference"], count=1)
    assert [one["name"] for one in page["variables"]] == ["amount"]
    assert page["more"] == "call with start=1"
    tree = desk("debug.list-variables", scope="local")["scopes"]
    items = next(one for one in tree[0]["variables"] if one["name"] == "items")
    assert values(items["variables"][0]["variables"]) == {"name": "'pen'", "price": "2"}
    assert desk("debug.stack", count=1)["more"].startswith("2; call with start=1")
    assert desk("debug.threads")["threads"][0]["isStopped"] is True


def test_old_ids_are_known_to_be_old(desk):
    frame = desk.stop_at("shop.py", 15)["frames"][0]["id"]
    desk("debug.step-over")
    desk.fails("E_STALE_REFERENCE", "debug.scopes", frameId=frame)
    desk.fails("E_INVALID_REFERENCE", "debug.scopes", frameId=1)
    desk.fails("E_INVALID_REFERENCE", "debug.get-variable", variablesReference=2)


def test_expressions_and_values_that_fail_say_why(desk):
    desk.stop_at("shop.py", 15)
    assert "NameError" in desk.fails("E_INVALID_EXPRESSION", "debug.evaluate", expression="nothing").message
    desk.fails("E_VARIABLE_NOT_FOUND", "debug.set-variable", name="nothing", value="1")
    desk.fails("E_SET_FAILED", "debug.set-variable", name="amount", value="nothing")
    desk.fails("E_NOT_EXPANDABLE", "debug.save-variable", expression="1", outputPath="a.jsonl")
    desk.fails("E_EVALUATE_FAILED", "debug.save-variable", expression="nothing", outputPath="a.jsonl")


def test_an_expression_that_takes_too_long_is_told_of_until_it_is_done(desk):
    desk.stop_at("shop.py", 15)
    desk.fails("E_TIMEOUT", "debug.evaluate", expression="__import__('time').sleep(5)", timeoutMs=100)
    desk.fails("E_BUSY", "debug.evaluate", expression="1")


def test_large_variables_are_saved(desk):
    desk.stop_at("shop.py", 15)
    told = desk(
        "debug.save-variable", expression="{n: 'é' * n for n in range(500)}", outputPath="out/a.jsonl", maxItems=400
    )
    assert (told["path"], told["items"]) == ("out/a.jsonl", 400)
    assert told["more"].startswith("500 in all")
    lines = [json.loads(line) for line in (desk.workspace / "out" / "a.jsonl").read_text().splitlines()]
    assert lines[2] == {"name": "2", "type": "str", "value": "éé"}


class TestBreakpoints:
    def test_they_are_set_listed_and_removed(self, desk):
        told = desk("breakpoint.set", path="shop.py", line=15, condition="amount > 1")
        assert (told["path"], told["line"], told["condition"], told["verified"]) == ("shop.py", 15, "amount > 1", False)
        desk("breakpoint.set", path=str(desk.workspace / "shop.py"), line=16)
        listed = desk("breakpoint.list")
        assert [one["line"] for one in listed["breakpoints"]] == [15, 16]
        assert desk("breakpoint.remove", path="shop.py", line=16) == {"success": True}
        assert desk("breakpoint.clear.file", path="shop.py") == {"success": True, "removed": 1}
        assert desk("breakpoint.list") == {"breakpoints": [], "count": 0}

    def test_a_second_one_on_a_line_takes_the_place_of_the_first(self, desk):
        desk("breakpoint.set", path="shop.py", line=15, condition="False")
        desk("breakpoint.set", path="shop.py", line=15)
        assert "condition" not in desk("breakpoint.list")["breakpoints"][0]

    def test_places_that_are_not_there(self, desk):
        error = desk.fails("E_FILE_NOT_FOUND", "breakpoint.set", path="none.py", line=1)
        assert error.details["resolved"] == str(desk.workspace / "none.py")
        desk.fails("E_INVALID_LINE", "breakpoint.set", path="shop.py", line=500)
        desk.fails("E_NOT_FOUND", "breakpoint.remove", path="shop.py", line=3)
        desk.fails("E_NOT_FOUND", "breakpoint.remove", function="nothing")

    def test_conditions_and_counts(self, desk):
        desk("breakpoint.set", path="shop.py", line=15, condition="item.name == 'ink'")
        assert values(desk("debug.start", program="shop.py")["locals"])["amount"] == "2"
        desk("debug.stop")
        desk("breakpoint.set", path="shop.py", line=15, hitCondition="3")
        assert values(desk("debug.start", program="shop.py")["locals"])["amount"] == "7"
        desk("debug.stop")
        desk("breakpoint.set", path="shop.py", line=15, condition="amount > 1", hitCondition=">=2")
        assert values(desk("debug.start", program="shop.py")["locals"])["amount"] == "7", "the second that is so"
        desk.fails("E_INVALID_PARAMS", "breakpoint.set", path="shop.py", line=15, hitCondition="often")

    def test_a_message_in_the_place_of_a_stop(self, desk):
        desk("breakpoint.set", path="shop.py", line=15, logMessage="now {amount}")
        told = desk("debug.start", program="shop.py")
        assert told["state"] == "terminated"
        assert re.findall(r"now \d", told["output"]) == ["now 0", "now 2", "now 7"]

    def test_functions(self, desk):
        assert desk("breakpoint.set", function="total") == {"success": True, "function": "total"}
        assert desk("breakpoint.list")["functions"] == [{"name": "total"}]
        assert desk("debug.start", program="shop.py")["frames"][0]["name"] == "total"
        assert desk("breakpoint.remove", function="total") == {"success": True}

    def test_exceptions(self, desk):
        assert desk("breakpoint.set", exceptions=["raised"]) == {"success": True, "exceptions": ["raised"]}
        assert desk("breakpoint.list")["exceptions"] == ["raised"]
        told = desk("debug.start", program="crash.py")
        assert (told["reason"], told["exception"]["type"]) == ("exception", "ZeroDivisionError")
        assert where(told) == ("crash.py", 5)
        assert "raised" in desk.fails("E_INVALID_PARAMS", "breakpoint.set", exceptions=["odd"]).hint

    def test_without_a_choice_what_nobody_catches_stops(self, desk):
        told = desk("debug.start", program="crash.py")
        assert told["exception"]["message"] == "division by zero"
        assert desk("debug.continue")["exitCode"] == 1

    def test_they_can_be_set_while_a_program_stands(self, desk):
        desk.stop_at("shop.py", 20)
        told = desk("breakpoint.set", path="shop.py", line=23)
        assert told["verified"] is True
        assert where(desk("debug.continue")) == ("shop.py", 23)

    def test_the_end_names_those_at_which_nothing_stopped(self, desk):
        desk("breakpoint.set", path="shop.py", line=15, condition="False")
        told = desk("debug.start", program="shop.py")
        assert told["breakpointsNotHit"] == [{"path": "shop.py", "line": 15}]
        assert told["hint"]


class TestRunning:
    def test_it_can_be_left_running_waited_for_and_paused(self, desk):
        told = desk("debug.start", program="endless.py", wait=False)
        assert told["state"] == "running"
        assert desk.fails("E_TIMEOUT", "debug.wait-for-hit", timeoutMs=300).details["state"] == "running"
        assert "debug_pause" in desk.fails("E_NOT_PAUSED", "debug.evaluate", expression="1").hint
        assert desk("debug.pause")["state"] == "paused"
        assert desk("debug.pause", timeoutMs=1)["state"] == "paused", "and where, at once"
        assert desk("debug.wait-for-hit")["state"] == "paused"
        assert desk("debug.stop")["state"] == "terminated"

    def test_it_starts_again(self, desk):
        first = desk.stop_at("shop.py", 15)["sessionId"]
        told = desk("debug.restart")
        assert where(told) == ("shop.py", 15)
        assert told["sessionId"] != first
        assert desk("debug.stop")["state"] == "terminated"
        assert where(desk("debug.restart")) == ("shop.py", 15), "also one that is over"

    def test_several_are_told_apart(self, desk):
        first = desk.stop_at("shop.py", 15)["sessionId"]
        second = desk("debug.start", program="endless.py", wait=False)["sessionId"]
        assert {one["sessionId"] for one in desk("debug.status")["sessions"]} == {first, second}
        assert desk("debug.evaluate", expression="amount", sessionId=first)["result"] == "0"
        assert desk("debug.stop", sessionId=second)["sessions"] == [first]
        desk.fails("E_NO_SESSION", "debug.status", sessionId=second)
        assert {one["sessionId"] for one in desk("debug.tracker")["sessions"]} >= {first, second}

    def test_arguments_environment_and_directory(self, desk):
        desk.write(
            "sub/say.py", "import os, sys\nprint(sys.argv[1:], os.environ['WORD'], os.path.basename(os.getcwd()))\n"
        )
        told = desk("debug.start", program="sub/say.py", args=["a b", "c"], env={"WORD": "w"}, cwd="sub")
        assert told["output"] == "['a b', 'c'] w sub\n"

    def test_modules_and_entries(self, desk):
        told = desk("debug.start", module="shop", stopOnEntry=True)
        assert told["state"] == "paused"
        assert told["frames"][0]["file"] == "shop.py"

    @pytest.mark.parametrize(
        ("params", "code"),
        [
            ({}, "E_MISSING_REQUIRED_PARAM"),
            ({"program": "shop.py", "module": "shop"}, "E_INVALID_PARAMS"),
            ({"program": "none.py"}, "E_FILE_NOT_FOUND"),
            ({"pytest": "none.py"}, "E_FILE_NOT_FOUND"),
            ({"program": "shop.py", "cwd": "none"}, "E_INVALID_PATH"),
            ({"program": "shop.py", "folder": "none"}, "E_INVALID_PATH"),
            ({"program": "shop.py", "python": "/no/python"}, "E_FILE_NOT_FOUND"),
            ({"program": "shop.py", "python": "/bin/false"}, "E_LAUNCH_FAILED"),
            ({"launch": "None"}, "E_NOT_FOUND"),
            ({"launch": {"type": "cobol", "request": "launch"}}, "E_UNSUPPORTED"),
            ({"pid": 2**22 + 1}, "E_NOT_FOUND"),
        ],
    )
    def test_what_cannot_be_started_says_why(self, desk, params, code):
        if "launch" in params:
            desk.write(".vscode/launch.json", '{"configurations": []}')
        assert desk.fails(code, "debug.start", **params).hint

    def test_configurations_of_launch_json(self, desk):
        desk.write(
            ".vscode/launch.json",
            """{
              // as people write it
              "configurations": [
                {"name": "Shop", "type": "debugpy", "request": "launch", "program": "${workspaceFolder}/say.py",
                 "args": ["1"], "envFile": "${workspaceFolder}/.words",},
                {"name": "File", "type": "python", "request": "launch", "program": "${file}"},
              ],
            }""",
        )
        desk.write(".words", "# words\nexport WORD='two words'\n")
        desk.write("say.py", "import os, sys\nprint(sys.argv[1:], os.environ.get('WORD'))\n")
        assert desk("debug.start", launch="Shop")["output"] == "['1'] two words\n"
        assert desk("debug.start", launch="Shop", args=["2"])["output"] == "['2'] two words\n"
        assert desk("debug.start", launch="File", file="say.py")["output"] == "[] None\n"
        assert "Shop" in str(desk.fails("E_NOT_FOUND", "debug.start", launch="Shopp").hint)

    def test_a_program_that_listens_is_attached_to_and_let_go(self, desk):
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        words = [sys.executable, "-Xfrozen_modules=off", "-m", "debugpy", "--listen", f"127.0.0.1:{port}", "endless.py"]
        env = os.environ | {"PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(words, cwd=desk.workspace, env=env, stdout=subprocess.PIPE) as program:
            try:
                assert program.stdout is not None
                assert program.stdout.readline() == b"ready\n"
                assert desk("debug.start", port=port)["details"] == "attached; the program is running"
                desk("debug.stop")
                desk("breakpoint.set", path="endless.py", line=6)
                told = desk("debug.start", port=port)
                assert where(told) == ("endless.py", 6)
                desk("breakpoint.clear.project")
                assert "goes on" in desk("debug.stop")["details"]
                assert program.poll() is None
            finally:
                program.kill()

    def test_processes_that_it_starts_join(self, desk):
        desk("breakpoint.set", path="family.py", line=6)
        told = desk("debug.start", program="family.py")
        assert where(told) == ("family.py", 6)
        root, _, number = told["sessionId"].partition(".")
        assert number
        children = desk("debug.status", sessionId=root)["sessions"][0]["children"]
        assert told["sessionId"] in [one["sessionId"] for one in children]
        desk("breakpoint.clear.project")
        ended = desk("debug.continue")
        assert (ended["sessionId"], ended["state"]) == (root, "terminated")


class TestTests:
    def test_one_is_found_by_its_line(self, desk):
        desk("breakpoint.set", path="test_shop.py", line=25)
        told = desk("test.debug-single", path="test_shop.py", line=24)
        assert told["test"] == "test_shop.py::TestItem::test_name"
        assert where(told) == ("test_shop.py", 25)

    def test_a_failing_one_stops_where_it_fails_and_what_pytest_catches_does_not_stop(self, desk):
        desk.write("test_caught.py", CAUGHT)
        told = desk("debug.start", pytest=["test_caught.py", "test_shop.py::test_wrong"], args=[])
        assert told["exception"]["message"] == "assert 0 == 1"
        assert told["exception"]["type"] == "AssertionError"
        assert told["frames"][0]["name"] == "test_wrong"
        assert where(told) == ("test_shop.py", 19)
        assert "1 failed, 1 passed, 1 skipped, 1 xfailed" in desk("debug.continue")["output"]

    def test_without_exceptions_a_failing_one_does_not_stop(self, desk):
        desk("breakpoint.set", exceptions=[])
        assert desk("debug.start", pytest="test_shop.py::test_wrong")["exitCode"] == 1

    def test_where_none_is_those_there_are_are_named(self, desk):
        assert (
            "test_total at line 7"
            in desk.fails("E_NO_TEST_AT_CURSOR", "test.debug-single", path="test_shop.py", line=1).hint
        )
        desk.fails("E_FILE_NOT_FOUND", "test.debug-single", path="none.py", line=1)


class TestDeaths:
    def test_a_killed_program_is_over_at_once(self, desk):
        desk.stop_at("shop.py", 15)
        os.kill(desk("debug.status")["sessions"][0]["process"], signal.SIGKILL)
        wait_until(lambda: _is_over(desk))
        assert where(desk("debug.start", program="shop.py")) == ("shop.py", 15), "the next one works"

    def test_a_program_that_dies_while_it_is_waited_for(self, desk):
        desk.write("die.py", "import os, time\ntime.sleep(1)\nos._exit(9)\n")
        told = desk("debug.start", program="die.py")
        assert (told["state"], told["exitCode"]) == ("terminated", 9)

    def test_a_killed_adapter_takes_the_session_with_it(self, desk):
        desk.stop_at("shop.py", 15)
        os.kill(_adapter_of(desk("debug.status")["sessions"][0]["process"]), signal.SIGKILL)
        wait_until(lambda: _is_over(desk))
        assert "adapter ended" in desk.fails("E_NO_SESSION", "debug.status").message
        assert where(desk("debug.start", program="shop.py")) == ("shop.py", 15)


class TestAfterwards:
    def test_a_session_was_recorded(self, desk):
        desk("debug.start", program="crash.py")
        ended = desk("debug.continue")["sessionId"]
        told = desk("dap.summary", sessionId=ended)
        assert (told["title"], told["exitCode"], told["stops"]) == ("crash.py", 1, 1)
        assert told["adapter"] == "debugpy"
        assert told["lastStops"] == ["exception in divide at crash.py:5"]
        assert [one["seen"] for one in desk("dap.exceptions", sessionId=ended)["exceptions"]] == ["stop", "output"]
        assert desk("dap.logs", sessionId=ended, category="stdout")["lines"][0]["text"] == "before"
        assert desk("dap.search", sessionId=ended, pattern="a warn")["matches"][0]["category"] == "stderr"
        assert desk("dap.timeline", sessionId=ended, granularity="milestones")["events"][0]["type"] == "session"
        assert desk("dap.stats", sessionId=ended)["counts"]["stdout"] >= 1
        assert desk("dap.filter", sessionId=ended, filters={"include": "warning"})["total"] == 1

    def test_two_are_compared(self, desk):
        one = desk("debug.start", program="shop.py")["sessionId"]
        desk("breakpoint.set", path="shop.py", line=22)
        other = desk("debug.start", program="shop.py")["sessionId"]
        desk("debug.stop")
        told = desk("dap.compare", sessionA=one, sessionB=other, compareBy="timeline")
        assert told["onlyB"] == ["breakpoint in main at shop.py:22"]
        assert desk("dap.compare", sessionA=one, sessionB=other)["a"]["exitCode"] == 0

    @pytest.mark.parametrize(
        ("script", "params", "code"),
        [
            ("dap.summary", {"sessionId": "999"}, "E_INVALID_SESSION_ID"),
            ("dap.search", {"pattern": "("}, "E_INVALID_REGEX"),
            ("dap.search", {"pattern": "nowhere"}, "E_NO_RESULTS"),
            ("dap.logs", {"since": "soon"}, "E_INVALID_PARAM"),
            ("dap.stats", {"groupBy": "odd"}, "E_INVALID_GROUP_BY"),
            ("dap.filter", {"filters": {"odd": 1}}, "E_INVALID_FILTERS"),
            ("dap.compare", {"sessionA": "998", "sessionB": "999"}, "E_SESSION_NOT_FOUND"),
        ],
    )
    def test_what_cannot_be_answered_says_why(self, desk, script, params, code):
        desk("debug.start", program="shop.py")
        assert desk.fails(code, script, **params).hint


def test_a_file_that_cannot_be_compiled_is_diagnosed(desk):
    desk.write("bad.py", "def f(:\n    pass\n")
    told = desk("diagnostic.collect", path="bad.py")
    assert told["count"] >= 1
    found = told["diagnostics"][0]
    assert (found["path"], found["line"], found["severity"]) == ("bad.py", 1, "error")
    desk.fails("E_FILE_NOT_FOUND", "diagnostic.collect", path="none.py")


@pytest.mark.peers
def test_node_is_debugged(desk, js_debug):
    js_debug(desk)
    desk.write("sum.js", SUM)
    told = desk.stop_at("sum.js", 4)
    assert values(told["locals"])["sum"] == "0"
    assert values(told["locals"])["i"] == "1"
    assert desk("debug.evaluate", expression="sum + 40")["result"] == "40"
    assert values(desk("debug.continue")["locals"])["sum"] == "1"
    assert desk("debug.set-variable", name="sum", value=10)["value"] == "10"
    assert where(desk("debug.step-over"))[0] == "sum.js"
    desk("breakpoint.clear.project")
    ended = desk("debug.continue")
    assert (ended["state"], ended["exitCode"]) == ("terminated", 3)


def _is_over(desk):
    return not any(one["state"] != "terminated" for one in desk("debug.tracker")["sessions"])


def _parent(pid):
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])


def _adapter_of(program):
    """The process that debugs a program: the adapter has a launcher, which has the program."""
    pid = program
    while True:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"fast_debugpy.py" in file.read():
                return pid
        pid = _parent(pid)
        assert pid > 1, "no adapter above the program"
