"""What the system knows about its processes. Every other module asks here, and none reads /proc itself.

    facts ──→ linux_facts       /proc, where there is one: nothing to import, microseconds a look
          └─→ portable_facts    psutil, elsewhere and with BN_PORTABLE=1

    find_process(pid)       one entry of the table: parent, session, start, state, name; None when there is none
    read_table()            every process, by its id
    has_terminal(pid)       whether it has a terminal to control it
    environment_of(pid)     the variables it was started with; what it changed since is not seen
    command_line_of(pid)    its words with spaces between them
    program_of(pid)         the file it runs
    folder_of(pid)          its working folder
    read_usage(pid)         seconds of processor time, bytes read and written; without its children
    id_space()              names the space in which process ids are counted; a container has its own
    boot_id()               names the boot; empty where starts are told apart without it

A fact about a process that is gone, or that the system keeps from us, is empty. Nothing here raises.
This module is loaded by the keeper's process, so it and `linux_facts` import nothing that costs time.
"""

import os

from binnacle.processes.linux import HAS_PROC, open_pidfd
from binnacle.processes.process_entry import ProcessEntry, group_by_parent, list_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    # The module around it loads enum, which takes as long as half the start of an interpreter.
    import _signal as signal

if HAS_PROC:
    from binnacle.processes.linux_facts import (
        LIBRARY_FOLDERS,
        boot_id,
        command_line_of,
        environment_of,
        find_process,
        folder_of,
        has_terminal,
        id_space,
        program_of,
        read_table,
        read_usage,
    )
else:
    from binnacle.processes.portable_facts import (
        LIBRARY_FOLDERS,
        boot_id,
        command_line_of,
        environment_of,
        find_process,
        folder_of,
        has_terminal,
        id_space,
        program_of,
        read_table,
        read_usage,
    )

__all__ = [
    "LIBRARY_FOLDERS",
    "MARK_VARIABLE",
    "ProcessEntry",
    "boot_id",
    "command_line_of",
    "environment_of",
    "find_process",
    "folder_of",
    "group_by_parent",
    "has_terminal",
    "id_space",
    "list_tree",
    "mark_of",
    "program_of",
    "read_table",
    "read_usage",
    "send_signal",
]

MARK_VARIABLE = b"BN_KEPT"
"""Variable that everything a program starts inherits, by which it is found wherever it went."""


def mark_of(pid: int) -> bytes:
    """What the mark of a process says; nothing if it has none, or keeps it from us."""
    return environment_of(pid).get(MARK_VARIABLE, b"")


def send_signal(entry: ProcessEntry, number: int) -> None:
    """Signals the very process of the entry: its id may have gone to another one since."""
    descriptor = None
    try:
        descriptor = open_pidfd(entry.pid)
        now = find_process(entry.pid)
        if now is None or now.key != entry.key:
            return
        if descriptor is None:
            os.kill(entry.pid, number)
        else:
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        pass
    finally:
        if descriptor is not None:
            os.close(descriptor)
