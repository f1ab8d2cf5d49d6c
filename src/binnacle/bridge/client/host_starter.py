"""Starts the headless host of a workspace, as a process that outlives its first client.

Of several clients that need it at once, one starts it and the others wait.
"""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress

from binnacle.bridge.jobs import job_files
from binnacle.bridge.jobs.protocol import BridgeError, HostInfo
from binnacle.config.child_environment import for_person
from binnacle.config.file_lock import try_lock
from binnacle.errors import NextStep

START_TIMEOUT_SECONDS = 15.0
"""Seconds until a host serves. It takes 0.2."""

START_POLL_SECONDS = 0.02
HOST_LOG = "host.log"
MAX_HOST_LOG_BYTES = 1 << 20
LOG_TAIL_CHARACTERS = 2000

_started: set[int] = set()
"""Child processes to reap when they have ended."""


async def start_host(workspace: str, words: Sequence[str]) -> HostInfo:
    """Starts a host by a command, unless one has started meanwhile. Returns it when it serves.

    Raises:
        BridgeError: it does not start; the message has the last lines of its log.
    """
    for earlier in list(_started):
        _has_ended(earlier)
    folder = job_files.open_bridge(workspace)
    fd = os.open(os.path.join(folder, "starting.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    pid = 0
    try:
        async with asyncio.timeout(START_TIMEOUT_SECONDS):
            while True:
                if (host := _serving(workspace)) is not None:
                    return host
                if pid == 0 and try_lock(fd):
                    pid = _spawn(words, folder)
                elif pid and _has_ended(pid):
                    break
                await asyncio.sleep(START_POLL_SECONDS)
    except TimeoutError:
        pass
    finally:
        os.close(fd)
    if (host := _serving(workspace)) is not None:
        return host
    said = read_log(workspace)
    raise BridgeError(
        "E_BRIDGE_UNAVAILABLE",
        "the host does not start" + (f"; its last output:\n{said}" if said else ""),
        hint=NextStep("run it by hand to see why", "bridge host", for_person=True),
        retryable=True,
    )


def read_log(workspace: str) -> str:
    """The end of what the host wrote."""
    content = job_files.read_plain_file(os.path.join(job_files.bridge_folder(workspace), HOST_LOG)) or b""
    return content[-LOG_TAIL_CHARACTERS:].decode(errors="replace").strip()


def _serving(workspace: str) -> HostInfo | None:
    host = job_files.read_host(workspace)
    return host if host is not None and host.is_alive() else None


def _spawn(words: Sequence[str], folder: str) -> int:
    """The process, in a new session: no terminal and no signal to our group reaches it."""
    log = os.path.join(folder, HOST_LOG)
    with suppress(OSError):
        if os.lstat(log).st_size > MAX_HOST_LOG_BYTES:
            os.replace(log, f"{log}.1")
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    # It serves all clients, and starts the programs that are debugged.
    pid = os.posix_spawn(words[0], list(words), for_person(os.environ), file_actions=actions, setsid=True)
    _started.add(pid)
    return pid


def _has_ended(pid: int) -> bool:
    """Whether it has ended; if so, it is reaped."""
    try:
        ended = os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        ended = True  # already reaped
    if ended:
        _started.discard(pid)
    return ended
