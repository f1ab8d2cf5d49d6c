"""One job, from its files to its answer, as the client sees it.

Theory. A job is a directory that two processes share. They have no connection: each sees only the files of the other,
and either may be killed between any two system calls. The states of a job are files, so they survive both:

    prepared    the client writes `command.json` and `proof` where no host looks
    published   one rename puts the directory where hosts look: it appears complete, or not at all
    claimed     the host creates `claimed.json` exclusively; of two hosts only one can
    done        the host writes the answer, and last of all `done`, the proof of it
    removed     the client removes the directory, whatever happened

*Who owns what.* The client owns the directory: it alone publishes and removes it. The host owns what it adds to it. A
client that gives up writes `cancel`, waits `CANCEL_NOTICE_SECONDS` for the host to see it, and removes the directory; a
host that finds the directory gone, or the client's process, stops the script as if it were cancelled. What a killed
client left is removed by the host (`host.job_cleanup`), what a killed host left by its client.

*What a client waits for*, all at the same time; the first one counts:

    the answer                 `done` appears (`jobs.folder_watcher`, which looks again now and then: notices get lost)
    the end of the host        its process is gone (`client.liveness`); noticed at once
    a host that is stuck       it does not claim the job within `PICKUP_SECONDS`, or later leaves a ping unanswered
    the deadline               the caller's, plus `DEADLINE_LEEWAY_SECONDS`: the host knows it too, and may say so first
    the caller                 its event `cancelled`, or the cancellation of its task

After any of them the files are looked at once more, so an answer that came together with something else is not lost.
A host that shows signs of life (a heartbeat, processor time) may be busy and gets `BUSY_PICKUP_SECONDS` to claim a job.

*Why it cannot hang or run twice.* Every wait above has a bound, and there is no lock between the two sides. A job is
run at most once: it is claimed exclusively, and it is given to another host (`bridge_client`) only if the first one
died before it claimed it (`HostDied.has_begun`). If it had begun, the caller gets an error and decides.

*At the same time* there may be many jobs of many clients. Those of one client share a watcher and, for each host, one
`HostLiveness`. A ping is a job too: it waits for the end of the host only, and not for the answer to itself.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from binnacle.bridge.client.liveness import HostLiveness, HostPulse
from binnacle.bridge.jobs import job_files, process_identity, proofs, protocol
from binnacle.bridge.jobs.folder_watcher import FolderWatcher
from binnacle.bridge.jobs.protocol import PING_SCRIPT, BridgeError, HostInfo, JobCommand, JobEvent
from binnacle.errors import Hint

PICKUP_SECONDS = 0.6
"""Seconds until a host that answers has taken a job."""

BUSY_PICKUP_SECONDS = 5.0
"""Seconds for a busy host, which shows signs of life. Editors always get them."""

PICKUP_POLL_SECONDS = 0.2
"""Seconds between two checks of a host that has not taken a job."""

DEADLINE_LEEWAY_SECONDS = 0.5
"""Seconds that the host gets beyond the deadline, to report the timeout itself."""

CANCEL_NOTICE_SECONDS = 0.3
"""Seconds in which a host can see that a job is cancelled, before the job is removed."""

OnEvent = Callable[[JobEvent], None]
Advice = Callable[[HostInfo], Hint]
"""What to do about a host that is stuck."""


class JobRequest(NamedTuple):
    """What a caller wants of a host."""

    script: str
    params: Mapping[str, Any]
    timeout: float
    """Seconds, from when the host answers."""

    on_event: OnEvent | None = None
    cancelled: asyncio.Event | None = None
    """Set when the caller cancels."""


class HostDied(BridgeError):
    """A host ended during a job, or before it began the job."""

    def __init__(self, host: HostInfo, script: str, *, has_begun: bool) -> None:
        what = f"ended while it ran {script}" if has_begun else f"ended before it began with {script}"
        lost = "; a debug session that was open is gone" if has_begun else ""
        super().__init__(
            "E_HOST_DOWN",
            f"the {host.kind} host (process {host.pid}) {what}",
            hint=f"call it again: another host is started{lost}",
            retryable=True,
            details={"pid": host.pid, "kind": host.kind},
        )
        self.has_begun = has_begun


class HostStuck(BridgeError):
    """A host is alive, but does nothing."""

    def __init__(self, code: str, host: HostInfo, what: str, *, hint: Hint) -> None:
        super().__init__(
            code,
            f"the {host.kind} host (process {host.pid}) {what}",
            hint=hint,
            retryable=True,
            details={"pid": host.pid, "kind": host.kind},
        )


class JobExchange:
    """The jobs of one client. Closing it ends the watch on their directories."""

    def __init__(self, workspace: str, name: str, *, advice: Advice, polls: bool) -> None:
        self._workspace = workspace
        self._pid = os.getpid()
        self._client_id = f"{name}-{self._pid}"
        self._process_start = process_identity.process_start(self._pid)
        self._advice = advice
        self._polls = polls
        self._watcher: FolderWatcher | None = None

    def folder_of(self, host: HostInfo) -> str:
        """The folder that a host serves: the workspace, or the parent folder that an editor has open."""
        is_around = host.is_near and self._workspace.startswith(os.path.join(host.workspace, ""))
        return host.workspace if is_around and host.workspace else self._workspace

    def heartbeat(self, host: HostInfo) -> float:
        """When the host last gave a sign of life; 0 if never."""
        with suppress(OSError):
            return os.stat(os.path.join(job_files.bridge_folder(self.folder_of(host)), "host.json")).st_mtime
        return 0.0

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    async def run(self, liveness: HostLiveness, request: JobRequest) -> Any:
        """Runs a job on a host that is watched. Returns its answer.

        Raises:
            HostDied, HostStuck: the host failed.
            BridgeError: the script's, or the host's.
        """
        served = self.folder_of(liveness.host)
        if (key := proofs.read_key(served, liveness.host.bridge_id)) is None:
            raise HostDied(liveness.host, request.script, has_begun=False)
        try:
            folder = job_files.prepare_job(served, self._command(request, served), key)
        except OSError as error:
            raise _cannot_write(error) from error
        waiting = _Waiting(folder, request.on_event)
        if self._watcher is None:
            self._watcher = FolderWatcher(polls=self._polls)
        unwatch = self._watcher.watch(folder, waiting.look)
        try:
            waiting.folder = folder = job_files.publish_job(served, folder)
            await self._wait(liveness, waiting, request)
            return job_files.read_result(folder, key)
        except OSError as error:
            raise _cannot_write(error) from error
        except BaseException:
            if waiting.is_running and request.script != PING_SCRIPT and not liveness.troubled.is_set():
                await _cancel_job(waiting)
            raise
        finally:
            unwatch()
            job_files.remove_job(folder)

    def _command(self, request: JobRequest, served: str) -> JobCommand:
        return JobCommand(
            client_id=self._client_id,
            id=protocol.new_id(),
            created_at=protocol.now_text(),
            script_name=request.script,
            params=dict(request.params),
            timeout=max(1, round(request.timeout * 1000)),
            client_pid=self._pid,
            client_start=self._process_start,
            namespace=process_identity.namespace(),
            workspace="" if served == self._workspace else self._workspace,
        )

    async def _wait(self, liveness: HostLiveness, waiting: "_Waiting", request: JobRequest) -> None:
        """Returns when the job is done.

        Raises:
            BridgeError: it failed, or the caller cancelled it.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        script, timeout, cancelled = request.script, request.timeout, request.cancelled
        # A ping that checks the host waits until its own result is clear.
        trouble = liveness.died if script == PING_SCRIPT else liveness.troubled
        ends = [loop.create_task(one.wait()) for one in (waiting.done, trouble, cancelled) if one is not None]
        picked = loop.create_task((waiting.done if script == PING_SCRIPT else waiting.picked).wait())
        try:
            await self._await_pickup(liveness.host, picked, ends)
            left = began + timeout + DEADLINE_LEEWAY_SECONDS - loop.time()
            await asyncio.wait(ends, timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*ends, picked):
                task.cancel()
        waiting.look()
        if waiting.done.is_set():
            return
        if cancelled is not None and cancelled.is_set():
            raise BridgeError("E_CANCELLED", f"{script} was cancelled", hint="call it again if it is wanted after all")
        if liveness.died.is_set():
            raise HostDied(liveness.host, script, has_begun=waiting.picked.is_set())
        if trouble.is_set():
            raise self._unresponsive(liveness, script)
        raise _too_late(script, timeout)

    async def _await_pickup(self, host: HostInfo, picked: "asyncio.Task[Any]", ends: "list[asyncio.Task[Any]]") -> None:
        """Waits until the host has taken the job. A host that shows signs of life may be busy, and gets longer.

        Raises:
            BridgeError: it does not take it.
        """
        loop = asyncio.get_running_loop()
        pulse = HostPulse(host, lambda: self.heartbeat(host))
        began = loop.time()
        while (waited := loop.time() - began) < BUSY_PICKUP_SECONDS:
            await asyncio.wait({picked, *ends}, timeout=PICKUP_POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if picked.done() or any(task.done() for task in ends):
                return
            is_late = waited > PICKUP_SECONDS and host.kind == "headless" and not pulse.has_shown_life()
            if is_late or pulse.is_stopped():
                break
        raise HostStuck("E_PICKUP_TIMEOUT", host, "does not take jobs", hint=self._advice(host))

    def _unresponsive(self, liveness: HostLiveness, script: str) -> BridgeError:
        trouble, host = liveness.trouble, liveness.host
        if trouble is not None and not isinstance(trouble, HostStuck) and trouble.code != "E_TIMEOUT":
            return trouble  # it answers, but cannot do anything; its own error says why
        what = f"runs {script} and does not answer any more"
        return HostStuck("E_HOST_UNRESPONSIVE", host, what, hint=self._advice(host))


class _Waiting:
    """What a client has seen of its job."""

    def __init__(self, folder: str, on_event: OnEvent | None) -> None:
        self.folder = folder
        self.picked = asyncio.Event()
        self.done = asyncio.Event()
        self._on_event = on_event
        self._read = 0

    @property
    def is_running(self) -> bool:
        """Whether a host has claimed it."""
        return self.picked.is_set() and not self.done.is_set()

    def look(self) -> None:
        if self._on_event is not None:
            events, self._read = job_files.read_events(self.folder, self._read)
            for event in events:
                self._on_event(event)
        if os.path.lexists(os.path.join(self.folder, "done")):
            self.done.set()
            self.picked.set()
        elif os.path.lexists(os.path.join(self.folder, "claimed.json")):
            self.picked.set()


async def _cancel_job(waiting: _Waiting) -> None:
    """Marks the job as cancelled, and gives the host time to see it."""
    job_files.mark_cancelled(waiting.folder)
    with suppress(TimeoutError):
        async with asyncio.timeout(CANCEL_NOTICE_SECONDS):
            await waiting.done.wait()


def _too_late(script: str, timeout: float) -> BridgeError:
    return BridgeError(
        "E_TIMEOUT",
        f"{script} did not answer within {timeout:g} s",
        hint="give it a larger timeoutMs if it takes one; bridge_status says whether its host answers",
        retryable=True,
    )


def _cannot_write(error: OSError) -> BridgeError:
    return BridgeError(
        "E_FS_ERROR",
        f"cannot write a job: {error.strerror}: {error.filename}",
        hint="the bridge works through files in .vsc-bridge; check permissions and free space",
    )
