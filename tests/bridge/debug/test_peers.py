"""Other languages, where their adapters are installed."""

import shutil
import subprocess

import pytest

from binnacle.bridge.debug import adapters
from bridge.debug.desk import Desk, values, where

pytestmark = pytest.mark.peers


def need(desk: Desk, adapter: adapters.Adapter, *commands: str) -> None:
    if adapters.find(adapter, desk.workspace) is None or not all(map(shutil.which, commands)):
        pytest.skip(f"not installed: {adapter.id}, {', '.join(commands)}")


def go_through(desk: Desk, source: str, line: int, program: str) -> None:
    """Stops in a loop, looks, goes on, ends."""
    desk("breakpoint.set", path=source, line=line)
    told = desk("debug.start", program=program, timeoutMs=50_000)
    assert where(told) == (source, line)
    assert values(told["locals"])["sum"] == "0"
    assert desk("debug.evaluate", expression="sum + 40")["result"] == "40"
    assert values(desk("debug.continue")["locals"])["sum"] == "1"
    desk("debug.set-variable", name="sum", value="10")
    desk("breakpoint.clear.project")
    assert desk("debug.continue")["state"] == "terminated"


def test_node_is_debugged(desk):
    need(desk, adapters.NODE, "node")
    desk.write(
        "sum.js", "function add() {\n  let sum = 0;\n  for (let i = 1; i < 3; i++) {\n    sum += i;\n  }\n}\nadd();\n"
    )
    go_through(desk, "sum.js", 4, "sum.js")


def test_c_is_debugged(desk):
    need(desk, adapters.NATIVE, "cc")
    source = desk.write(
        "sum.c", "int main(void) {\n  int sum = 0;\n  for (int i = 1; i < 3; i++)\n    sum += i;\n  return 0;\n}\n"
    )
    subprocess.run(["cc", "-g", "-O0", "-o", source.removesuffix(".c"), source], check=True)
    go_through(desk, "sum.c", 4, "sum")


def test_go_is_debugged(desk):
    need(desk, adapters.GO, "go")
    desk.write(
        "sum.go",
        "package main\n\nfunc main() {\n\tsum := 0\n\tfor i := 1; i < 3; i++ {\n\t\tsum += i\n\t}\n\tprintln(sum)\n}\n",
    )
    go_through(desk, "sum.go", 6, "sum.go")
