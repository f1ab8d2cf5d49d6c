"""Whether a process runs: the same one, not another with a reused id."""

import os
import signal
from functools import cache
from typing import NamedTuple

from binnacle.processes import facts


class ProcessActivity(NamedTuple):
    """What a process does, as far as it is visible."""

    is_stopped: bool = False
    """Whether it is stopped by a signal."""

    is_busy: bool = False
    """Whether it runs, or waits for the processor or a disk."""

    cpu_seconds: float = 0.0
    """The processor time it has used."""


@cache
def namespace() -> str:
    """Identifies the machine or container in which our process ids are valid."""
    return f"{os.uname().nodename} {facts.id_space()}".strip() if hasattr(os, "uname") else ""


def is_running(pid: int, started: int = 0) -> bool:
    """Whether a process runs; with `started`, whether it is the same one and not a reused id."""
    if pid <= 0:
        return False
    entry = facts.find_process(pid)
    return entry is not None and not entry.is_over and started in (0, entry.started)


def process_start(pid: int) -> int:
    """When a process started, which distinguishes it from a later one with the same id; 0 if unknown."""
    entry = facts.find_process(pid)
    return entry.started if entry else 0


def read_activity(pid: int) -> ProcessActivity:
    """What a process does at the moment."""
    entry = facts.find_process(pid)
    return (
        ProcessActivity()
        if entry is None
        else ProcessActivity(entry.is_stopped, entry.is_busy, facts.read_usage(pid)[0])
    )


def kill_process(pid: int, started: int, *, by: signal.Signals = signal.SIGKILL) -> None:
    """Kills this process, but no other with a reused id."""
    if (entry := facts.find_process(pid)) is not None and entry.started == started:
        facts.send_signal(entry, by)
