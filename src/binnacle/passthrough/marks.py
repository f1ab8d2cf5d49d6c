"""Finds the processes of a call by the mark they inherited, whatever session or parent they have now.

For cold processes, and for the rare call whose guard was killed; a guard itself knows its tree better. A process that
runs a program of its own has the mark in its environment, one that was only forked has the call's name. Where there
is no /proc, nothing is found.
"""

import asyncio
import contextlib
import os
import signal
import time

from binnacle.passthrough.request import MARK, process_name

PAUSE = 0.01
"""Seconds between two looks at the process table."""


def find_marked(run_id: str) -> list[int]:
    """The processes of a call that are still there."""
    try:
        names = os.listdir("/proc")
    except FileNotFoundError:
        return []
    return [int(name) for name in names if name.isdigit() and _is_marked(name, run_id)]


def send_marked(run_id: str, number: signal.Signals) -> bool:
    """Signals every process of a call; whether there was any."""
    sent = [_send(pid, run_id, number) for pid in find_marked(run_id)]
    return any(sent)


async def sweep(run_id: str, *, patience: float) -> None:
    """Kills every process of a call, until none is left or patience runs out."""
    deadline = time.monotonic() + patience
    # One look may miss a child that is being born.
    while send_marked(run_id, signal.SIGKILL) and time.monotonic() < deadline:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(PAUSE)


def _is_marked(pid: str, run_id: str) -> bool:
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/environ", "rb") as file:
            if f"{MARK}={run_id}".encode() in file.read().split(b"\0"):
                return True
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read().strip() == process_name(run_id).encode() and not _is_zombie(pid)
    return False


def _is_zombie(pid: str) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] == b"Z"


def _send(pid: int, run_id: str, number: signal.Signals) -> bool:
    """Signals a process that is certainly the one that was found: its number may have gone to another since."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not _is_marked(str(pid), run_id):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
