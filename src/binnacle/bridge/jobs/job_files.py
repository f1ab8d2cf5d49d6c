"""Reads and writes the files of `.vsc-bridge`, for clients and hosts. Nothing here waits or watches."""

import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from binnacle.bridge.jobs import proofs
from binnacle.bridge.jobs.protocol import (
    BRIDGE_FOLDER,
    BridgeError,
    HostInfo,
    JobClaim,
    JobCommand,
    JobError,
    JobEvent,
    JobFailure,
    JobMeta,
    JobResponse,
    ScriptJob,
    now_text,
)
from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_new_private_folder

MAX_INLINE_ANSWER_BYTES = 2 * 1024 * 1024
"""Bytes from which an answer goes into a separate file."""

MAX_FILE_BYTES = 256 << 20
"""Bytes of a file that are read at most; more than any answer has."""

BRIDGE_FILES = (".gitignore", "host.json", "host.lock", "host.log", "host.log.1", "starting.lock")
"""Other files in the folder."""


def bridge_folder(workspace: str) -> str:
    return os.path.join(workspace, BRIDGE_FOLDER)


def execute_folder(workspace: str) -> str:
    """Where the published jobs are."""
    return os.path.join(workspace, BRIDGE_FOLDER, "execute")


def open_bridge(workspace: str) -> str:
    """Makes the folder of the protocol, if it does not exist; git ignores it, and only its owner may enter.

    Raises:
        BridgeError: it cannot be made, or an existing one may not be used.
    """
    folder = bridge_folder(workspace)
    try:
        for path in (folder, *(os.path.join(folder, name) for name in ("prepared", "execute"))):
            with suppress(FileExistsError):
                make_new_private_folder(path)
            _make_private(path)
        for name in BRIDGE_FILES:
            _remove_unless_plain(os.path.join(folder, name))
        if not os.path.lexists(ignored := os.path.join(folder, ".gitignore")):
            write_atomically(ignored, b"*\n")
    except OSError as error:
        raise BridgeError(
            "E_FS_ERROR",
            f"cannot make {folder}: {error.strerror}",
            hint="the bridge works through files there; check permissions and free space",
        ) from error
    return folder


def _make_private(path: str) -> None:
    """Makes our folder private. A folder that others can write to may contain anything.

    Raises:
        BridgeError: it is not ours, and may not be used.
    """
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        problem = "it is a link"
    elif not stat.S_ISDIR(found.st_mode):
        problem = "it is no folder"
    elif found.st_uid != os.geteuid():
        problem = "it belongs to somebody else"
    elif found.st_mode & stat.S_IWOTH:
        problem = "others may write to it"
    else:
        if found.st_mode & 0o077:
            os.chmod(path, 0o700)
        return
    raise BridgeError(
        "E_FS_ERROR", f"{path} is not used: {problem}", hint="remove it: the next call makes a folder that is private"
    )


def _remove_unless_plain(path: str) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            remove_job(path)


def remove_all_jobs(folder: str) -> None:
    """Removes all jobs, also those of others."""
    with os.scandir(folder) as entries:
        for entry in entries:
            remove_job(entry.path)


def prepare_job(workspace: str, command: JobCommand, key: bytes) -> str:
    """Writes a job where no host looks, for the host with this key. Returns its folder."""
    folder = os.path.join(bridge_folder(workspace), "prepared", command.id)
    make_new_private_folder(folder)
    content = msgspec.json.encode(command)
    proof = proofs.prove_command(key, command.id, content)
    for name, written in (("command.json", content), ("proof", proof.encode())):
        fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(written)
    return folder


def publish_job(workspace: str, prepared: str) -> str:
    """Publishes a prepared job. Returns its new folder."""
    folder = os.path.join(execute_folder(workspace), os.path.basename(prepared))
    os.rename(prepared, folder)
    return folder


