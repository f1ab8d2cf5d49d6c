"""Debug sessions in a row leave no process, no job, no descriptor.

`BN_DEBUG_SESSIONS=1000 pytest --timeout 7200 -n 0 -s tests/bridge/test_endurance.py` runs as many as you like, and says
how the host fared.
"""

import os
import subprocess
import time
from pathlib import Path

import pytest

import cli.conftest
from bridge.agent import WAIT, bench, wait_until

bn = cli.conftest.bn

WANTED = int(os.environ.get("BN_DEBUG_SESSIONS", "0"))
SESSIONS = WANTED or 6
SETTLED = 3
"""Sessions after which the host has loaded all it will."""


def memory(pid):
    """Bytes that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS:"))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def open_files(pid):
    """What each descriptor of a process is open on, for the message of a failure."""
    return subprocess.run(
        ["ls", "-l", f"/proc/{pid}/fd"], check=False, capture_output=True, text=True, timeout=WAIT
    ).stdout


def to_the_end(agent):
    told = agent.data("debug_continue")
    while told["state"] == "paused":
        told = agent.data("debug_continue")
    assert told["exitCode"] == 0


def stopped(agent):
    assert agent.data("debug_stop")["state"] == "terminated"


def crashed(agent):
    error = agent.error("debug_evaluate", expression="__import__('os')._exit(3)")
    assert error["code"] == "E_SESSION_TERMINATED"


ENDS = (to_the_end, stopped, crashed)


def test_sessions_in_a_row_leave_nothing(bn):
    with bench(bn) as desk, desk.agent() as agent:
        agent.data("breakpoint_set", path="shop.py", line=4)
        host, looks, began = desk.host(), [], time.monotonic()
        for number in range(SESSIONS):
            assert agent.data("debug_start", program="shop.py")["frames"][0]["line"] == 4
            assert agent.data("debug_evaluate", expression="price + 40")["result"] == "42"
            ENDS[number % len(ENDS)](agent)
            wait_until(lambda: not desk.programs(), lambda: f"left: {desk.programs()}")
            assert desk.jobs() == []
            if number >= SETTLED:
                looks.append((descriptors(host), descriptors(agent.process.pid), memory(host)))
        assert desk.host() == host
        # The host opens its folders of jobs to list them, so one count may be one too high. A leak stays.
        for pid, first in zip((host, agent.process.pid), looks[0][:2], strict=True):
            wait_until(lambda pid=pid, first=first: descriptors(pid) <= first, lambda pid=pid: open_files(pid))
        assert len(desk.stage.processes()) == 3, "the server, the host and the host's keeper"
    if WANTED:
        report(looks, time.monotonic() - began)


def report(looks, seconds):
    print(f"\n{SESSIONS} sessions in {seconds:.0f} s")
    for number in range(0, len(looks), max(1, len(looks) // 10)):
        host, server, held = looks[number]
        print(f"after {number + SETTLED:5}: descriptors host {host} server {server}, host holds {held >> 10} KiB")


def test_many_sessions_at_once_leave_nothing(bn):
    with bench(bn) as desk, desk.agent() as agent:
        agent.data("breakpoint_set", path="shop.py", line=4)
        calls = [agent.begin("debug_start", program="shop.py", timeoutMs=60_000) for _ in range(3)]
        answers = {number: agent.result(number)["structuredContent"]["data"] for number in calls}
        ids = {told["sessionId"] for told in answers.values()}
        assert len(ids) == len(calls)
        for ident in ids:
            assert agent.data("debug_stop", sessionId=ident)["sessionId"] == ident
        assert agent.error("debug_status")["code"] == "E_NO_SESSION"
        wait_until(lambda: not desk.programs())


if SESSIONS > 20:
    pytestmark = pytest.mark.timeout(0)
