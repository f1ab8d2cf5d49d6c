"""Runs the jobs of a workspace: takes them, has them executed, writes what came of them, and clears up.

What executes them is given. A job that hangs takes one place of several and nothing else; one that does not even end
when it is cancelled is left behind, answered in its stead.
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from binnacle.bridge import alive, folders, protocol
from binnacle.bridge.breaker import Breaker
from binnacle.bridge.protocol import PING, STOP, BridgeError, Claim, Command, HostInfo, Job, Kind, Quarantine
from binnacle.bridge.seat import Seat
from binnacle.bridge.sweeping import sweep
from binnacle.bridge.watching import Watcher
from binnacle.config.whole import write_whole

_log = logging.getLogger(__name__)

Run = Callable[[Job], Awaitable[Any]]

HEARTBEAT = 1.0
"""Seconds between signs of life: the time of `host.json`."""

SWEEP = 2.0
"""Seconds between sweeps of what clients left behind."""

COOPERATION = 0.25
"""Seconds for a job to end by itself once it knows that nobody wants it, and then once it was cancelled."""

SEE_LOG = "the log of the host says more; the status of the bridge says where it is"

UNREADABLE = 2.0
"""Seconds after which a command that is no JSON will not become one: its client does not write it whole."""


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
        """`idle` is after how many seconds without a job it ends; never where it is None."""
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
            process_start=alive.process_start(pid),
            capabilities=dict(capabilities),
            namespace=alive.namespace(),
        )
        self._seat = Seat(self.workspace, self.info)
        self._execute = folders.execute_folder(self.workspace)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._running = 0
        self._breaker = Breaker("scripts failed by a defect of theirs or hung")
        self._last_job = time.monotonic()
        self._ended = asyncio.Event()
        self._settled: set[str] = set()
        """Jobs in the directory that are nothing to us any more."""

        self._unreadable: dict[str, float] = {}
        self._unwatch: Callable[[], None] = lambda: None

    def end(self) -> None:
        """Has `serve` return, once its jobs are told so."""
        self._ended.set()

    async def serve(self) -> None:
        """Serves the workspace until it is told to end, is idle, or another host has taken its place.

        Raises:
            BridgeError: `E_HOST_EXISTS`, if another host serves the workspace.
        """
        folders.open_bridge(self.workspace)
        with self._seat.taken():
            self._watcher = Watcher()
            try:
                self._recover()
                self._seat.introduce()
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
            if now - swept > SWEEP:
                swept = now
                sweep(self.workspace, set(self._tasks))
            if self._idle is not None and not self._tasks and now - self._last_job > self._idle:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT):
                    await self._ended.wait()

    def _is_in_place(self) -> bool:
        """Shows that it is alive; puts back what was deleted under it. False if another host took over."""
        try:
            if self._seat.keep():
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
        """Takes every job that nobody has taken."""
        try:
            names = os.listdir(self._execute)
        except OSError:
            return
        self._settled.intersection_update(names)
        for name in sorted({*names} - self._settled - self._tasks.keys()):
            if not name.startswith("."):
                self._consider(name, os.path.join(self._execute, name))

    def _consider(self, name: str, folder: str) -> None:
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in ("claimed.json", "done", "cancel")):
            self._settled.add(name)
            return
        try:
            command = folders.read_command(folder)
        except msgspec.DecodeError as error:
            # A client that writes in place may be half way.
            if time.monotonic() - self._unreadable.setdefault(name, time.monotonic()) < UNREADABLE:
                return
            command = Command(client_id="", id=name, created_at="", script_name="", params={"problem": str(error)})
        if command is None or not self._claim(folder):
            return
        self._unreadable.pop(name, None)
        # The directory is what the client waits on, whatever the command calls itself.
        job = Job(msgspec.structs.replace(command, id=name), folder)
        self._tasks[name] = asyncio.get_running_loop().create_task(self._serve_job(job))

    def _claim(self, folder: str) -> bool:
        return folders.claim(
            folder, Claim(bridge_id=self.info.bridge_id, claimed_at=protocol.now_text(), pid=self.info.pid)
        )

    async def _serve_job(self, job: Job) -> None:
        began = time.perf_counter()
        self._last_job = time.monotonic()

        def look() -> None:
            if _is_given_up(job):
                job.cancelled.set()

        unwatch = self._watcher.watch(job.folder, look)
        look()
        try:
            data = await self._execute_job(job)
            self._write(job, lambda ms: folders.answer(job, data, duration=ms), began)
        except BridgeError as error:
            failure = error
            self._write(job, lambda ms: folders.fail(job, failure, duration=ms), began)
        except asyncio.CancelledError:
            ending = BridgeError("E_HOST_DOWN", "the host is ending", hint="call it again", retryable=True)
            self._write(job, lambda ms: folders.fail(job, ending, duration=ms), began)
            raise
        finally:
            unwatch()
            self._tasks.pop(job.id, None)
            self._last_job = time.monotonic()
            if not job.command.is_wanted():
                folders.remove(job.folder)

    async def _execute_job(self, job: Job) -> Any:
        if not job.command.script_name:
            told = f"command.json cannot be read: {job.command.params['problem']}"
            raise BridgeError("E_INVALID_REQUEST", told, hint="docs/bridge.md says what stands in it")
        if job.command.script_name == PING:
            return {
                "bridgeId": self.info.bridge_id,
                "kind": self.info.kind,
                "pid": self.info.pid,
                "running": self._running,
            }
        if job.command.script_name == STOP:
            asyncio.get_running_loop().call_later(0.05, self.end)
            return {"stopping": True}
        if self._running >= self._capacity:
            raise BridgeError(
                "E_CAPACITY", f"{self._capacity} scripts run already", hint="call it again in a moment", retryable=True
            )
        self._breaker.check()
        self._running += 1
        try:
            return await self._bounded(job)
        finally:
            self._running -= 1

    async def _bounded(self, job: Job) -> Any:
        """What the script answers, unless it takes too long or nobody wants it any more."""
        loop = asyncio.get_running_loop()
        work = loop.create_task(self._guarded(job))
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

    async def _guarded(self, job: Job) -> Any:
        try:
            return await self._run(job)
        except BridgeError:
            raise
        except Exception as error:  # whatever a script does wrong is an answer, and no end of the host
            _log.exception("%s failed", job.command.script_name)
            self._breaker.note_failure()
            told = f"{type(error).__name__}: {error}"
            raise BridgeError(
                "E_INTERNAL",
                f"{job.command.script_name} failed: {told}",
                hint=SEE_LOG,
            ) from error

    def _write(self, job: Job, write: Callable[[float], None], began: float) -> None:
        milliseconds = round((time.perf_counter() - began) * 1000, 3)
        try:
            write(milliseconds)
        except (TypeError, ValueError) as error:
            wrong = BridgeError("E_INTERNAL", f"the script's answer is no JSON: {error}", hint=SEE_LOG)
            with suppress(OSError):
                folders.fail(job, wrong, duration=milliseconds)
        except FileNotFoundError:
            pass  # the client has taken its job away
        except OSError as error:
            _log.warning("the answer of %s cannot be written: %s", job.command.script_name, error)

    async def _give_up_jobs(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=4 * COOPERATION)

    def _recover(self) -> None:
        """Sets aside what a host left that died over it. What nobody began is run, if somebody still wants it."""
        for name in sorted(os.listdir(self._execute)):
            folder = os.path.join(self._execute, name)
            has = {mark for mark in ("claimed.json", "done", "keep") if os.path.lexists(os.path.join(folder, mark))}
            command = None
            with suppress(msgspec.DecodeError):
                command = folders.read_command(folder)
            if "claimed.json" in has and "done" not in has:
                self._quarantine(folder, command)
            elif command is not None and not has and not command.is_wanted():
                folders.remove(folder)

    def _quarantine(self, folder: str, command: Command | None) -> None:
        script = command.script_name if command else ""
        error = BridgeError(
            "E_CRASH_RECOVERY", f"the host ended while it ran {script or 'this'}", hint="call it again", retryable=True
        )
        record = Quarantine(
            reason=error.code,
            script_name=script,
            error=error.message,
            timestamp=protocol.now_text(),
            pid=self.info.pid,
            bridge_id=self.info.bridge_id,
        )
        known = command or Command(client_id="", id=os.path.basename(folder), created_at="", script_name="")
        with suppress(OSError):
            write_whole(os.path.join(folder, "dlq"), msgspec.json.encode(record))
            folders.fail(Job(known, folder), error, duration=0)


async def _end(work: "asyncio.Task[Any]") -> bool:
    """Ends a script that was told to: it may end by itself, and is cancelled then. False if that is no help."""
    done, _ = await asyncio.wait({work}, timeout=COOPERATION)
    if not done:
        work.cancel()
        await asyncio.wait({work}, timeout=COOPERATION)
    if work.done() and not work.cancelled():
        work.exception()  # nobody wants to know
    return work.done()


def _is_given_up(job: Job) -> bool:
    """Whether the client has said so, has taken its job away, or is no more."""
    is_cancelled = os.path.lexists(os.path.join(job.folder, "cancel"))
    return is_cancelled or not os.path.isdir(job.folder) or not job.command.is_wanted()


def _reason(job: Job) -> BridgeError:
    if job.cancelled.is_set():
        told = f"{job.command.script_name} was cancelled by the client"
        return BridgeError("E_CANCELLED", told, hint="call it again if it is wanted after all")
    return BridgeError(
        "E_TIMEOUT",
        f"{job.command.script_name} did not end within {job.command.timeout} ms",
        hint="give it a larger timeoutMs, or see with debug_status how things stand",
        retryable=True,
    )
