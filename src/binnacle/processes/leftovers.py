"""Ends what a killed keeper or guard has left behind.

The processes they leave are not our children: the system does not report their end to us, and we find them by looking
at every process of the machine.
"""

import time
from collections.abc import Mapping

from binnacle.processes.facts import ProcessEntry, group_by_parent, list_tree, mark_of, read_table
from binnacle.processes.process_tree import TreeEnding

END_GRACE_SECONDS = 1.0
"""Seconds to end. The system has already signalled the roots when their keeper was killed."""

POLL_SECONDS = 0.02
"""Seconds between two reads of the table."""


def end_leftovers(
    token: str, roots: Mapping[int, int], *, name: str = "", grace_seconds: float = END_GRACE_SECONDS
) -> None:
    """Ends everything with a mark of `token` or the name `name`, and the sessions of `roots`, given with their starts.

    Blocks for as long as that takes, which has a bound.
    """
    ending = TreeEnding(time.monotonic() + grace_seconds)
    while left := find_leftovers(token, roots, name=name):
        now = time.monotonic()
        ending.signal_all(left, now)
        if ending.is_hopeless(now):
            return
        time.sleep(POLL_SECONDS)


def find_leftovers(token: str, roots: Mapping[int, int], *, name: str = "") -> list[ProcessEntry]:
    """The live processes that belong to the trees of `roots`, and what is below them."""
    table = read_table()
    children = group_by_parent(table)
    prefix = f"{token}-".encode()
    found: dict[int, ProcessEntry] = {}
    for entry in table.values():
        is_named = bool(name) and entry.name == name
        if is_named or _is_in_session(entry, roots, table) or mark_of(entry.pid).startswith(prefix):
            found.update((one.pid, one) for one in list_tree(entry, children))
    return [entry for entry in found.values() if not entry.is_over]


def _is_in_session(entry: ProcessEntry, roots: Mapping[int, int], table: Mapping[int, ProcessEntry]) -> bool:
    started = roots.get(entry.session)
    if started is None or entry.started < started:
        return False
    root = table.get(entry.session)
    # The id may be reused, but not while its session exists.
    return root is None or root.started == started
