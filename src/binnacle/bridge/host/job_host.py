"""Runs the jobs of a workspace: claims them, runs their scripts, writes the answers, and cleans up.

Only jobs with a proof (`proofs`) count: a host begins with an empty folder, and refuses jobs that were not made with
its key.

The caller provides what runs scripts. A job that hangs uses up one of several slots and nothing else; one that does not
even end when it is cancelled is answered and left behind.
"""

import asyncio
import logging
import os
import stat
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from binnacle.bridge.host.host_lock import HostLock
from binnacle.bridge.host.job_cleanup import remove_stale_jobs
from binnacle.bridge.jobs import job_files, process_identity, proofs, protocol
from binnacle.bridge.jobs.circuit_breaker import CircuitBreaker
from binnacle.bridge.jobs.folder_watcher import FolderWatcher
from binnacle.bridge.jobs.protocol import (
    PING_SCRIPT,
    STOP_SCRIPT,
    BridgeError,
    HostInfo,
    JobClaim,
    JobCommand,
    Kind,
    ScriptJob,
)

_log = logging.getLogger(__name__)

Run = Callable[[ScriptJob], Awaitable[Any]]

HEARTBEAT_SECONDS = 1.0
"""Seconds between heartbeats: the time of `host.json`."""

CLEANUP_INTERVAL_SECONDS = 2.0
"""Seconds between two clean-ups of what clients left."""

SCRIPT_STOP_GRACE_SECONDS = 0.25
"""Seconds for a job to end after it is notified, and again after its task is cancelled."""

SEE_LOG = "the log of the host says more; the status of the bridge says where it is"

PROOF_WAIT_SECONDS = 2.0
"""Seconds after which a job without a proof is refused: its client may write its files one by one."""


