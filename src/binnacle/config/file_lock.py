"""Locks on files that end with whoever holds them, however that ends: the system forgets them, nobody cleans up.

A lock is `flock` on an open descriptor. Closing the descriptor releases it, and a child that inherits the descriptor
prolongs it. `flock` itself waits without a bound, so waiting is a loop of attempts here, the only one there is.

A file system may have no locks at all (some network mounts). Waiting then lets everybody in: what is locked here is
also replaced in one step, so that the worst case is one lost change and never a damaged file.
"""

import fcntl
import time

POLL_SECONDS = 0.01
"""Between two attempts. Locks are held for milliseconds, except by a merge or a login."""


def try_lock(descriptor: int, *, is_shared: bool = False) -> bool:
    """Takes the lock unless somebody else has it; whether it was taken.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int, *, timeout_seconds: float, is_shared: bool = False) -> None:
    """Takes the lock as soon as nobody else has it.

    Raises:
        TimeoutError: somebody else kept it.
    """
    deadline = time.monotonic() + timeout_seconds
    while not _lock_or_do_without(descriptor, is_shared=is_shared):
        _check_deadline(deadline)
        time.sleep(POLL_SECONDS)


async def wait_for_lock_async(descriptor: int, *, timeout_seconds: float) -> None:
    """The same without blocking the event loop. A cancelled wait takes no lock.

    Raises:
        TimeoutError: somebody else kept it.
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
