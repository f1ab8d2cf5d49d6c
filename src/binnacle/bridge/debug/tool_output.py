"""Runs a short program and returns its output."""

import asyncio
import os
from collections.abc import Sequence

from binnacle.bridge.debug.cancellable_wait import ScriptCall, wait_for_future
from binnacle.config.child_environment import for_person
from binnacle.processes.keeper import Keeper


async def run_tool(
    keeper: Keeper, argv: Sequence[str], *, cwd: str, seconds: float, job: ScriptCall
) -> tuple[int, bytes]:
    """The exit code and the output of a program, which is ended with everything it started if it takes too long.

    Raises:
        CannotStart: it never ran.
        TimeoutError, Cancelled: it was ended.
    """
    read, write = os.pipe()
    with os.fdopen(read, "rb") as file:
        try:
            with open(os.devnull, "rb") as null:
                process = await keeper.start(
                    argv, env=for_person(os.environ), cwd=cwd, stdin=null.fileno(), stdout=write, stderr=write
                )
        finally:
            os.close(write)
        # In a thread, which ends when the last process closes the other end.
        reading = asyncio.ensure_future(asyncio.to_thread(file.read))
        try:
            await wait_for_future(reading, timeout=seconds, job=job)
        finally:
            code = await process.end(grace=0.2)
            output = await reading
    return code, output
