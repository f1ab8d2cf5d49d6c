"""The place of the one host of a workspace: `host.lock` and `host.json`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from binnacle.bridge.jobs import job_files, proofs
from binnacle.bridge.jobs.protocol import BridgeError, HostInfo
from binnacle.config.atomic_write import write_atomically
from binnacle.config.file_lock import wait_for_lock
from binnacle.errors import NextStep

LOCK_TIMEOUT_SECONDS = 5.0
"""Whoever has the lock on the folder has it for a few system calls."""


class HostLock:
    """What a host has while it serves: its lock, and the key that it shares with its clients."""

    def __init__(self, workspace: str, info: HostInfo) -> None:
        self._workspace = workspace
        self._folder = job_files.bridge_folder(workspace)
        self._lock = os.path.join(self._folder, "host.lock")
        self.key = os.urandom(proofs.KEY_BYTES)
        self._info = msgspec.structs.replace(info, proof=proofs.prove_host(self.key, info))

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
                holder = self._holder()
                if holder is not None and holder.bridge_id == self._info.bridge_id:
                    for name in ("host.json", "host.lock"):
                        with suppress(OSError):
                            os.unlink(os.path.join(self._folder, name))
            proofs.remove_key(self._workspace, self._info.bridge_id)

    def introduce(self) -> None:
        """Writes `host.json`: from now on clients find the host."""
        write_atomically(os.path.join(self._folder, "host.json"), msgspec.json.encode(self._info))

    def keep(self) -> bool:
        """Shows that the host is alive; true if everything had been deleted under it and was made again.

        Raises:
            BridgeError: another host has taken the place.
        """
        holder = self._holder()
        if holder is not None and holder.bridge_id != self._info.bridge_id:
            raise BridgeError(
                "E_HOST_EXISTS",
                f"host {holder.bridge_id} took over",
                hint="use that one",
                details={"pid": holder.pid},
            )
        if holder is None:
            job_files.open_bridge(self._workspace)
            self._take()
        if proofs.read_key(self._workspace, self._info.bridge_id) is None:
            proofs.make_key(self._workspace, self._info.bridge_id, self.key)
        try:
            os.utime(os.path.join(self._folder, "host.json"), follow_symlinks=False)
        except FileNotFoundError:
            self.introduce()
        return holder is None

    def _holder(self) -> HostInfo | None:
        """Whoever has the place: a host with a proof, or one without whose very process is there."""
        holder = job_files.read_host_file(self._workspace, "host.lock")
        if holder is None or not (holder.is_seen() or proofs.is_proven(self._workspace, holder)):
            return None
        return holder

    def _take(self) -> None:
        with _alone(self._folder):
            holder = self._holder()
            if holder is not None and holder.is_alive():
                raise BridgeError(
                    "E_HOST_EXISTS",
                    f"a {holder.kind} host serves {self._workspace} already: process {holder.pid}",
                    hint=("use that one", NextStep("or end it", "bridge stop")),
                    details={"pid": holder.pid, "kind": holder.kind},
                )
            # Left by a host that died, or come with a clone. Nobody else of ours is between the two lines.
            job_files.remove_job(self._lock)
            self._create_lock()
        proofs.remove_other_keys(self._workspace, self._info.bridge_id)

    def _create_lock(self) -> None:
        """Makes the key, and the lock that is proven with it. The lock appears complete, or not at all."""
        own = f"{self._lock}.{self._info.bridge_id}"
        try:
            proofs.make_key(self._workspace, self._info.bridge_id, self.key)
            write_atomically(own, msgspec.json.encode(self._info))
            os.link(own, self._lock)
        except FileExistsError as error:
            raise BridgeError(
                "E_HOST_EXISTS", "another host was a moment faster", hint="use that one", retryable=True
            ) from error
        except OSError as error:
            raise BridgeError(
                "E_FS_ERROR",
                f"cannot write {error.filename}: {error.strerror}",
                hint="check permissions and free space",
            ) from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(own)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Nobody else of ours looks at the lock meanwhile. It is held for a few system calls only."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    try:
        wait_for_lock(fd, timeout_seconds=LOCK_TIMEOUT_SECONDS)
        yield
    finally:
        os.close(fd)
