"""Facts about processes from /proc: a few microseconds each, and nothing to import. `facts` says what each one is."""

import os

from binnacle.processes.process_entry import ProcessEntry

LIBRARY_FOLDERS: tuple[str, ...] = ()

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def find_process(pid: int) -> ProcessEntry | None:
    name, fields = _read_stat(pid)
    if not fields:
        return None
    return ProcessEntry(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        started=int(fields[19]),
        state=fields[0].decode(),
        name=name.decode("utf-8", "replace"),
    )


def read_table() -> dict[int, ProcessEntry]:
    entries = [find_process(int(name)) for name in os.listdir("/proc") if name.isdigit()]
    return {entry.pid: entry for entry in entries if entry is not None}


def has_terminal(pid: int) -> bool:
    return _read_stat(pid)[1][4:5] not in ([], [b"0"])


def environment_of(pid: int) -> dict[bytes, bytes]:
    pairs = (pair.partition(b"=") for pair in _read(pid, "environ").split(b"\0") if pair)
    return {name: value for name, _, value in pairs}


def command_line_of(pid: int) -> str:
    return _read(pid, "cmdline").decode("utf-8", "replace").replace("\0", " ").strip()


def program_of(pid: int) -> str:
    return _read_link(f"/proc/{pid}/exe").removesuffix(" (deleted)")


def folder_of(pid: int) -> str:
    return _read_link(f"/proc/{pid}/cwd")


def read_usage(pid: int) -> tuple[float, int]:
    fields = _read_stat(pid)[1]
    ticks = int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0
    characters = (line.split() for line in _read(pid, "io").splitlines() if line.startswith((b"rchar:", b"wchar:")))
    return ticks / _TICKS_PER_SECOND, sum(int(number) for _, number in characters)


def id_space() -> str:
    return _read_link("/proc/self/ns/pid")


def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _read_stat(pid: int) -> tuple[bytes, list[bytes]]:
    """The name of a process and what follows it in proc(5): state, parent, group, session, terminal, …"""
    # The name is in parentheses and may contain spaces and parentheses; what follows it does not.
    name, _, rest = _read(pid, "stat").partition(b"(")[2].rpartition(b")")
    return name, rest.split()


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.readall()
    except OSError:
        return b""


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
