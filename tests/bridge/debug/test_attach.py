"""Programs that run already are attached to and let go."""

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bridge.debug.desk import Desk, is_there, where

needs_gdb = pytest.mark.skipif(
    shutil.which("gdb") is None, reason="not installed: gdb, by which debugpy gets into a process"
)


@contextmanager
def started(desk: Desk, *argv: str) -> Iterator[subprocess.Popen]:
    """A program of somebody else's. In the end it is gone, and the adapter it may have started."""
    before = set(desk.stage.processes())
    with subprocess.Popen([sys.executable, *argv], cwd=desk.workspace, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
    desk.run(gone(desk, before))


async def gone(desk: Desk, before: set[int]) -> None:
    while set(desk.stage.processes()) - before - {desk.keeper_process()}:  # noqa: ASYNC110 - of processes nobody tells
        await asyncio.sleep(0.02)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_a_program_that_listens_is_attached_to_and_let_go(desk):
    port = free_port()
    listen = ("-m", "debugpy", "--listen", f"127.0.0.1:{port}", "endless.py")
    with started(desk, *listen) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        desk("breakpoint.set", path="endless.py", line=6)
        told = desk("debug.start", port=port)
        assert where(told) == ("endless.py", 6)
        assert desk("debug.evaluate", expression="count > 0")["result"] == "True"
        told = desk("debug.stop")
        assert "goes on" in told["details"]
        assert is_there(process.pid)
        # And again.
        assert where(desk("debug.start", port=port)) == ("endless.py", 6)
        desk("debug.stop")


@pytest.mark.parametrize("line", [None, 3])
def test_a_program_that_does_not_stop_is_attached_to_all_the_same(desk, line):
    port = free_port()
    with started(desk, "-m", "debugpy", "--listen", f"127.0.0.1:{port}", "endless.py") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if line:
            desk("breakpoint.set", path="endless.py", line=line)
        told = desk("debug.start", port=port, timeoutMs=1500)
        assert told["state"] == "running"
        assert told["details"] == "attached; the program is running"
        assert desk("debug.pause", sessionId=told["sessionId"])["state"] == "paused"
        desk("debug.stop")
        assert is_there(process.pid)


@pytest.mark.peers
@needs_gdb
def test_a_process_that_does_not_stop_is_attached_to_by_its_id(desk):
    with started(desk, "endless.py") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert desk("debug.start", pid=process.pid)["state"] == "running"
        desk("debug.stop")
        assert is_there(process.pid)


def test_a_port_where_nobody_listens_says_how_to_listen(desk):
    error = desk.fails("E_LAUNCH_FAILED", "debug.start", port=free_port())
    assert "python -m debugpy --listen" in error.hint


@pytest.mark.peers
@needs_gdb
def test_a_process_is_attached_to_and_let_go(desk):
    with started(desk, "endless.py") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        desk("breakpoint.set", path="endless.py", line=6)
        told = desk("debug.start", pid=process.pid)
        assert where(told) == ("endless.py", 6)
        desk("breakpoint.clear.project")
        desk("debug.stop")
        assert is_there(process.pid)


def test_a_process_that_is_not_there_cannot_be_attached_to(desk):
    with started(desk, "-c", "pass") as process:
        process.wait(30)
    error = desk.fails("E_NOT_FOUND", "debug.start", pid=process.pid)
    assert str(process.pid) in error.message
