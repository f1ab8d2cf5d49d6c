"""The files in `.vsc-bridge` by which a client runs a script on a host, and their content.

    .vsc-bridge/
    ├── host.lock, host.json         the host that serves the workspace, and what it can do
    ├── prepared/<job>/              a job that its client is still writing
    └── execute/<job>/               published by renaming the prepared directory
        ├── command.json             what to run: the client's
        ├── proof                    that it is from a client of this host (`proofs`)
        ├── claimed.json             created exclusively by the host that runs it
        ├── events.ndjson            progress, a line per event
        ├── response.json            the answer, or
        ├── error.json               the error
        ├── data.json                a large answer, named by `dataRef`
        ├── cancel                   the client has cancelled the job
        └── done                     written last of all: the proof that the answer is the host's

Every file but `events.ndjson` appears complete: it is written under another name and renamed. What is done with
the files is in `job_files`.
"""

import asyncio
import itertools
import os
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from binnacle.bridge.jobs.process_identity import is_running, namespace
from binnacle.errors import BridgeError

__all__ = ["BridgeError", "HostInfo", "JobCommand", "ScriptJob"]

BRIDGE_FOLDER = ".vsc-bridge"
PROTOCOL_VERSION = 2
"""Since 2, commands, answers and hosts have proofs."""

DYNAMIC_SCRIPT = "@dynamic"
"""Name of a script whose code comes with the command. No host of ours runs it."""

PING_SCRIPT = "bridge.ping"
"""Every host answers it at once: a round trip."""

STOP_SCRIPT = "bridge.stop"
"""Ends a host that was started for agents."""

Kind = Literal["headless", "vscode"]


EDITOR_NEEDED = (
    "ask a person to open the workspace in VS Code with our extension, which bn bridge install-vscode installs"
)
"""What to do about a script that only an editor can run."""


class JobCommand(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a client asks for."""

    version: int = PROTOCOL_VERSION
    client_id: str
    """`cli-<pid>`, `mcp-<pid>`: if that process is gone, the job is abandoned."""

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
    """Where the client's process id is valid; see `namespace`."""

    workspace: str = ""
    """The base of relative paths, if not the folder that the host serves."""

    def is_wanted(self) -> bool:
        """Whether the client is still alive, as far as it is visible."""
        if not self.namespace:
            pid = self.client_id.rpartition("-")[2]
            return not pid.isdigit() or is_running(int(pid))
        return self.namespace != namespace() or is_running(self.client_pid, self.client_start)


class JobClaim(Struct, frozen=True, kw_only=True, rename="camel"):
    """Says which host runs a job."""

    bridge_id: str
    claimed_at: str
    pid: int


class JobEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event while a script runs."""

    ts: float = 0
    """Milliseconds since 1970."""

    seq: int = 0
    type: str = ""
    """`progress`, `log`, `warn` or `error`."""

    level: str = ""
    pct: float | None = None
    msg: str = ""
    text: str = ""
    data: Any = None


class JobMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """About an answer."""

    request_id: str
    mode: str = "normal"
    timestamp: str = ""
    duration: float = 0
    """Milliseconds."""


class JobResponse(Struct, frozen=True, kw_only=True):
    """The answer of a script."""

    ok: bool = True
    type: str = "success"
    data: Raw | UnsetType = UNSET
    data_ref: str | UnsetType = field(name="dataRef", default=UNSET)
    meta: JobMeta | UnsetType = UNSET


class JobError(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error as it is written."""

    code: str = "E_UNKNOWN"
    message: str = ""
    hint: str = ""
    retryable: bool = False
    details: Any = None


class JobFailure(Struct, frozen=True, kw_only=True):
    """The error of a script."""

    ok: bool = False
    type: str = "error"
    error: JobError
    meta: JobMeta | UnsetType = UNSET


class HostInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A host, as it introduces itself in `host.json`."""

    bridge_id: str
    version: int = PROTOCOL_VERSION
    platform: str = sys.platform
    workspace: str = ""
    pid: int = 0
    started_at: str = ""
    wsl_aware: bool = False
    kind: str = "vscode"
    process_start: int = 0
    """When the process started, in ticks since the boot; 0 if unknown."""

    capabilities: dict[str, Any] = {}
    """`scripts`: the aliases it runs; and other facts about it."""

    namespace: str = ""
    proof: str = ""
    """Proves that a host of this person wrote this; see `proofs`."""

    @property
    def is_near(self) -> bool:
        """Whether its process is visible from here; not in another container that shares the workspace."""
        return self.namespace in ("", namespace())

    def is_alive(self) -> bool:
        """Whether its process runs. Only a ping shows whether it answers."""
        return not self.is_near or is_running(self.pid, self.process_start)

    def is_seen(self) -> bool:
        """Whether its process runs and is visible from here. A file from a clone can hardly name one."""
        is_exact = self.process_start > 0 and self.namespace == namespace()
        return is_exact and is_running(self.pid, self.process_start)


class ScriptJob:
    """A running script, on the side of the host."""

    def __init__(self, command: JobCommand, folder: str, key: bytes) -> None:
        """`key` is the host's, for the proof of its answer."""
        self.id = command.id
        self.command = command
        self.folder = folder
        self.key = key
        self.cancelled = asyncio.Event()
        """Set when the client cancels. The job's task is cancelled soon after."""

        self._last = 0

    def progress(self, pct: float | None, text: str = "") -> None:
        """Reports progress to the client, unless it is gone."""
        self.tell("progress", text, pct=pct)

    def tell(self, kind: str, text: str, *, pct: float | None = None, data: Any = None) -> None:
        """Appends a line to the job's events."""
        self._last += 1
        event = JobEvent(ts=time.time_ns() // 1_000_000, seq=self._last, type=kind, pct=pct, text=text, data=data)
        with suppress(OSError):
            # One write per line: a reader never sees a partial line that ends in a newline.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            fd = os.open(os.path.join(self.folder, "events.ndjson"), flags, 0o600)
            try:
                os.write(fd, msgspec.json.encode(event) + b"\n")
            finally:
                os.close(fd)


_numbers = itertools.count(int.from_bytes(os.urandom(2), "big"))
# Not from 1: two clients that begin in the same millisecond would differ in little else.


def new_id() -> str:
    """A new job's name: sorts by time, is valid on every file system, and is unique."""
    now = datetime.now(UTC)
    stamp = f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03d}Z"
    return f"{stamp}-{next(_numbers) % 10_000:04d}-{os.urandom(2).hex()}"


def now_text() -> str:
    """The time as the files have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
