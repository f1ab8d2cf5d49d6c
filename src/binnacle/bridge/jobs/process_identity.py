"""Whether a process is there: the very one, not another that got its id."""

import os
import signal
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from binnacle.processes.table import SEES_PROCESSES, look, send


class ProcessActivity(NamedTuple):
    """What a process is doing, as far as can be seen."""

    is_stopped: bool = False
    """Whether it was told to stand still, and does nothing until it is told to go on."""

    is_busy: bool = False
    """Whether it works, waits for its turn to, or for a disk."""

    ticks: int = 0
    """How much of the processors' time it has had."""


@cache
def namespace() -> str:
    """Stands for the machine or container in which a process id means what it means here."""
    try:
        return f"{os.uname().nodename} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename if hasattr(os, "uname") else ""


def is_running(pid: int, started: int = 0) -> bool:
    """Whether a process is there; with `started`, whether it is the very one and not one that got its id."""
    if pid <= 0:
        return False
    if (entry := look(pid)) is not None:
        return not entry.is_over and started in (0, entry.started)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return not os.path.exists("/proc/self/stat")


def process_start(pid: int) -> int:
    """When a process started, by which it is told from a later one of the same id; 0 where that cannot be seen."""
    entry = look(pid)
    return entry.started if entry else 0


def read_activity(pid: int) -> ProcessActivity:
    """What a process is doing at the moment."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        state = fields[0]
        return ProcessActivity(state in (b"T", b"t"), state in (b"R", b"D"), int(fields[11]) + int(fields[12]))
    except (OSError, IndexError):
        return ProcessActivity()


def kill_process(pid: int, started: int, *, by: signal.Signals = signal.SIGKILL) -> None:
    """Ends the very process, and no other that got its id."""
    if (entry := look(pid)) is not None and entry.started == started:
        send(entry, by)
    elif not SEES_PROCESSES:
        with suppress(ProcessLookupError):
            os.kill(pid, by)
