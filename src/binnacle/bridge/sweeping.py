"""Clears away what clients and hosts left in `.vsc-bridge`."""

import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress

import msgspec

from binnacle.bridge import folders

DAY = 24 * 3600.0
FINISHED = DAY
"""Seconds that a finished job is kept which its client did not take away."""

QUARANTINED = 7 * DAY
UNFINISHED = 2 * DAY
PREPARED = 60.0
ORPHANED = 60.0
"""Seconds that a job is kept whose client seems to be gone, but may be in another container."""


def sweep(workspace: str, running: Collection[str]) -> int:
    """Takes away what nobody will look at any more; returns how many jobs that were."""
    folder = folders.bridge_folder(workspace)
    swept = _sweep(os.path.join(folder, "prepared"), (), lambda path, age: age > PREPARED or _is_abandoned(path, age))
    return swept + _sweep(os.path.join(folder, "execute"), running, _is_old)


def _sweep(folder: str, spared: Collection[str], is_old: Callable[[str, float], bool]) -> int:
    swept = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name not in spared and is_old(entry.path, time.time() - entry.stat().st_mtime):
                    folders.remove(entry.path)
                    swept += 1
    return swept


def _is_old(folder: str, age: float) -> bool:
    def has(mark: str) -> bool:
        return os.path.lexists(os.path.join(folder, mark))

    if has("keep"):
        return False
    if has("dlq"):
        return age > QUARANTINED
    if _is_abandoned(folder, age):
        return True
    return age > (FINISHED if has("done") else UNFINISHED)


def _is_abandoned(folder: str, age: float) -> bool:
    with suppress(msgspec.DecodeError):
        command = folders.read_command(folder)
        return command is not None and not command.is_wanted() and (age > ORPHANED or bool(command.namespace))
    return False