def claim_job(folder: str, claimed: JobClaim) -> bool:
    """Claims a job, unless it is claimed or removed."""
    try:
        fd = os.open(os.path.join(folder, "claimed.json"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return False
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(claimed))
    return True


def write_answer(job: ScriptJob, data: Any, *, duration: float) -> None:
    """Writes the answer of a job, and that it is done.

    Raises:
        OSError: the client has taken the job away, or the disk is full.
        TypeError: the answer cannot be encoded as JSON.
    """
    encoded = msgspec.json.encode(data)
    meta = JobMeta(request_id=job.id, timestamp=now_text(), duration=duration)
    if len(encoded) > MAX_INLINE_ANSWER_BYTES:
        write_atomically(os.path.join(job.folder, "data.json"), encoded)
        response = JobResponse(data_ref="data.json", meta=meta)
    else:
        response = JobResponse(data=Raw(encoded), meta=meta)
        encoded = b""
    _finish(job, "response", msgspec.json.encode(response), encoded)


def write_failure(job: ScriptJob, error: BridgeError, *, duration: float) -> None:
    """Writes the error of a job, and that it is done.

    Raises:
        OSError: the client has taken the job away, or the disk is full.
    """
    fault = JobError(
        code=error.code,
        message=error.message,
        hint=error.hint,
        retryable=error.retryable,
        details=error.details or None,
    )
    failure = JobFailure(error=fault, meta=JobMeta(request_id=job.id, timestamp=now_text(), duration=duration))
    _finish(job, "error", msgspec.json.encode(failure))


def _finish(job: ScriptJob, kind: proofs.Kind, content: bytes, data: bytes = b"") -> None:
    """Writes the answer, and last its proof, which marks the job as done."""
    write_atomically(os.path.join(job.folder, f"{kind}.json"), content)
    proof = proofs.prove_answer(job.key, kind, job.id, content, data)
    write_atomically(os.path.join(job.folder, "done"), proof.encode())


def mark_cancelled(folder: str) -> None:
    """Marks a job as cancelled."""
    with suppress(OSError):
        os.close(os.open(os.path.join(folder, "cancel"), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def remove_job(folder: str) -> None:
    """Removes a job with everything in it, also what a host writes at that moment; follows no links."""
    for _ in range(3):
        with suppress(OSError):
            os.unlink(folder)  # a link, or a file where a folder should be
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return


def read_result(folder: str, key: bytes) -> Any:
    """The answer of the host with this key.

    Raises:
        BridgeError: its error, or it wrote no valid answer.
    """
    proof = read_plain_file(os.path.join(folder, "done"))
    data = read_plain_file(os.path.join(folder, "data.json")) or b""
    for kind in ANSWER_KINDS:
        if (written := read_plain_file(os.path.join(folder, f"{kind}.json"))) is None:
            continue
        if not proofs.is_proof(proof, proofs.prove_answer(key, kind, os.path.basename(folder), written, data)):
            raise BridgeError(
                "E_NO_RESPONSE", "the answer is not the host's: it carries no proof", hint="call bridge_status"
            )
        if kind == "response":
            return _data(written, data)
        raise _error(written)
    raise BridgeError("E_NO_RESPONSE", "the host finished without an answer", hint="call bridge_status", retryable=True)


ANSWER_KINDS: tuple[proofs.Kind, ...] = ("response", "error")


def _data(written: bytes, data: bytes) -> Any:
    try:
        response = msgspec.json.decode(written, type=JobResponse)
        if response.data_ref is UNSET:
            return msgspec.json.decode(response.data) if response.data is not UNSET else None
        return msgspec.json.decode(data or b"null")
    except msgspec.DecodeError as error:
        raise BridgeError(
            "E_NO_RESPONSE", f"the host's answer cannot be read: {error}", hint="call bridge_status"
        ) from error


def _error(written: bytes) -> BridgeError:
    try:
        fault = msgspec.json.decode(written, type=JobFailure).error
    except msgspec.DecodeError as error:
        return BridgeError("E_NO_RESPONSE", f"the host's error cannot be read: {error}", hint="call bridge_status")
    details: Mapping[str, Any] | None = None
    hint = fault.hint
    if isinstance(fault.details, dict):
        details = fault.details
        hint = hint or str(details.get("hint", ""))
    elif fault.details is not None:
        details = {"details": fault.details}
    return BridgeError(fault.code, fault.message, hint=hint, retryable=fault.retryable, details=details)


def read_command(folder: str) -> JobCommand | None:
    """The command of a job; None if it is not written yet.

    Raises:
        msgspec.DecodeError: it is no command.
    """
    written = read_plain_file(os.path.join(folder, "command.json"))
    return msgspec.json.decode(written, type=JobCommand) if written else None


def read_events(folder: str, start: int) -> tuple[list[JobEvent], int]:
    """The complete events from byte `start` on, and where the next one begins."""
    try:
        with open(os.path.join(folder, "events.ndjson"), "rb", opener=_open_plain) as file:
            file.seek(start)
            content = file.read(MAX_INLINE_ANSWER_BYTES)
    except OSError:
        return [], start
    whole = content[: content.rfind(b"\n") + 1]
    events = []
    for line in whole.splitlines():
        with suppress(msgspec.DecodeError):
            events.append(msgspec.json.decode(line, type=JobEvent))
    return events, start + len(whole)


def read_host(workspace: str) -> HostInfo | None:
    """The host that introduced itself last, alive or not; None without a proof that it is ours."""
    host = read_host_file(workspace)
    return host if host is not None and proofs.is_proven(workspace, host) else None


def read_host_file(workspace: str, name: str = "host.json") -> HostInfo | None:
    """A file that describes a host, with or without a proof."""
    written = read_plain_file(os.path.join(bridge_folder(workspace), name))
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(written, type=HostInfo) if written else None
    return None


def read_plain_file(path: str) -> bytes | None:
    """The content of a plain file; None for anything else."""
    try:
        with open(path, "rb", opener=_open_plain) as file:
            return file.read(MAX_FILE_BYTES)
    except OSError:
        return None


def _open_plain(path: str, flags: int) -> int:
    """Opens a plain file; refuses links and pipes."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileNotFoundError(path)
    return handle
