"""Locks that end with whoever holds them, however that ends: the system forgets them, nobody has to clean up."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from binnacle.config.private_files import make_folder
from binnacle.errors import BinnacleError, GitError

POLL_SECONDS = 0.02


@asynccontextmanager
async def hold_lock(path: str, *, within: float, otherwise: BinnacleError) -> AsyncIterator[int]:
    """Nobody else has the lock at `path` meanwhile. Gives its descriptor: a process that inherits it prolongs the lock.

    If somebody else has it for longer than `within` seconds, `otherwise` is raised.
    """
    try:
        make_folder(os.path.dirname(path))
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise GitError(f"cannot write {path}: {error.strerror}", hint="check permissions and free space") from error
    try:
        await _wait(handle, within=within, otherwise=otherwise)
        yield handle
    finally:
        os.close(handle)


async def _wait(handle: int, *, within: float, otherwise: BinnacleError) -> None:
    end = asyncio.get_running_loop().time() + within
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if asyncio.get_running_loop().time() > end:
                raise otherwise from error
            await asyncio.sleep(POLL_SECONDS)
        else:
            return
