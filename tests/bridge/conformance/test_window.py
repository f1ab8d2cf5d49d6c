"""What an editor does that no other host can, and how it shares a workspace with one."""

import contextlib
import json
import os
import signal
import subprocess

import pytest

from binnacle.bridge.jobs.job_files import read_host
from binnacle.errors import BridgeError, Refused
from binnacle.project.bridge_host import open_client, stop_host
from bridge.conformance.desk import PATIENCE, environment, values, wait_until, where

pytestmark = pytest.mark.peers

CART = """\
class Cart {
  constructor() {
    this.items = [];
  }
  add(item) {
    this.items.push(item);
    return this.total();
  }
  total() {
    return this.items.length;
  }
}
function total() {
  return 1;
}
const cart = new Cart();
cart.add(total());
"""


@pytest.fixture
def desk(vscode_host):
    vscode_host.reset()
    vscode_host.write("cart.js", CART)
    yield vscode_host
    assert vscode_host.jobs() == []


class TestSymbols:
    @pytest.fixture(autouse=True)
    def language_server(self, desk):
        """One that has started, and knows the file."""

        def answers():
            with contextlib.suppress(BridgeError):
                return desk("search.symbol-search", mode="document", path="cart.js", query="Cart.total")["count"]

        wait_until(answers)

    def test_they_are_found_in_a_file(self, desk):
        told = desk("search.symbol-search", mode="document", path="cart.js", query="total")
        assert [one["nodeId"] for one in told["symbols"]] == ["method:cart.js:Cart.total", "function:cart.js:total"]
        assert told["symbols"][0]["container"] == "Cart"
        assert desk("search.symbol-search", mode="document", path="cart.js", kinds=["class"])["count"] == 1
        desk.fails("E_INVALID_MODE", "search.symbol-search", mode="odd")

    def test_they_are_found_in_the_workspace(self, desk):
        wait_until(lambda: desk("search.symbol-search", query="Cart")["count"])

    def test_references_and_calls(self, desk):
        told = desk("symbol.navigate", path="cart.js", symbol="Cart.total")
        assert [(one["path"], one["line"]) for one in told["locations"]] == [("cart.js", 7)]
        told = desk("symbol.navigate", nodeId="method:cart.js:Cart.total", includeDeclaration=True)
        assert told["count"] == 2
        assert [one["name"] for one in desk("symbol.calls", path="cart.js", symbol="Cart.total")["calls"]] == ["add"]
        called = desk("symbol.calls", path="cart.js", symbol="Cart.add", direction="outgoing")["calls"]
        assert "total" in [one["name"] for one in called]

    def test_one_is_renamed_everywhere(self, desk):
        told = desk("symbol.rename", path="cart.js", symbol="Cart.total", newName="count")
        assert told["files"] == [{"path": "cart.js", "changes": 2}]
        text = (desk.workspace / "cart.js").read_text()
        assert "return this.count();" in text
        assert "function total()" in text, "another symbol of that name stays"

    def test_a_method_is_replaced_and_deleted(self, desk):
        desk("code.replace-method", path="cart.js", symbol="Cart.add", replacement="  add() {\n    return 0;\n  }")
        assert "add() {\n    return 0;\n  }\n  total()" in (desk.workspace / "cart.js").read_text()
        assert desk("code.replace-method", path="cart.js", symbol="Cart.add", replacement="")["deleted"] is True
        assert "add()" not in (desk.workspace / "cart.js").read_text()

    def test_what_cannot_be_found_says_why(self, desk):
        assert "Cart.total" in desk.fails("E_NOT_FOUND", "symbol.navigate", path="cart.js", symbol="sum").hint
        desk.fails("E_INVALID_INPUT", "symbol.navigate", symbol="sum")
        desk.fails("E_FILE_NOT_FOUND", "symbol.navigate", path="none.js", symbol="sum")
        desk.fails("E_NO_LANGUAGE_SERVER", "symbol.rename", path="shop.py", symbol="total", newName="sum")
        desk.write("two.js", "class A { f() {} }\nclass B { f() {} }\n")
        desk.fails("E_AMBIGUOUS_SYMBOL", "symbol.navigate", path="two.js", symbol="f")


def test_language_servers_say_what_is_wrong(desk):
    desk.write("bad.js", "const x = ;\n")
    wait_until(lambda: desk("diagnostic.collect", path="bad.js")["count"])
    (found,) = desk("diagnostic.collect", path="bad.js")["diagnostics"]
    assert (found["line"], found["column"], found["severity"], found["source"]) == (1, 11, "error", "ts")


def test_the_window_goes_where_it_is_told_and_says_where_it_is(desk):
    assert desk("editor.goto-line", path="shop.py", line=13, column=5)["line"] == 13
    told = desk("editor.get-context")
    assert (told["file"], told["cursor"], told["language"]) == ("shop.py", {"line": 13, "column": 5}, "python")
    assert "shop.py" in told["open"]
    desk.fails("E_INVALID_POSITION", "editor.goto-line", path="shop.py", line=500)
    desk.fails("E_FILE_NOT_FOUND", "editor.goto-line", path="none.py", line=1)
    assert desk("editor.show-testing-ui") == {"success": True}


