"""Whether a process is there: the very one, not another that got its id."""

import os
from functools import cache

from binnacle.processes.table import look


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
