"""What a process has used so far, as /proc shows it. Where there is none, nothing."""

import os
import re
from typing import NamedTuple

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_CHARACTERS = re.compile(rb"^[rw]char: (\d+)$", re.MULTILINE)


class Usage(NamedTuple):
    """Of one process, without its children."""

    cpu_seconds: float
    io_bytes: int
    """Read and written, files, pipes and most sockets alike."""


def usage_of(pid: int) -> Usage:
    """What a process has used; nothing for one that is gone or keeps it from us."""
    # The name stands in parentheses and may itself hold spaces and parentheses; what follows it does not.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    ticks = int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0
    return Usage(ticks / _TICKS_PER_SECOND, sum(map(int, _CHARACTERS.findall(_read(pid, "io")))))


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.readall()
    except OSError:
        return b""
