"""Facts about processes from psutil, for systems without /proc. `facts` says what each one is.

Importing psutil takes as long as starting an interpreter, which is why Linux does without it
(docs/decisions/0019-facts-about-processes.md).
"""

import os
from contextlib import suppress

import psutil

from binnacle.processes.process_entry import ProcessEntry

LIBRARY_FOLDERS = (os.path.dirname(os.path.dirname(psutil.__file__)),)

_STATES = {
    psutil.STATUS_RUNNING: "R",
    psutil.STATUS_DISK_SLEEP: "D",
    psutil.STATUS_STOPPED: "T",
    psutil.STATUS_TRACING_STOP: "t",
    psutil.STATUS_ZOMBIE: "Z",
    psutil.STATUS_DEAD: "X",
}


def find_process(pid: int) -> ProcessEntry | None:
    if pid <= 0:
        return None
    with suppress(psutil.NoSuchProcess):
        return _describe(psutil.Process(pid))
    return None


def read_table() -> dict[int, ProcessEntry]:
    entries = (find_process(pid) for pid in psutil.pids())
    return {entry.pid: entry for entry in entries if entry is not None}


def has_terminal(pid: int) -> bool:
    with suppress(psutil.Error):
        return psutil.Process(pid).terminal() is not None
    return False


def environment_of(pid: int) -> dict[bytes, bytes]:
    with suppress(psutil.Error, OSError):
        found = psutil.Process(pid).environ()
        return {os.fsencode(name): os.fsencode(value) for name, value in found.items()}
    return {}


def command_line_of(pid: int) -> str:
    with suppress(psutil.Error):
        return " ".join(psutil.Process(pid).cmdline()).strip()
    return ""


def program_of(pid: int) -> str:
    with suppress(psutil.Error, OSError):
        return psutil.Process(pid).exe()
    return ""


def folder_of(pid: int) -> str:
    with suppress(psutil.Error, OSError):
        return psutil.Process(pid).cwd()
    return ""


def read_usage(pid: int) -> tuple[float, int]:
    cpu_seconds, io_bytes = 0.0, 0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        times = process.cpu_times()
        cpu_seconds = times.user + times.system
        if hasattr(process, "io_counters"):
            counters = process.io_counters()
            io_bytes = getattr(counters, "read_chars", 0) + getattr(counters, "write_chars", 0)
    return cpu_seconds, io_bytes


def id_space() -> str:
    return ""


def boot_id() -> str:
    return ""


def _describe(process: psutil.Process) -> ProcessEntry:
    with process.oneshot():
        return ProcessEntry(
            pid=process.pid,
            parent=process.ppid(),
            session=_session_of(process.pid),
            # Thousandths of a second, since 1970.
            started=round(process.create_time() * 1000),
            state=_state_of(process),
            name=_name_of(process),
        )


def _state_of(process: psutil.Process) -> str:
    try:
        return _STATES.get(process.status(), "S")
    except psutil.ZombieProcess:
        return "Z"


def _name_of(process: psutil.Process) -> str:
    with suppress(psutil.ZombieProcess, psutil.AccessDenied):
        return process.name()
    return ""


def _session_of(pid: int) -> int:
    with suppress(OSError):
        return os.getsid(pid)
    return 0