class JobHost:
    """The one host of a workspace."""

    def __init__(
        self,
        workspace: str,
        kind: Kind,
        run: Run,
        capabilities: Mapping[str, Any],
        *,
        capacity: int = 10,
        idle: float | None = None,
    ) -> None:
        """`idle` is the number of seconds without a job after which it ends; None for never."""
        self.workspace = os.path.realpath(workspace)
        self._run = run
        self._capacity = capacity
        self._idle = idle
        pid = os.getpid()
        self.info = HostInfo(
            bridge_id=f"{'extHost' if kind == 'vscode' else kind}-{os.urandom(4).hex()}",
            workspace=self.workspace,
            pid=pid,
            started_at=protocol.now_text(),
            kind=kind,
            process_start=process_identity.process_start(pid),
            capabilities=dict(capabilities),
            namespace=process_identity.namespace(),
        )
        self._lock = HostLock(self.workspace, self.info)
        self._execute = job_files.execute_folder(self.workspace)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._running = 0
        self._breaker = CircuitBreaker("scripts failed by a defect of theirs or hung")
        self._last_job = time.monotonic()
        self._ended = asyncio.Event()
        self._settled: set[str] = set()
        """Jobs in the folder that are finished or not ours."""

        self._unproven: dict[str, float] = {}
        """When jobs without a proof were seen first."""

        self._unwatch: Callable[[], None] = lambda: None

    def end(self) -> None:
        """Makes `serve` cancel its jobs and return."""
        self._ended.set()

    async def serve(self) -> None:
        """Serves the workspace until `end` is called, it is idle, or another host has its lock.

        Raises:
            BridgeError: `E_HOST_EXISTS`, if another host serves the workspace.
        """
        job_files.open_bridge(self.workspace)
        with self._lock.hold():
            self._watcher = FolderWatcher()
            try:
                job_files.remove_all_jobs(self._execute)
                self._lock.introduce()
                self._watch()
                await self._beat()
            finally:
                self._unwatch()
                await self._give_up_jobs()
                self._watcher.close()

    async def _beat(self) -> None:
        swept = 0.0
        while not self._ended.is_set():
            if not self._is_in_place():
                return
            now = time.monotonic()
            if now - swept > CLEANUP_INTERVAL_SECONDS:
                swept = now
                remove_stale_jobs(self.workspace, set(self._tasks))
            if self._idle is not None and not self._tasks and now - self._last_job > self._idle:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._ended.wait()

    def _is_in_place(self) -> bool:
        """Gives a sign of life; restores deleted files. False if another host took over."""
        try:
            if self._lock.keep():
                self._unwatch()
                self._watch()
        except BridgeError as error:
            _log.warning("this host ends: %s", error.message)
            return False
        return True

    def _watch(self) -> None:
        self._unwatch = self._watcher.watch(self._execute, self._look)
        self._look()

    def _look(self) -> None:
        """Claims every new job."""
        try:
            names = os.listdir(self._execute)
        except OSError:
            return
        self._settled.intersection_update(names)
        self._unproven = {name: since for name, since in self._unproven.items() if name in names}
        for name in sorted({*names} - self._settled - self._tasks.keys()):
            if not name.startswith("."):
                with suppress(FileNotFoundError):  # its client has removed it
                    self._consider(name, os.path.join(self._execute, name))

    def _consider(self, name: str, folder: str) -> None:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            job_files.remove_job(folder)
            return
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in ("claimed.json", "done", "cancel")):
            self._settled.add(name)
            return
        if (content := job_files.read_plain_file(os.path.join(folder, "command.json"))) is None:
            return
        command, refusal = self._check(name, folder, content)
        if command is None or not self._claim(folder):
            return
        # The client waits for the folder, whatever id the command has.
        job = ScriptJob(msgspec.structs.replace(command, id=name), folder, self._lock.key)
        self._tasks[name] = asyncio.get_running_loop().create_task(self._serve_job(job, refusal))

    def _check(self, name: str, folder: str, content: bytes) -> tuple[JobCommand | None, BridgeError | None]:
        """The command of a job, and why it is refused; no command while its proof may still follow."""
        unknown = JobCommand(client_id="", id=name, created_at="", script_name="")
        proof = job_files.read_plain_file(os.path.join(folder, "proof"))
        if not proofs.is_proof(proof, proofs.prove_command(self._lock.key, name, content)):
            is_early = time.monotonic() - self._unproven.setdefault(name, time.monotonic()) < PROOF_WAIT_SECONDS
            return None if is_early else unknown, _unproven()
        try:
            return msgspec.json.decode(content, type=JobCommand), None
        except msgspec.DecodeError as error:
            shown = f"command.json cannot be read: {error}"
            return unknown, BridgeError("E_INVALID_REQUEST", shown, hint="docs/bridge.md says what stands in it")

    def _claim(self, folder: str) -> bool:
        return job_files.claim_job(
            folder, JobClaim(bridge_id=self.info.bridge_id, claimed_at=protocol.now_text(), pid=self.info.pid)
        )

    async def _serve_job(self, job: ScriptJob, refusal: BridgeError | None) -> None:
        began = time.perf_counter()
        self._last_job = time.monotonic()

        def look() -> None:
            if _is_cancelled(job):
                job.cancelled.set()

        unwatch = self._watcher.watch(job.folder, look)
        look()
        try:
            if refusal is not None:
                raise refusal
            data = await self._execute_job(job)
            self._write(job, lambda ms: job_files.write_answer(job, data, duration=ms), began)
        except BridgeError as error:
            failure = error
            self._write(job, lambda ms: job_files.write_failure(job, failure, duration=ms), began)
        except asyncio.CancelledError:
            ending = BridgeError("E_HOST_DOWN", "the host is ending", hint="call it again", retryable=True)
            self._write(job, lambda ms: job_files.write_failure(job, ending, duration=ms), began)
            raise
        finally:
            unwatch()
            self._tasks.pop(job.id, None)
            self._last_job = time.monotonic()
            if not job.command.is_wanted():
                job_files.remove_job(job.folder)

    async def _execute_job(self, job: ScriptJob) -> Any:
        if job.command.script_name == PING_SCRIPT:
            return {
                "bridgeId": self.info.bridge_id,
                "kind": self.info.kind,
                "pid": self.info.pid,
                "running": self._running,
            }
        if job.command.script_name == STOP_SCRIPT:
            asyncio.get_running_loop().call_later(0.05, self.end)
            return {"stopping": True}
        if self._running >= self._capacity:
            raise BridgeError(
                "E_CAPACITY", f"{self._capacity} scripts run already", hint="call it again in a moment", retryable=True
            )
        self._breaker.check()
        self._running += 1
        try:
            return await self._run_bounded(job)
        finally:
            self._running -= 1

    async def _run_bounded(self, job: ScriptJob) -> Any:
        """The script's answer, unless it takes too long or is cancelled."""
        loop = asyncio.get_running_loop()
        work = loop.create_task(self._run_guarded(job))
        gone = loop.create_task(job.cancelled.wait())
        limit = job.command.timeout / 1000 if job.command.timeout else None
        try:
            await asyncio.wait({work, gone}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            reason = _reason(job)
            job.cancelled.set()
            if not await _end(work):
                self._breaker.note_failure()
            raise reason
        finally:
            gone.cancel()
            if not work.done():
                work.cancel()

    async def _run_guarded(self, job: ScriptJob) -> Any:
        try:
            return await self._run(job)
        except BridgeError:
            raise
        except Exception as error:  # any failure of a script is an answer, and must not end the host
            _log.exception("%s failed", job.command.script_name)
            self._breaker.note_failure()
            shown = f"{type(error).__name__}: {error}"
            raise BridgeError(
                "E_INTERNAL",
                f"{job.command.script_name} failed: {shown}",
                hint=SEE_LOG,
            ) from error

    def _write(self, job: ScriptJob, write: Callable[[float], None], began: float) -> None:
        milliseconds = round((time.perf_counter() - began) * 1000, 3)
        try:
            write(milliseconds)
        except (TypeError, ValueError) as error:
            wrong = BridgeError("E_INTERNAL", f"the script's answer is no JSON: {error}", hint=SEE_LOG)
            with suppress(OSError):
                job_files.write_failure(job, wrong, duration=milliseconds)
        except FileNotFoundError:
            pass  # the client has removed its job
        except OSError as error:
            _log.warning("the answer of %s cannot be written: %s", job.command.script_name, error)

    async def _give_up_jobs(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=4 * SCRIPT_STOP_GRACE_SECONDS)


async def _end(work: "asyncio.Task[Any]") -> bool:
    """Ends a notified script: waits, then cancels it. False if it still runs."""
    done, _ = await asyncio.wait({work}, timeout=SCRIPT_STOP_GRACE_SECONDS)
    if not done:
        work.cancel()
        await asyncio.wait({work}, timeout=SCRIPT_STOP_GRACE_SECONDS)
    if work.done() and not work.cancelled():
        work.exception()  # its result is not needed
    return work.done()


def _is_cancelled(job: ScriptJob) -> bool:
    """Whether the client has cancelled or removed its job, or is gone."""
    is_cancelled = os.path.lexists(os.path.join(job.folder, "cancel"))
    return is_cancelled or not os.path.isdir(job.folder) or not job.command.is_wanted()


def _unproven() -> BridgeError:
    return BridgeError(
        "E_UNAUTHORIZED",
        "the job carries no proof that it is from a client of this host",
        hint="update the client; docs/bridge.md says how it proves a job",
    )


def _reason(job: ScriptJob) -> BridgeError:
    if job.cancelled.is_set():
        shown = f"{job.command.script_name} was cancelled by the client"
        return BridgeError("E_CANCELLED", shown, hint="call it again if it is wanted after all")
    return BridgeError(
        "E_TIMEOUT",
        f"{job.command.script_name} did not end within {job.command.timeout} ms",
        hint="give it a larger timeoutMs; debug_status says how things stand",
        retryable=True,
    )
