"""What clients and hosts do with the files of `.vsc-bridge`. Nothing here waits or watches."""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from binnacle.bridge.protocol import (
    FOLDER,
    BridgeError,
    Claim,
    Command,
    Event,
    Failure,
    Fault,
    HostInfo,
    Job,
    Meta,
    Response,
    now_text,
)
from binnacle.config.whole import write_whole

LARGE = 2 * 1024 * 1024
"""Bytes from which an answer is put into a file of its own."""


def bridge_folder(workspace: str) -> str:
    return os.path.join(workspace, FOLDER)


def execute_folder(workspace: str) -> str:
    """Where the published jobs are."""
    return os.path.join(workspace, FOLDER, "execute")


def open_bridge(workspace: str) -> str:
    """Makes the directory of the protocol where it is not there yet; git ignores it.

    Raises:
        BridgeError: it cannot be made.
    """
    folder = bridge_folder(workspace)
    try:
        for path in (folder, *(os.path.join(folder, name) for name in ("prepared", "execute"))):
            os.makedirs(path, mode=0o700, exist_ok=True)
        if not os.path.exists(ignored := os.path.join(folder, ".gitignore")):
            write_whole(ignored, b"*\n")
    except OSError as error:
        raise BridgeError(
            "E_FS_ERROR",
            f"cannot make {folder}: {error.strerror}",
            hint="the bridge works through files there; check permissions and free space",
        ) from error
    return folder


def prepare(workspace: str, command: Command) -> str:
    """Writes a job where no host looks yet; returns its directory."""
    folder = os.path.join(bridge_folder(workspace), "prepared", command.id)
    os.mkdir(folder, 0o700)
    fd = os.open(os.path.join(folder, "command.json"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(command))
    return folder


def publish(workspace: str, prepared: str) -> str:
    """Hands a prepared job to the host; returns its directory from now on."""
    folder = os.path.join(execute_folder(workspace), os.path.basename(prepared))
    os.rename(prepared, folder)
    return folder


def claim(folder: str, claimed: Claim) -> bool:
    """Takes a job, unless somebody has taken it, or taken it away."""
    try:
        fd = os.open(os.path.join(folder, "claimed.json"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return False
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(claimed))
    return True


def answer(job: Job, data: Any, *, duration: float) -> None:
    """Writes what came of a job, and that it is done.

    Raises:
        OSError: the client has taken the job away, or the disk is full.
        TypeError: the answer is nothing that JSON knows.
    """
    encoded = msgspec.json.encode(data)
    meta = Meta(request_id=job.id, timestamp=now_text(), duration=duration)
    if len(encoded) > LARGE:
        write_whole(os.path.join(job.folder, "data.json"), encoded)
        response = Response(data_ref="data.json", meta=meta)
    else:
        response = Response(data=Raw(encoded), meta=meta)
    write_whole(os.path.join(job.folder, "response.json"), msgspec.json.encode(response))
    finish(job.folder)


def fail(job: Job, error: BridgeError, *, duration: float) -> None:
    """Writes why a job came to nothing, and that it is done.

    Raises:
        OSError: the client has taken the job away, or the disk is full.
    """
    fault = Fault(
        code=error.code,
        message=error.message,
        hint=error.hint,
        retryable=error.retryable,
        details=error.details or None,
    )
    failure = Failure(error=fault, meta=Meta(request_id=job.id, timestamp=now_text(), duration=duration))
    write_whole(os.path.join(job.folder, "error.json"), msgspec.json.encode(failure))
    finish(job.folder)


def finish(folder: str) -> None:
    """Leaves the mark that comes last."""
    os.close(os.open(os.path.join(folder, "done"), os.O_WRONLY | os.O_CREAT, 0o600))


def mark_cancelled(folder: str) -> None:
    """Tells the host that no answer is wanted."""
    with suppress(OSError):
        os.close(os.open(os.path.join(folder, "cancel"), os.O_WRONLY | os.O_CREAT, 0o600))


def remove(folder: str) -> None:
    """Takes a job away, whatever is in it. What a host writes at that moment goes with it."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return


def read_result(folder: str) -> Any:
    """What a host answered.

    Raises:
        BridgeError: its error, or that it wrote none of the files it should.
    """
    if (written := read_file(os.path.join(folder, "response.json"))) is not None:
        return _data(folder, written)
    if (written := read_file(os.path.join(folder, "error.json"))) is not None:
        raise _error(written)
    raise BridgeError("E_NO_RESPONSE", "the host finished without an answer", hint="call bridge_status", retryable=True)


def _data(folder: str, written: bytes) -> Any:
    try:
        response = msgspec.json.decode(written, type=Response)
        if response.data_ref is UNSET:
            return msgspec.json.decode(response.data) if response.data is not UNSET else None
        # Only a name in the job's own directory: a host is not to have us read other files.
        content = read_file(os.path.join(folder, os.path.basename(response.data_ref)))
        return msgspec.json.decode(content or b"null")
    except msgspec.DecodeError as error:
        raise BridgeError(
            "E_NO_RESPONSE", f"the host's answer cannot be read: {error}", hint="call bridge_status"
        ) from error


def _error(written: bytes) -> BridgeError:
    try:
        fault = msgspec.json.decode(written, type=Failure).error
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


def read_command(folder: str) -> Command | None:
    """The command of a job; None while it is not there yet.

    Raises:
        msgspec.DecodeError: it is no command.
    """
    written = read_file(os.path.join(folder, "command.json"))
    return msgspec.json.decode(written, type=Command) if written else None


def read_events(folder: str, start: int) -> tuple[list[Event], int]:
    """The events from byte `start` on that are complete, and where the next one begins."""
    try:
        with open(os.path.join(folder, "events.ndjson"), "rb") as file:
            file.seek(start)
            content = file.read(LARGE)
    except OSError:
        return [], start
    whole = content[: content.rfind(b"\n") + 1]
    events = []
    for line in whole.splitlines():
        with suppress(msgspec.DecodeError):
            events.append(msgspec.json.decode(line, type=Event))
    return events, start + len(whole)


def read_host(workspace: str) -> HostInfo | None:
    """The host that introduced itself last, alive or not."""
    written = read_file(os.path.join(bridge_folder(workspace), "host.json"))
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(written, type=HostInfo) if written else None
    return None


def read_file(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
