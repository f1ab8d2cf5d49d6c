"""The processes of this machine, as /proc shows them. Where there is none, nothing is seen."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    # The module around it loads enum, which takes as long as half the start of an interpreter.
    import _signal as signal

MARK = b"BN_KEPT"
"""Variable that everything a program starts inherits, by which it is found wherever it went."""


SEES_PROCESSES = os.path.exists("/proc/self/stat")
"""Whether there is anything to see. If not, a process group is all that can be reached of a program."""


class Entry:
    """One process at one moment."""

    __slots__ = ("is_over", "parent", "pid", "session", "started")

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid = pid
        self.is_over = fields[0] in (b"Z", b"X")
        """Whether only its exit status is left."""

        self.parent = int(fields[1])
        self.session = int(fields[3])
        self.started = int(fields[19])
        """Ticks since the boot. With the id it names one process for good."""


def look(pid: int) -> Entry | None:
    """The process with this id, if there is one."""
    fields = read_status(pid)
    return Entry(pid, fields) if fields else None


def read_status(pid: int) -> list[bytes]:
    """What the kernel says of a process, after its name; nothing for one that is gone."""
    # The name stands in parentheses and may itself hold spaces and parentheses; what follows it does not.
    return read_fact(pid, "stat").rpartition(b")")[2].split()


def read_table() -> dict[int, Entry]:
    """Every process there is."""
    names = os.listdir("/proc") if SEES_PROCESSES else []
    entries = [look(int(name)) for name in names if name.isdigit()]
    return {entry.pid: entry for entry in entries if entry is not None}


def children_of(table: dict[int, Entry]) -> dict[int, list[Entry]]:
    """The same by their parents."""
    children: dict[int, list[Entry]] = {}
    for entry in table.values():
        children.setdefault(entry.parent, []).append(entry)
    return children


def descend(entry: Entry, children: dict[int, list[Entry]]) -> list[Entry]:
    """A process and everything below it."""
    found = [entry]
    # Read while it changes, a table may show a process below itself.
    seen = {entry.pid}
    for one in found:
        new = [child for child in children.get(one.pid, ()) if child.pid not in seen]
        seen.update(child.pid for child in new)
        found += new
    return found


def mark_of(pid: int) -> bytes:
    """What the mark of a process says; nothing if it has none, or keeps it from us."""
    for pair in read_fact(pid, "environ").split(b"\0"):
        name, _, value = pair.partition(b"=")
        if name == MARK:
            return value
    return b""


def send(entry: Entry, number: int) -> None:
    """Signals the very process of the entry: its id may have gone to another one since."""
    try:
        descriptor = os.pidfd_open(entry.pid)
    except ProcessLookupError:
        return
    except OSError:
        descriptor = -1  # an old system, or no descriptor to be had; it is to be signalled all the same
    try:
        now = look(entry.pid)
        if now is not None and now.started == entry.started:
            if descriptor < 0:
                os.kill(entry.pid, number)
            else:
                signal.pidfd_send_signal(descriptor, number)
    except OSError:
        pass
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def read_fact(pid: int, name: str) -> bytes:
    """A file that the kernel keeps about a process; empty for one that is gone or keeps it from us."""
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.readall()
    except OSError:
        return b""
