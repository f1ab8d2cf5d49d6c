"""Locks for checks that may not run at once on this machine, because they use the same port or database."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from binnacle.config.file_lock import wait_for_lock_async
from binnacle.config.private_files import make_private_folder
from binnacle.errors import TimedOut

EXCLUSIVE_TIMEOUT_SECONDS = 3600.0
"""Seconds to wait for others; each of them is bounded by its own timeout."""


@asynccontextmanager
async def hold_exclusively(folder: str, name: str) -> AsyncIterator[None]:
    """Holds the lock called `name` in the block. It ends with this process, however that ends.

    Raises:
        TimedOut: others held it for too long.
    """
    make_private_folder(folder)
    handle = os.open(os.path.join(folder, f"exclusive-{name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            await wait_for_lock_async(handle, timeout_seconds=EXCLUSIVE_TIMEOUT_SECONDS)
        except TimeoutError as error:
            hint = "wait for the other check, or end it"
            raise TimedOut(f"another check has held the lock {name!r} for too long", hint=hint) from error
        yield
    finally:
        os.close(handle)
