"""Locks on files that end with the process that holds them, however it ends: no cleanup is needed.

A lock is `flock` on an open descriptor. Closing the descriptor releases it, and a child that inherits the descriptor
keeps it. `flock` itself waits without a limit, so this module waits in a loop of attempts.

Some file systems (network mounts) have no locks. Then every wait succeeds at once: locked files are also replaced
atomically, so the worst case is one lost change, never a damaged file.
"""

import fcntl
import time

POLL_SECONDS = 0.01
"""Pause between two attempts. Locks are held for milliseconds, except by a merge or a login."""


def try_lock(descriptor: int, *, is_shared: bool = False) -> bool:
    """Takes the lock unless someone else has it. Returns whether it was taken.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int, *, timeout_seconds: float, is_shared: bool = False) -> None:
    """Takes the lock as soon as no one else has it.

    Raises:
        TimeoutError: someone else kept it.
    """
    deadline = time.monotonic() + timeout_seconds
    while not _lock_or_do_without(descriptor, is_shared=is_shared):
        _check_deadline(deadline)
        time.sleep(POLL_SECONDS)


async def wait_for_lock_async(descriptor: int, *, timeout_seconds: float) -> None:
    """The same without blocking the event loop. A cancelled wait takes no lock.

    Raises:
        TimeoutError: someone else kept it.
    """
    import asyncio

    deadline = time.monotonic() + timeout_seconds
    while not _lock_or_do_without(descriptor, is_shared=False):
        _check_deadline(deadline)
        await asyncio.sleep(POLL_SECONDS)


def _lock_or_do_without(descriptor: int, *, is_shared: bool) -> bool:
    try:
        return try_lock(descriptor, is_shared=is_shared)
    except OSError:
        return True


def _check_deadline(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError("another process has locked it")