def test_where_no_extension_knows_tests_none_is_found(desk):
    desk.fails("E_NO_TEST_AT_CURSOR", "test.debug-single", path="cart.js", line=2)


def test_launch_configurations_of_other_languages(desk):
    desk.write(
        ".vscode/launch.json",
        json.dumps({"configurations": [
            {"name": "Cart", "type": "node", "request": "launch", "program": "${workspaceFolder}/cart.js"},
        ]}),
    )  # fmt: skip
    desk("breakpoint.set", path="cart.js", line=6)
    told = desk("debug.start", launch="Cart")
    assert where(told) == ("cart.js", 6)
    assert values(told["locals"])["item"] == "1"


def test_its_files_say_which_editor_it_is(desk):
    capabilities = desk.host().capabilities
    assert capabilities["editor"]
    adapters = {one["name"]: one for one in capabilities["adapters"]}
    assert adapters["binnacle-python"]["found"], "debugpy is in the environment of the tests"
    assert adapters["node"]["found"]


def test_it_is_not_ended_by_bn_bridge_stop(desk):
    with pytest.raises(Refused):
        desk.run(stop_host(str(desk.workspace)))
    assert desk("bridge.ping")["kind"] == "vscode"


class TestTakingTurns:
    """The window is closed and opened; whoever asks meanwhile is served all the same."""

    @pytest.fixture
    def window(self, opened_window, monkeypatch):
        editor, desk = opened_window
        for name, value in environment().items():
            monkeypatch.setenv(name, value)
        yield editor
        with contextlib.suppress(Refused):
            desk.run(stop_host(str(desk.workspace)))
        if editor.browser is None:
            editor.open_browser()
        editor.wait_until_served()

    def test_a_closed_window_is_an_error_and_then_another_host_serves(self, desk, window):
        desk("breakpoint.set", path="shop.py", line=15)
        window.close_browser()
        codes = self.ask_until_headless(desk)
        assert codes <= {"E_BRIDGE_UNAVAILABLE", "E_PICKUP_TIMEOUT", "E_HOST_UNRESPONSIVE", "E_HOST_DOWN"}
        kept = self.ask(desk, "breakpoint.list")["breakpoints"]
        assert [(one["path"], one["line"]) for one in kept] == [("shop.py", 15)], "they belong to the workspace"
        window.open_browser()
        host = window.wait_until_served()
        assert host.kind == "vscode", "an idle host without an editor has left"
        # A browser that is closed at once may not have kept that others were removed before.
        shown = [(one["path"], one["line"]) for one in desk("breakpoint.list")["breakpoints"]]
        assert shown.count(("shop.py", 15)) == 1

    def test_a_host_that_debugs_is_left_alone_until_it_has_done(self, desk, window):
        window.close_browser()
        self.ask_until_headless(desk)
        self.ask(desk, "debug.start", program="endless.py", wait=False)
        pid = read_host(str(desk.workspace)).pid
        window.open_browser()
        refused = desk.workspace / ".vsc-bridge" / "prepared"
        before = refused.stat().st_mtime_ns
        wait_until(lambda: refused.stat().st_mtime_ns > before)  # the window has asked whether it may
        assert read_host(str(desk.workspace)).pid == pid
        self.ask(desk, "debug.stop")
        assert window.wait_until_served().kind == "vscode"

    def test_a_killed_host_of_extensions_is_an_error_at_once(self, desk, window):
        desk("debug.start", program="endless.py", wait=False)
        pid = desk.host().pid
        with subprocess.Popen(
            ["/bin/sh", "-c", f"sleep 2; kill -9 {pid}"], stdin=subprocess.DEVNULL, start_new_session=True
        ):
            assert desk.fails("E_HOST_DOWN", "debug.wait-for-hit").retryable
        # The editor starts its extensions anew when a person lets it, and the next window does so at once.
        window.close_browser()
        window.open_browser()
        assert window.wait_until_served().pid != pid
        assert desk("bridge.ping")["kind"] == "vscode"
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def ask_until_headless(self, desk):
        """Asks as an agent does that calls again; returns the errors on the way."""
        codes = set()

        def is_headless():
            try:
                self.ask(desk, "breakpoint.list")
            except BridgeError as error:
                codes.add(error.code)
            return (host := read_host(str(desk.workspace))) is not None and host.kind == "headless"

        wait_until(is_headless)
        return codes

    def ask(self, desk, script, **params):
        async def call():
            client = open_client(str(desk.workspace), name="cli")
            try:
                return await client.call(script, params, timeout=PATIENCE)
            finally:
                client.close()

        return desk.run(call())
