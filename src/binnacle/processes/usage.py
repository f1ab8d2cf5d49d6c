"""What a process has used so far, as /proc shows it. Where there is none, nothing."""

import os
import re
from typing import NamedTuple

from binnacle.processes.table import read_fact, read_status

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_CHARACTERS = re.compile(rb"^[rw]char: (\d+)$", re.MULTILINE)


class Usage(NamedTuple):
    """Of one process, without its children."""

    cpu_seconds: float
    io_bytes: int
    """Read and written, files, pipes and most sockets alike."""


def usage_of(pid: int) -> Usage:
    """What a process has used; nothing for one that is gone or keeps it from us."""
    fields = read_status(pid)
    ticks = int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0
    return Usage(ticks / _TICKS_PER_SECOND, sum(map(int, _CHARACTERS.findall(read_fact(pid, "io")))))
