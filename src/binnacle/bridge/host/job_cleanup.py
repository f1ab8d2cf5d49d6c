"""Removes what clients and hosts left in `.vsc-bridge`."""

import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress

import msgspec

from binnacle.bridge.jobs import job_files

KEEP_FINISHED_SECONDS = 24 * 3600.0
"""Seconds that a finished job is kept if its client does not remove it."""

KEEP_UNFINISHED_SECONDS = 2 * KEEP_FINISHED_SECONDS
KEEP_PREPARED_SECONDS = 60.0
KEEP_UNWRITTEN_SECONDS = 5.0
"""Seconds that a job without a command is kept: its client was killed while writing it, or removed it."""

KEEP_ORPHANED_SECONDS = 60.0
"""Seconds that a job is kept if its client seems to be gone, but may be in another container."""


def remove_stale_jobs(workspace: str, running: Collection[str]) -> int:
    """Removes abandoned jobs. Returns how many there were."""
    folder = job_files.bridge_folder(workspace)
    swept = _sweep(os.path.join(folder, "prepared"), (), _is_left)
    return swept + _sweep(os.path.join(folder, "execute"), running, _is_old)


def _sweep(folder: str, spared: Collection[str], is_old: Callable[[str, float], bool]) -> int:
    swept = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name not in spared and is_old(
                    entry.path, time.time() - entry.stat(follow_symlinks=False).st_mtime
                ):
                    job_files.remove_job(entry.path)
                    swept += 1
    return swept


def _is_left(folder: str, age: float) -> bool:
    """Whether a job will never be published."""
    return age > KEEP_PREPARED_SECONDS or _is_abandoned(folder, age)


def _is_old(folder: str, age: float) -> bool:
    is_done = os.path.lexists(os.path.join(folder, "done"))
    return _is_abandoned(folder, age) or age > (KEEP_FINISHED_SECONDS if is_done else KEEP_UNFINISHED_SECONDS)


def _is_abandoned(folder: str, age: float) -> bool:
    with suppress(msgspec.DecodeError):
        if (command := job_files.read_command(folder)) is None:
            return age > KEEP_UNWRITTEN_SECONDS
        return not command.is_wanted() and (age > KEEP_ORPHANED_SECONDS or bool(command.namespace))
    return False
