"""Processes: who they are, who started them, whether they are still there.

A process id alone names nothing, because ids are used again. Here a process is its id and
its start, and the start says on which machine, in which space of process ids and since
which boot it was counted: equal for no two processes that ever had the same id.
"""

import os
from functools import cache
from typing import NamedTuple

from binnacle.errors import Refused

LONGEST_CHAIN = 256
"""Ancestors looked at. Deeper than any real tree; a bound in case the tree changes while it is read."""


class Process(NamedTuple):
    """A process as the system shows it now."""

    pid: int
    started: str
    """`host/space/boot/moment`, the moment in a unit of the system's own."""

    parent_pid: int
    name: str
    """What it calls itself, at most 15 characters on Linux; a script has its own name here."""

    program: str
    """Name of the file it runs, the shell of a script for instance; its own name where that is kept from us."""

    command: str = ""
    """Its command line. A fork has that of its parent."""

    leads_terminal: bool = False
    """Whether it is the first process of a session on a terminal, as the shell in a window is."""


def look(pid: int) -> Process | None:
    """The process with this id, or None when there is none or only its exit status is left."""
    if pid <= 0:
        return None
    return _from_proc(pid) if os.path.exists("/proc/self/stat") else _from_ps(pid)


def is_alive(pid: int, started: str) -> bool:
    """Whether the very process is there: the same id and the same start."""
    return started_at(pid) == started


def started_at(pid: int) -> str | None:
    """When the process with this id started; None when there is none. Cheaper than looking at all of it."""
    if not os.path.exists("/proc/self/stat"):
        found = look(pid)
        return found.started if found else None
    fields = _stat(pid)[1]
    return f"{_place()}/{int(fields[19])}" if _is_there(fields) else None


def this_process() -> Process:
    """The process that this code runs in."""
    found = look(os.getpid())
    assert found is not None, "we are running"
    return found


def is_here(started: str) -> bool:
    """Whether this process can see that one: the same machine and the same space of ids, whatever the boot."""
    return started.split("/")[:2] == _place().split("/")[:2]


def is_older(one: str, than: str) -> bool:
    """Whether a process that started at `one` was there when another started at `than`."""
    place, _, moment = one.rpartition("/")
    other_place, _, other = than.rpartition("/")
    return place == other_place and moment.isdecimal() and other.isdecimal() and int(moment) <= int(other)


def ancestors(pid: int | None = None) -> list[Process]:
    """The parent of a process, its parent, and so on; of this process when none is given.

    Raises:
        Refused: there are more than anybody has. Whoever is at the top cannot be told, so nothing is guessed.
    """
    if pid is None:
        parent_pid = os.getppid()
    else:
        process = look(pid)
        parent_pid = process.parent_pid if process else 0
    found: list[Process] = []
    while process := look(parent_pid):
        if len(found) == LONGEST_CHAIN:
            hint = "run it from a shell with fewer programs above it"
            raise Refused(f"more than {LONGEST_CHAIN} processes are above this one", hint=hint)
        found.append(process)
        parent_pid = process.parent_pid
    return found


def variable_of(pid: int, name: str) -> str:
    """A variable of the environment that a process was started with; empty where there is none or it is kept from us.

    What a shell has set or unset since is not seen, which is why it is asked for.
    """
    begins = f"{name}="
    found = (one for one in _read(pid, "environ").split("\0") if one.startswith(begins))
    return next(found, "").removeprefix(begins)


def _from_proc(pid: int) -> Process | None:
    name, fields = _stat(pid)
    if not _is_there(fields):
        return None
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)"))
    except OSError:
        program = name
    return Process(
        pid=pid,
        started=f"{_place()}/{int(fields[19])}",
        parent_pid=int(fields[1]),
        name=name,
        program=program,
        command=_read(pid, "cmdline").replace("\0", " ").strip(),
        leads_terminal=fields[3] == str(pid) and fields[4] != "0",
    )


def _stat(pid: int) -> tuple[str, list[str]]:
    """The name of a process and what follows it in proc(5): state, parent, group, session, terminal, …"""
    # The name stands in parentheses and may itself hold spaces and parentheses; what follows it does not.
    name, _, rest = _read(pid, "stat").partition("(")[2].rpartition(")")
    return name, rest.split()


def _is_there(fields: list[str]) -> bool:
    """Whether it runs, and is not just an exit status that nobody has asked for."""
    return bool(fields) and fields[0] not in ("Z", "X")


def _read(pid: int, name: str) -> str:
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _from_ps(pid: int) -> Process | None:
    """Where there is no /proc. The start is in whole seconds there."""
    import calendar
    import time

    fields = _ask_ps(pid, "ppid=", "stat=", "tty=", "lstart=", "comm=").split(None, 8)
    if len(fields) < 9 or fields[1].startswith("Z"):
        return None
    parent_pid, state, terminal, _, *moment, path = fields
    started = calendar.timegm(time.strptime(" ".join(moment), "%b %d %H:%M:%S %Y"))
    name = os.path.basename(path.strip())
    return Process(
        pid=pid,
        started=f"{_place()}/{started}",
        parent_pid=int(parent_pid),
        name=name,
        program=name,
        command=_ask_ps(pid, "args=").strip(),
        leads_terminal="s" in state and "?" not in terminal,
    )


def _ask_ps(pid: int, *columns: str) -> str:
    return _run_ps("-ww", *(word for column in columns for word in ("-o", column)), "-p", str(pid))


def _run_ps(*options: str) -> str:
    import subprocess

    words = ["ps", *options]
    plain = os.environ | {"LC_ALL": "C", "TZ": "UTC0"}
    try:
        return subprocess.run(words, env=plain, capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.SubprocessError) as error:
        # Not "it is gone": on that word claims are given back and registrations ended.
        raise Refused(f"cannot look at processes: {error}", hint="bn needs ps, or a system with /proc") from error


@cache
def _place() -> str:
    """Machine, space of process ids and boot. Ids and moments mean something only within one of these."""
    boot = "0"  # where moments are not counted from the boot, they tell boots apart by themselves
    space = "0"
    try:
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip().replace("-", "")[:12]
    except OSError:
        pass
    return f"{os.uname().nodename}/{space}/{boot}"
