"""Facts about processes. Every other module asks here, and none reads /proc itself.

    facts ──→ linux_facts       /proc, where it exists: no imports, microseconds per fact
          └─→ portable_facts    psutil, elsewhere and with BN_PORTABLE=1

    find_process(pid)       one entry of the table: parent, session, start, state, name; None when there is none
    read_table()            every process, by its id
    has_terminal(pid)       whether it has a terminal to control it
    environment_of(pid)     the variables it was started with, without later changes
    command_line_of(pid)    its words with spaces between them
    program_of(pid)         the file it runs
    folder_of(pid)          its working folder
    read_usage(pid)         seconds of processor time, bytes read and written; without its children
    id_space()              names the namespace of process ids; a container has its own
    boot_id()               names the boot; empty where start times are unique without it

A fact about a process that is gone, or that the system hides from us, is empty. Nothing here raises.
The keeper's process loads this module, so it and `linux_facts` import nothing that costs time.
"""

import os

from binnacle.processes.linux import HAS_PROC, open_pidfd
from binnacle.processes.process_entry import ProcessEntry, group_by_parent, list_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    # `signal` loads enum, which takes half as long as starting an interpreter.
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
"""Variable that everything a program starts inherits, and by which it is found."""


def mark_of(pid: int) -> bytes:
    """The mark of a process; empty if it has none, or the system hides it."""
    return environment_of(pid).get(MARK_VARIABLE, b"")


def send_signal(entry: ProcessEntry, number: int) -> None:
    """Signals the process of the entry, but no other process that reuses its id."""
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
