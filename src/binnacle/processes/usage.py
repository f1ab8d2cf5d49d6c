"""What a process has used so far."""

from typing import NamedTuple

from binnacle.processes.facts import read_usage


class ProcessUsage(NamedTuple):
    """Of one process, without its children."""

    cpu_seconds: float
    io_bytes: int
    """Read and written, files, pipes and most sockets alike; 0 where the system does not count them."""


def usage_of(pid: int) -> ProcessUsage:
    """What a process has used; nothing for one that is gone or keeps it from us."""
    return ProcessUsage(*read_usage(pid))
