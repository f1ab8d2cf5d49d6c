"""Whether a process is there: the very one, not another that got its id."""

import os
import signal
from functools import cache
from typing import NamedTuple

from binnacle.processes import facts


class ProcessActivity(NamedTuple):
    """What a process is doing, as far as can be seen."""

    is_stopped: bool = False
    """Whether it was told to stand still, and does nothing until it is told to go on."""

    is_busy: bool = False
    """Whether it works, waits for its turn to, or for a disk."""

    cpu_seconds: float = 0.0
    """How much of the processors' time it has had."""


@cache
def namespace() -> str:
    """Stands for the machine or container in which a process id means what it means here."""
    return f"{os.uname().nodename} {facts.id_space()}".strip() if hasattr(os, "uname") else ""


def is_running(pid: int, started: int = 0) -> bool:
    """Whether a process is there; with `started`, whether it is the very one and not one that got its id."""
    if pid <= 0:
        return False
    entry = facts.find_process(pid)
    return entry is not None and not entry.is_over and started in (0, entry.started)


def process_start(pid: int) -> int:
    """When a process started, by which it is told from a later one of the same id; 0 where that cannot be seen."""
    entry = facts.find_process(pid)
    return entry.started if entry else 0


def read_activity(pid: int) -> ProcessActivity:
    """What a process is doing at the moment."""
    entry = facts.find_process(pid)
    return (
        ProcessActivity()
        if entry is None
        else ProcessActivity(entry.is_stopped, entry.is_busy, facts.read_usage(pid)[0])
    )


def kill_process(pid: int, started: int, *, by: signal.Signals = signal.SIGKILL) -> None:
    """Ends the very process, and no other that got its id."""
    if (entry := facts.find_process(pid)) is not None and entry.started == started:
        facts.send_signal(entry, by)
