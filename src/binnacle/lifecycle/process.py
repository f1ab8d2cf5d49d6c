"""Processes: their identity, their ancestors, and whether they are alive.

A process id alone identifies nothing, because ids are reused. Here a process is its id and
its start, and the start includes the machine, the namespace of process ids and the boot, so
that no two processes with the same id ever have the same start.
"""

import os
from functools import cache
from typing import NamedTuple

from binnacle.errors import Refused
from binnacle.processes import facts
from binnacle.processes.process_entry import ProcessEntry

MAX_ANCESTORS = 256
"""Maximum depth of ancestors: more than any real tree has. It bounds the loop if the tree changes meanwhile."""


class Process(NamedTuple):
    """A process as the system shows it now."""

    pid: int
    started: str
    """`machine/namespace/boot/time`, the time in a unit of the system."""

    parent_pid: int
    name: str
    """Its own name, at most 15 characters on Linux; for a script, the script's name."""

    program: str
    """Name of the executable file, for example the shell of a script; its own name if that is not readable."""

    command: str = ""
    """Its command line. A fork has that of its parent."""

    leads_terminal: bool = False
    """Whether it is the first process of a session on a terminal, like the shell in a window."""


def find_process(pid: int) -> Process | None:
    """The process with this id; None if there is none, or only its exit status is left."""
    entry = _find_entry(pid)
    if entry is None:
        return None
    return Process(
        pid=pid,
        started=f"{_place()}/{entry.started}",
        parent_pid=entry.parent,
        name=entry.name,
        program=os.path.basename(facts.program_of(pid)) or entry.name,
        command=facts.command_line_of(pid),
        leads_terminal=entry.session == pid and facts.has_terminal(pid),
    )


def is_alive(pid: int, started: str) -> bool:
    """Whether this process, with the same id and the same start, is alive."""
    return started_at(pid) == started


def started_at(pid: int) -> str | None:
    """The start of the process with this id, or None. Cheaper than `find_process`."""
    entry = _find_entry(pid)
    return f"{_place()}/{entry.started}" if entry else None


def this_process() -> Process:
    """The process that this code runs in."""
    found = find_process(os.getpid())
    assert found is not None, "we are running"
    return found


def is_here(started: str) -> bool:
    """Whether a process with this start is visible from here: same machine and namespace, whatever the boot."""
    return started.split("/")[:2] == _place().split("/")[:2]


def is_older(one: str, than: str) -> bool:
    """Whether a process that started at `one` existed when another started at `than`."""
    place, _, moment = one.rpartition("/")
    other_place, _, other = than.rpartition("/")
    return place == other_place and moment.isdecimal() and other.isdecimal() and int(moment) <= int(other)


def ancestors(pid: int | None = None) -> list[Process]:
    """The parent of a process, its parent, and so on; by default of this process.

    Raises:
        Refused: there are too many to find the top.
    """
    if pid is None:
        parent_pid = os.getppid()
    else:
        process = find_process(pid)
        parent_pid = process.parent_pid if process else 0
    found: list[Process] = []
    while process := find_process(parent_pid):
        if len(found) == MAX_ANCESTORS:
            hint = "run it from a shell with fewer ancestors"
            raise Refused(f"this process has more than {MAX_ANCESTORS} ancestors", hint=hint)
        found.append(process)
        parent_pid = process.parent_pid
    return found


def variable_of(pid: int, name: str) -> str:
    """A variable of the environment that a process was started with; empty if it is missing or not readable.

    Later changes by a shell do not show, and that is the purpose.
    """
    return os.fsdecode(facts.environment_of(pid).get(os.fsencode(name), b""))


def _find_entry(pid: int) -> ProcessEntry | None:
    """A running process, not one of which only the exit status is left."""
    entry = facts.find_process(pid) if pid > 0 else None
    return None if entry is None or entry.is_over else entry


@cache
def _place() -> str:
    """Machine, namespace of process ids and boot. Ids and starts are comparable only within the same ones."""
    space = facts.id_space().strip("pid:[]") or "0"
    boot = facts.boot_id().replace("-", "")[:12] or "0"
    return f"{os.uname().nodename}/{space}/{boot}"
