"""What one language has and the others have not."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bridge.debug.desk import Desk, values, where
from bridge.debug.peers.conftest import compile_

pytestmark = pytest.mark.peers


@contextmanager
def running(desk: Desk, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program of somebody else's, which must still run in the end."""
    with subprocess.Popen(command, cwd=desk.workspace, stderr=subprocess.PIPE) as process:
        try:
            yield process
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.usefixtures("node")
class TestJavaScript:
    """Node, through js-debug."""

    def test_a_forked_process_joins(self, desk):
        desk("breakpoint.set", path="child.js", line=3)
        told = desk("debug.start", program="family.js")
        if where(told) == ("child.js", 1):  # on a busy machine js-debug may stop there before
            told = desk("debug.continue")
        assert where(told) == ("child.js", 3)
        assert told["sessionId"] == "1.2"
        assert desk("debug.evaluate", expression="twice")["result"] == "14"
        told = desk("debug.continue")
        assert told["exitCode"] == 0
        assert "the child ended with 14" in told["output"]

    def test_typescript_is_debugged_by_its_own_lines(self, desk):
        desk("breakpoint.set", path="twice.ts", line=3)
        told = desk("debug.start", program="twice.ts")
        assert where(told) == ("twice.ts", 3)
        assert values(told["locals"])["result"] == "8"
        assert desk("debug.continue")["exitCode"] == 8

    def test_a_program_killed_by_a_signal_has_not_ended_well(self, desk):
        desk.write("die.js", "process.kill(process.pid, 'SIGKILL');\nsetInterval(() => {}, 1000);\n")
        assert desk("debug.start", program="die.js")["exitCode"] == 128 + 9

    def test_a_program_that_listens_is_attached_to_and_let_go(self, desk):
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        node = shutil.which("node")
        assert node is not None
        with running(desk, node, f"--inspect=127.0.0.1:{port}", "clock.js") as process:
            assert process.stderr is not None
            assert b"listening" in process.stderr.readline()
            desk("breakpoint.set", path="clock.js", line=3)
            told = desk("debug.start", launch={"type": "node", "request": "attach", "port": port})
            assert where(told) == ("clock.js", 3)
            assert "goes on" in desk("debug.stop")["details"]


@pytest.mark.usefixtures("native")
class TestNative:
    """C++, through lldb-dap."""

    def test_a_process_is_attached_to_and_let_go(self, desk):
        with running(desk, os.path.join(desk.workspace, "shop"), "endlessly") as process:
            desk("breakpoint.set", path="shop.cpp", line=29)
            told = desk("debug.start", launch={"type": "lldb", "request": "attach", "pid": process.pid})
            assert where(told) == ("shop.cpp", 29)
            assert desk("debug.evaluate", expression="total")["result"] == "15"
            assert "goes on" in desk("debug.stop")["details"]

    def test_commands_of_lldb_begin_with_a_backtick(self, desk):
        desk("breakpoint.set", path="shop.cpp", line=13)
        desk("debug.start", program="shop")
        assert re.search(r"rip = 0x", desk("debug.evaluate", expression="`register read rip")["result"])


@pytest.mark.usefixtures("go")
class TestGo:
    """Go, through delve."""

    def test_what_the_compiler_says_is_told(self, desk):
        desk.write("broken/main.go", "package main\n\nfunc main() { nix }\n")
        error = desk.fails("E_LAUNCH_FAILED", "debug.start", program="broken/main.go")
        assert "undefined: nix" in error.details["output"]

    def test_a_package_and_its_tests_are_debugged(self, desk):
        desk("breakpoint.set", path="shop_test.go", line=7)
        told = desk("debug.start", program="shop_test.go", timeoutMs=50_000)
        assert where(told) == ("shop_test.go", 7)
        assert values(told["locals"])["sum"] == "4"
        told = desk("debug.continue")
        assert told["exitCode"] == 1
        assert "not 5" in told["output"]
        desk("breakpoint.set", path="shop.go", line=14)
        assert where(desk("debug.start", program=".", timeoutMs=50_000)) == ("shop.go", 14)

    def test_a_process_is_attached_to_and_let_go(self, desk):
        compile_(desk, "go", "build", "-gcflags", "all=-N -l", "-o", "run", ".")
        with running(desk, os.path.join(desk.workspace, "run"), "endlessly") as process:
            desk("breakpoint.set", path="shop.go", line=29)
            launch = {"type": "go", "request": "attach", "mode": "local", "processId": process.pid}
            assert where(desk("debug.start", launch=launch)) == ("shop.go", 29)
            assert "goes on" in desk("debug.stop")["details"]
