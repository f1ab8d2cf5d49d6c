"""What a process has used so far."""

from typing import NamedTuple

from binnacle.processes.facts import read_usage


class ProcessUsage(NamedTuple):
    """The usage of one process, without its children."""

    cpu_seconds: float
    io_bytes: int
    """Bytes read and written: files, pipes and most sockets; 0 if the system does not count them."""


def usage_of(pid: int) -> ProcessUsage:
    """What a process has used; zeros if it is gone or hidden."""
    return ProcessUsage(*read_usage(pid))
