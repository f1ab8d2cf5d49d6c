"""The files in `.vsc-bridge` by which a client has a host run a script, and what stands in them.

    .vsc-bridge/
    ├── host.lock, host.json         the host that serves the workspace, and what it can do
    ├── prepared/<job>/              a job that its client is still writing
    └── execute/<job>/               published by renaming the prepared directory
        ├── command.json             what to run: the client's
        ├── claimed.json             created exclusively by the host that runs it
        ├── events.ndjson            how far it is, a line each
        ├── response.json            what came of it, or
        ├── error.json               why not
        ├── data.json                a large answer, named by `dataRef`
        ├── cancel                   the client wants no answer any more
        ├── dlq                      set aside: the host died over it
        ├── keep                     not to be swept
        └── done                     written last of all

Every file but `events.ndjson` appears complete: it is written under another name and renamed. Nothing here waits or
watches.
"""

import asyncio
import itertools
import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from binnacle.errors import BridgeError
from binnacle.processes.table import look

__all__ = ["BridgeError", "Command", "HostInfo", "Job"]

FOLDER = ".vsc-bridge"
VERSION = 1
LARGE = 2 * 1024 * 1024
"""Bytes from which an answer is put into a file of its own."""

DYNAMIC = "@dynamic"
"""Name of a script whose code comes with the command. No host of ours runs it."""

PING = "bridge.ping"
"""Answered by every host at once: a round trip."""

STOP = "bridge.stop"
"""Ends a host that was started for agents."""

Kind = Literal["headless", "vscode"]


class Command(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a client asks for."""

    version: int = VERSION
    client_id: str
    """`cli-<pid>`, `mcp-<pid>`: where it ends in the id of a process that is gone, nobody waits for the job."""

    id: str
    created_at: str
    script_name: str
    """The script's alias."""

    params: dict[str, Any] = {}
    timeout: int | None = None
    """Milliseconds."""

    client_pid: int = 0
    client_start: int = 0
    """When the client's process started, as in `HostInfo`."""

    namespace: str = ""
    """Where the client's process id means something; see `namespace`."""

    def is_wanted(self) -> bool:
        """Whether the client is there, as far as can be seen."""
        if not self.namespace:
            pid = self.client_id.rpartition("-")[2]
            return not pid.isdigit() or is_running(int(pid))
        return self.namespace != namespace() or is_running(self.client_pid, self.client_start)


class Claim(Struct, frozen=True, kw_only=True, rename="camel"):
    """Says which host runs a job."""

    bridge_id: str
    claimed_at: str
    pid: int


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something told while a script runs."""

    ts: int
    """Milliseconds since 1970."""

    seq: int
    type: str = "progress"
    level: str = ""
    pct: float | None = None
    msg: str = ""
    text: str = ""
    data: Any = None


class Meta(Struct, frozen=True, kw_only=True, rename="camel"):
    """About an answer."""

    request_id: str
    mode: str = "normal"
    timestamp: str = ""
    duration: float = 0
    """Milliseconds."""


class Response(Struct, frozen=True, kw_only=True):
    """What came of a script."""

    ok: bool = True
    type: str = "success"
    data: Raw | UnsetType = UNSET
    data_ref: str | UnsetType = field(name="dataRef", default=UNSET)
    meta: Meta | UnsetType = UNSET


class Fault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error as it is written."""

    code: str = "E_UNKNOWN"
    message: str = ""
    hint: str = ""
    retryable: bool = False
    details: Any = None


class Failure(Struct, frozen=True, kw_only=True):
    """Why a script came to nothing."""

    ok: bool = False
    type: str = "error"
    error: Fault
    meta: Meta | UnsetType = UNSET


class Quarantine(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a job was set aside."""

    reason: str
    script_name: str
    error: str
    timestamp: str
    pid: int
    bridge_id: str


class HostInfo(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A host, as it introduces itself in `host.json`."""

    bridge_id: str
    version: int = VERSION
    platform: str = sys.platform
    workspace: str = ""
    pid: int = 0
    started_at: str = ""
    wsl_aware: bool = False
    kind: str = "vscode"
    process_start: int = 0
    """When the process started, in ticks since the boot; 0 where that cannot be seen."""

    capabilities: dict[str, Any] = {}
    """`scripts`: the aliases it runs; whatever else it can say of itself."""

    namespace: str = ""

    @property
    def is_near(self) -> bool:
        """Whether its process can be seen from here; not that of a container that shares the workspace."""
        return self.namespace in ("", namespace())

    def is_alive(self) -> bool:
        """Whether the very process is there. Whether it answers, only asking tells."""
        return not self.is_near or is_running(self.pid, self.process_start)


class Job:
    """A script that runs, from the side of the host."""

    def __init__(self, command: Command, folder: str) -> None:
        self.id = command.id
        self.command = command
        self.folder = folder
        self.cancelled = asyncio.Event()
        """Set when the client wants no answer any more. The job's task is cancelled soon after."""

        self._last = 0

    def progress(self, pct: float | None, text: str = "") -> None:
        """Tells the client how far it is. A client that is gone is told nothing."""
        self.tell("progress", text, pct=pct)

    def tell(self, kind: str, text: str, *, pct: float | None = None, data: Any = None) -> None:
        """Appends a line to the job's events."""
        self._last += 1
        event = Event(ts=time.time_ns() // 1_000_000, seq=self._last, type=kind, pct=pct, text=text, data=data)
        with suppress(OSError):
            # One write of one line: a reader never sees half of it end in a newline.
            fd = os.open(os.path.join(self.folder, "events.ndjson"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(fd, msgspec.json.encode(event) + b"\n")
            finally:
                os.close(fd)


_numbers = itertools.count(int.from_bytes(os.urandom(2), "big"))
# Not from one: two clients that begin in the same millisecond would differ in little else.


def new_id() -> str:
    """A job's name: sorts by time, fits every file system, and is never given twice."""
    now = datetime.now(UTC)
    stamp = f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03d}Z"
    return f"{stamp}-{next(_numbers) % 10_000:04d}-{os.urandom(2).hex()}"


def now_text() -> str:
    """The time as it stands in the files."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


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


def write_whole(path: str, content: bytes) -> None:
    """Writes a file that nobody ever sees half of. It need not outlive a crash of the machine.

    Raises:
        OSError: it cannot be written; a `FileNotFoundError` if the job was taken away.
    """
    temporary = f"{path}.{os.getpid()}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        os.rename(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


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


@cache
def namespace() -> str:
    """Stands for the machine or container in which a process id means what it means here."""
    try:
        return f"{os.uname().nodename} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename if hasattr(os, "uname") else ""


def is_running(pid: int, started: int = 0) -> bool:
    """Whether a process is there; with `started`, whether it is the very one and not one that got its id."""
    if pid <= 0:
        return False
    if (entry := look(pid)) is not None:
        return not entry.is_over and started in (0, entry.started)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return not os.path.exists("/proc/self/stat")


def process_start(pid: int) -> int:
    """When a process started, by which it is told from a later one of the same id; 0 where that cannot be seen."""
    entry = look(pid)
    return entry.started if entry else 0
