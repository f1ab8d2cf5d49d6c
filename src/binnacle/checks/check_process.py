"""One run of a command of a check: under the keeper, bounded in time, memory and output.

Afterwards nothing of it is left, however it ended: the keeper ends its process group and whatever left it. It has no
input. Memory is bounded for each of its processes; the number of processes and the space on the disk are not.
"""

import asyncio
import os
import shutil
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from binnacle.checks.bounded_log import BoundedLog
from binnacle.processes.keeper import CannotStart, Keeper
from binnacle.processes.piped_program import PipedProgram, start_piped

STOP_GRACE_SECONDS = 2.0
DRAIN_SECONDS = 1.0
"""Seconds to read what is in the pipe after the command has ended; what it left behind may keep the pipe open."""

MAX_FILE_BYTES = 4 << 30
"""The largest file that a check may write."""

_BOUNDED = 'ulimit -c 0; ulimit -f "$1"; ulimit -d "$2"; shift 2; exec "$@"'
"""Sets the bounds for everything that follows, and becomes the command. Where the system lacks one, there is none."""


class ProcessEnd(Struct, frozen=True, kw_only=True):
    """How a command ended."""

    exit: int | None = None
    is_timeout: bool = False
    fault: str = ""
    """Why it did not start."""

    seconds: float = 0.0


def physical_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def default_memory() -> int:
    """Bytes that a process of a check may have if its definition does not say: three quarters of the machine's."""
    return physical_memory() // 4 * 3


async def run_bounded(
    keeper: Keeper,
    words: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    log: BoundedLog,
    memory: int = 0,
) -> ProcessEnd:
    """Runs a command to its end, or for `timeout` seconds. Cancelling ends it with everything it started."""
    if "/" not in words[0] and shutil.which(words[0], path=env.get("PATH", os.defpath)) is None:
        return ProcessEnd(fault=f"no such command: {words[0]}")
    bounds = (str(MAX_FILE_BYTES // 512), str((memory or default_memory()) >> 10))
    began = time.monotonic()
    try:
        program = await start_piped(
            keeper, ("/bin/sh", "-c", _BOUNDED, "check", *bounds, *words),
            env=env, cwd=cwd, on_output=log.write, on_errors=log.write,
        )  # fmt: skip
    except CannotStart as error:
        return ProcessEnd(fault=error.message)
    program.drop_input()
    try:
        code, is_timeout = await _wait(program, timeout)
    finally:
        program.close()
    return ProcessEnd(exit=code, is_timeout=is_timeout, seconds=time.monotonic() - began)


async def _wait(program: PipedProgram, timeout: float) -> tuple[int, bool]:
    """Waits until it has ended or its time is over, and ends what is left of it."""
    is_timeout = False
    try:
        async with asyncio.timeout(timeout):
            await program.owned.wait()
    except TimeoutError:
        is_timeout = True
    finally:
        code = await program.owned.end(grace=STOP_GRACE_SECONDS if is_timeout else 0)
    await asyncio.wait((program.output_ended, program.errors_ended), timeout=DRAIN_SECONDS)
    return code, is_timeout
