"""One process of the system's table, and the tree that such entries form, whatever their source."""


class ProcessEntry:
    """One process at one moment."""

    __slots__ = ("name", "parent", "pid", "session", "started", "state")

    def __init__(self, *, pid: int, parent: int, session: int, started: int, state: str, name: str) -> None:
        self.pid = pid
        self.parent = parent
        self.session = session
        self.started = started
        """When it started, in the system's unit. Together with the id it identifies one process."""

        self.state = state
        """One letter, as in proc(5)."""

        self.name = name
        """Its name; Linux keeps 15 bytes."""

    @property
    def key(self) -> tuple[int, int]:
        """Identifies this process, and no later one with the same id."""
        return self.pid, self.started

    @property
    def is_over(self) -> bool:
        """Whether only its exit status is left."""
        return self.state in ("Z", "X")

    @property
    def is_stopped(self) -> bool:
        """Whether a signal or a debugger has stopped it, and it does nothing until it is continued."""
        return self.state in ("T", "t")

    @property
    def is_busy(self) -> bool:
        """Whether it runs, or waits for the processor or a disk."""
        return self.state in ("R", "D")


def group_by_parent(table: dict[int, ProcessEntry]) -> dict[int, list[ProcessEntry]]:
    """The children of each process that has any."""
    children: dict[int, list[ProcessEntry]] = {}
    for entry in table.values():
        children.setdefault(entry.parent, []).append(entry)
    return children


def list_tree(entry: ProcessEntry, children: dict[int, list[ProcessEntry]]) -> list[ProcessEntry]:
    """A process and everything below it."""
    found = [entry]
    # A table that is read while it changes may show a process below itself.
    seen = {entry.pid}
    for one in found:
        new = [child for child in children.get(one.pid, ()) if child.pid not in seen]
        seen.update(child.pid for child in new)
        found += new
    return found
