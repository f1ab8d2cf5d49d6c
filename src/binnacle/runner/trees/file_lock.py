"""Locks that end with the process that holds them: the system releases them, and nothing has to be cleaned up."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from binnacle.config.file_lock import wait_for_lock_async
from binnacle.config.private_files import make_folder
from binnacle.errors import BinnacleError, GitError


@asynccontextmanager
async def hold_lock(path: str, *, within: float, otherwise: BinnacleError) -> AsyncIterator[int]:
    """Holds the lock at `path` in the block. Yields its descriptor: a process that inherits it prolongs the lock.

    Raises `otherwise` if another process holds it for longer than `within` seconds.
    """
    try:
        make_folder(os.path.dirname(path))
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise GitError(f"cannot write {path}: {error.strerror}", hint="check permissions and free space") from error
    try:
        try:
            await wait_for_lock_async(handle, timeout_seconds=within)
        except TimeoutError as error:
            raise otherwise from error
        yield handle
    finally:
        os.close(handle)
