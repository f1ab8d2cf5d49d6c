"""The lock of the one host of a workspace: `host.lock` and `host.json`."""

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
"""Seconds to wait for the lock on the folder, which is held for a few system calls."""


class HostLock:
    """What a host has while it serves: its lock, and the key that it shares with its clients."""

    def __init__(self, workspace: str, info: HostInfo) -> None:
        self._workspace = workspace
        self._folder = job_files.bridge_folder(workspace)
        self._lock = os.path.join(self._folder, "host.lock")
        self.key = os.urandom(proofs.KEY_BYTES)
        self._info = msgspec.structs.replace(info, proof=proofs.prove_host(self.key, info))

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Holds the lock while the block runs. Leaving it releases the lock, unless another host has it by then.

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
        """Gives a sign of life; true if the files had been deleted and were made again.

        Raises:
            BridgeError: another host has the lock.
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
        """The host that has the lock: one with a proof, or one without whose process runs."""
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
            # Left by a host that died, or part of a clone. The folder's lock excludes other hosts here.
            job_files.remove_job(self._lock)
            self._create_lock()
        proofs.remove_other_keys(self._workspace, self._info.bridge_id)

    def _create_lock(self) -> None:
        """Makes the key, and the lock with its proof. The lock appears completely or not at all."""
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
    """Excludes other hosts from the lock file, for a few system calls."""
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
