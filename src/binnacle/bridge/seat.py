"""The place of the one host of a workspace: `host.lock` and `host.json`."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from binnacle.bridge import folders
from binnacle.bridge.protocol import BridgeError, HostInfo
from binnacle.config.whole import write_whole
from binnacle.errors import NextStep

YOUNG = 15.0
"""Seconds after which an empty lock is not that of a host which is just about to write into it."""


class Seat:
    """What a host has while it serves."""

    def __init__(self, workspace: str, info: HostInfo) -> None:
        self._workspace = workspace
        self._folder = folders.bridge_folder(workspace)
        self._lock = os.path.join(self._folder, "host.lock")
        self._info = info

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Has the place. Leaving it gives it up, unless another host has it by then.

        Raises:
            BridgeError: `E_HOST_EXISTS`.
        """
        self._take()
        try:
            yield
        finally:
            with _alone(self._folder):
                holder = _holder(self._folder)
                if holder is not None and holder.bridge_id == self._info.bridge_id:
                    for name in ("host.json", "host.lock"):
                        with suppress(OSError):
                            os.unlink(os.path.join(self._folder, name))

    def introduce(self) -> None:
        """Writes `host.json`: from now on clients find the host."""
        write_whole(os.path.join(self._folder, "host.json"), msgspec.json.encode(self._info))

    def keep(self) -> bool:
        """Shows that the host is alive; true if everything had been deleted under it and was made anew.

        Raises:
            BridgeError: another host has taken the place.
        """
        holder = _holder(self._folder)
        if holder is not None and holder.bridge_id != self._info.bridge_id:
            raise BridgeError(
                "E_HOST_EXISTS",
                f"host {holder.bridge_id} took over",
                hint="use that one",
                details={"pid": holder.pid},
            )
        if holder is None:
            folders.open_bridge(self._workspace)
            self._take()
        try:
            os.utime(os.path.join(self._folder, "host.json"))
        except FileNotFoundError:
            self.introduce()
        return holder is None

    def _take(self) -> None:
        with _alone(self._folder):
            holder = _holder(self._folder)
            if holder is not None and (holder.is_alive() or _is_fresh(self._lock, holder)):
                raise BridgeError(
                    "E_HOST_EXISTS",
                    f"a {holder.kind} host serves {self._workspace} already: process {holder.pid}",
                    hint=("use that one", NextStep("or end it", "bridge stop")),
                    details={"pid": holder.pid, "kind": holder.kind},
                )
            # Left by a host that died. Nobody else of ours is between the two lines.
            with suppress(FileNotFoundError):
                os.unlink(self._lock)
            try:
                fd = os.open(self._lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError as error:
                raise BridgeError(
                    "E_HOST_EXISTS", "another host was a moment faster", hint="use that one", retryable=True
                ) from error
            with os.fdopen(fd, "wb") as file:
                file.write(msgspec.json.encode(self._info))


def _holder(folder: str) -> HostInfo | None:
    """Whoever has the place of the host. Another program's lock may hold only a process id, or nothing."""
    written = folders.read_file(os.path.join(folder, "host.lock"))
    if written is None:
        return None
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(written, type=HostInfo)
    workspace = os.path.dirname(folder)
    pid = int(written) if written.strip().isdigit() else 0
    known = folders.read_host(workspace)
    return known or HostInfo(bridge_id="", pid=pid)


def _is_fresh(path: str, holder: HostInfo) -> bool:
    """Whether somebody has created the lock just now and not yet written into it."""
    with suppress(OSError):
        return not holder.pid and time.time() - os.stat(path).st_mtime < YOUNG
    return False


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Nobody else of ours looks at the lock meanwhile. It is held for a few system calls only."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
