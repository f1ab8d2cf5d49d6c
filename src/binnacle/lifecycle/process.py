"""Processes: who they are, who started them, whether they are still there.

A process id alone names nothing, because ids are used again. Here a process is its id and
its start, and the start says on which machine, in which space of process ids and since
which boot it was counted: equal for no two processes that ever had the same id.
"""

import os
from functools import cache
from typing import NamedTuple

from binnacle.errors import Refused
from binnacle.processes import facts
from binnacle.processes.process_entry import ProcessEntry

MAX_ANCESTORS = 256
"""Ancestors looked at. Deeper than any real tree; a bound in case the tree changes while it is read."""


class Process(NamedTuple):
    """A process as the system shows it now."""

    pid: int
    started: str
    """`machine/space/boot/moment`, the moment in the system's unit."""

    parent_pid: int
    name: str
    """What it calls itself, at most 15 characters on Linux; a script has its own name here."""

    program: str
    """Name of the file it runs, the shell of a script for instance; its own name where that is kept from us."""

    command: str = ""
    """Its command line. A fork has that of its parent."""

    leads_terminal: bool = False
    """Whether it is the first process of a session on a terminal, as the shell in a window is."""


def find_process(pid: int) -> Process | None:
    """The process with this id, or None when there is none or only its exit status is left."""
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
    """Whether the very process is there: the same id and the same start."""
    return started_at(pid) == started


def started_at(pid: int) -> str | None:
    """When the process with this id started; None when there is none. Cheaper than looking at all of it."""
    entry = _find_entry(pid)
    return f"{_place()}/{entry.started}" if entry else None


def this_process() -> Process:
    """The process that this code runs in."""
    found = find_process(os.getpid())
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
        process = find_process(pid)
        parent_pid = process.parent_pid if process else 0
    found: list[Process] = []
    while process := find_process(parent_pid):
        if len(found) == MAX_ANCESTORS:
            hint = "run it from a shell with fewer programs above it"
            raise Refused(f"more than {MAX_ANCESTORS} processes are above this one", hint=hint)
        found.append(process)
        parent_pid = process.parent_pid
    return found


def variable_of(pid: int, name: str) -> str:
    """A variable of the environment that a process was started with; empty where there is none or it is kept from us.

    What a shell has set or unset since is not seen, which is why it is asked for.
    """
    return os.fsdecode(facts.environment_of(pid).get(os.fsencode(name), b""))


def _find_entry(pid: int) -> ProcessEntry | None:
    """A process that runs, and is not just an exit status that nobody has asked for."""
    entry = facts.find_process(pid) if pid > 0 else None
    return None if entry is None or entry.is_over else entry


@cache
def _place() -> str:
    """Machine, space of process ids and boot. Ids and starts mean something only within one of these."""
    space = facts.id_space().strip("pid:[]") or "0"
    boot = facts.boot_id().replace("-", "")[:12] or "0"
    return f"{os.uname().nodename}/{space}/{boot}"
