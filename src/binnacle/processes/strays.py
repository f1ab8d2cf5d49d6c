"""Ends what a keeper that was killed has left behind."""

import contextlib
import os
import signal
import time
from collections.abc import Mapping

from binnacle.processes.table import SEES_PROCESSES, Entry, children_of, descend, mark_of, read_table, send

GRACE = 1.0
"""Seconds to end by themselves. The leaders were told already, by the system, when the keeper was killed."""

LAST_PATIENCE = 2.0
"""Seconds to wait for killed processes to be gone."""

PAUSE = 0.02
"""Seconds between two looks. Nobody tells of the end of processes that are not our children."""


def end_strays(token: str, leaders: Mapping[int, int]) -> None:
    """Ends everything with a mark of `token`, and the sessions of `leaders`, given with their starts.

    Blocks for as long as that takes, which has a bound.
    """
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, LAST_PATIENCE)):
        deadline = time.monotonic() + patience
        told: set[tuple[int, int]] = set()
        if not SEES_PROCESSES:
            _tell_groups(leaders, number)
        while strays := find_strays(token, leaders):
            for entry in strays:
                if (entry.pid, entry.started) not in told:
                    told.add((entry.pid, entry.started))
                    send(entry, number)
            if time.monotonic() >= deadline:
                break
            time.sleep(PAUSE)
        else:
            return


def find_strays(token: str, leaders: Mapping[int, int]) -> list[Entry]:
    """The live processes that a keeper had started, and what is below them."""
    table = read_table()
    children = children_of(table)
    prefix = f"{token}-".encode()
    found: dict[int, Entry] = {}
    for entry in table.values():
        if _is_in_session(entry, leaders, table) or mark_of(entry.pid).startswith(prefix):
            found.update((one.pid, one) for one in descend(entry, children))
    return [entry for entry in found.values() if not entry.is_over]


def _is_in_session(entry: Entry, leaders: Mapping[int, int], table: Mapping[int, Entry]) -> bool:
    started = leaders.get(entry.session)
    if started is None or entry.started < started:
        return False
    leader = table.get(entry.session)
    # The id may have gone to someone else, but not while its session lives on.
    return leader is None or leader.started == started


def _tell_groups(leaders: Mapping[int, int], number: signal.Signals) -> None:
    for leader in leaders:
        with contextlib.suppress(OSError):
            os.killpg(leader, number)
