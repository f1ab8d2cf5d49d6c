"""Whatever is killed at whatever moment: an error that can be read, nothing left, and the next call works."""

import asyncio
import os
import signal
import sys

import pytest

from binnacle.bridge.debug.cancellable_wait import UncancellableCall
from binnacle.errors import BridgeError
from bridge.debug.desk import where


def adapter_of(desk) -> int:
    return desk.debugger.live()[-1]._adapter._process.pid


def test_an_adapter_that_is_killed_while_its_program_stands(desk):
    desk.stop_at("shop.py", 15)
    program = desk("debug.status")["sessions"][0]["process"]
    os.kill(adapter_of(desk), signal.SIGKILL)

    async def notice() -> BridgeError:
        while True:
            try:
                await desk.ask("debug.evaluate", expression="1")
            except BridgeError as error:
                return error

    error = desk.run(notice())
    assert error.code in ("E_NO_SESSION", "E_SESSION_TERMINATED")
    assert "debug_start" in error.hint
    assert "signal 9" in desk.fails("E_NO_SESSION", "debug.continue").message
    assert where(desk("debug.start", program="shop.py")) == ("shop.py", 15)
    assert program not in desk.stage.processes()


@pytest.mark.parametrize("who", ["adapter", "program", "keeper"])
def test_somebody_is_killed_while_a_call_waits(desk, who):
    desk("debug.start", program="endless.py", wait=False)
    session = desk.debugger.live()[0]

    async def test() -> dict | BridgeError:
        waiting = asyncio.ensure_future(desk.ask("debug.wait-for-hit"))
        await session.signal.until(lambda: session.root.process, timeout=30, job=UncancellableCall())
        pid = {
            "adapter": session._adapter._process.pid,
            "program": session.root.process,
            "keeper": desk.keeper_process(),
        }[who]
        os.kill(pid, signal.SIGKILL)
        try:
            return await waiting
        except BridgeError as error:
            return error

    told = desk.run(test())
    if who == "program":
        assert told["state"] == "terminated"
        assert told["exitCode"] not in (0, None)
    else:
        assert told.code == "E_SESSION_TERMINATED"
        assert "debug_start" in told.hint
    assert desk("debug.start", program="shop.py")["exitCode"] == 0


def test_an_adapter_is_killed_while_it_starts(desk):
    async def test() -> BridgeError:
        starting = asyncio.ensure_future(desk.ask("debug.start", program="endless.py"))
        for _ in range(10_000):
            await asyncio.sleep(0.001)
            sessions = desk.debugger.live()
            if sessions and (adapter := sessions[0]._adapter) is not None and adapter._process is not None:
                break
        os.kill(adapter_of(desk), signal.SIGKILL)
        with pytest.raises(BridgeError) as caught:
            await starting
        return caught.value

    error = desk.run(test())
    assert error.code == "E_LAUNCH_FAILED"
    assert desk("debug.start", program="shop.py")["exitCode"] == 0


def test_a_program_that_ends_before_it_calls_back(desk):
    # Only where the debugger loads: the Python itself is found to run.
    path = desk.write("fickle", f'#!/bin/sh\n[ $# = 2 ] && exec {sys.executable} "$@"\nexit 5\n')
    os.chmod(path, 0o755)
    error = desk.fails("E_LAUNCH_FAILED", "debug.start", program="shop.py", python=path)
    assert "exit code 5" in error.message
    assert desk("debug.start", program="shop.py")["exitCode"] == 0


def test_a_program_that_kills_itself(desk):
    desk.write("suicide.py", "import os\nprint('bye', flush=True)\nos.kill(os.getpid(), 9)\n")
    told = desk("debug.start", program="suicide.py")
    assert told["state"] == "terminated"
    assert told["exitCode"] not in (0, None)
    assert told["output"] == "bye\n"


def test_a_program_that_ends_under_an_evaluation(desk):
    desk.stop_at("shop.py", 15)
    with pytest.raises(BridgeError) as caught:
        desk("debug.evaluate", expression="__import__('os')._exit(7)")
    assert caught.value.code == "E_SESSION_TERMINATED"
    assert "exit code 7" in caught.value.message
    assert "debug_start" in caught.value.hint
    assert where(desk("debug.start", program="shop.py")) == ("shop.py", 15)


def test_a_debugger_that_is_closed_leaves_nothing(desk):
    desk.stop_at("shop.py", 15)
    desk("debug.start", program="endless.py", wait=False)
    desk.restart()
    desk.fails("E_NO_SESSION", "debug.status")
    assert desk.stage.processes() == []


def test_many_sessions_in_a_row_leave_nothing(desk):
    desk("breakpoint.set", path="shop.py", line=15)
    for _ in range(3):
        assert where(desk("debug.start", program="shop.py")) == ("shop.py", 15)
        desk("debug.stop")
    assert len(desk.stage.processes()) == 1
