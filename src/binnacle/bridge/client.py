"""Has scripts run by the host of a workspace, which it starts where there is none.

Nothing is waited for in vain: a host that dies is noticed at once, one that does not take a job within a second or so
is not waited for, and whatever happens the job's directory is taken away.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Self

from binnacle.bridge import alive, folders, protocol
from binnacle.bridge.host import HEARTBEAT
from binnacle.bridge.protocol import PING, BridgeError, Command, Event, HostInfo
from binnacle.bridge.watching import Watcher

PICKUP = 1.0
"""Seconds until a host has taken a job, if it is one that answers."""

PATIENCE = 5.0
"""Seconds for a host that is busy: it shows signs of life."""

LEEWAY = 0.5
"""Seconds that the host gets beyond the deadline, to say itself that it passed."""

FAREWELL = 0.3
"""Seconds in which a host is let see that a job was cancelled, before the job is taken away."""

REMOTE_PULSE = 30.0
"""Seconds without a sign of life, after which a host whose process cannot be seen is taken for dead."""

UNKNOWN = ("E_SCRIPT_NOT_FOUND", "E_NOT_FOUND", "E_NOT_IMPLEMENTED", "E_UNSUPPORTED")
"""How a host says that it has no such script."""

OnEvent = Callable[[Event], None]
Start = Callable[[str], Awaitable[HostInfo]]
"""Starts a host in a workspace, and returns when it serves."""


class BridgeClient:
    """One client of a workspace's host. Closing it leaves the host running."""

    def __init__(self, workspace: str, *, name: str = "mcp", start: Start | None = None, polls: bool = False) -> None:
        """Without `start` there must be a host. `polls` does without notices of the file system."""
        self.workspace = os.path.realpath(workspace)
        self._pid = os.getpid()
        self._client_id = f"{name}-{self._pid}"
        self._process_start = alive.process_start(self._pid)
        self._start = start
        self._polls = polls
        self._watcher: Watcher | None = None
        self._answered = ""
        """The host that is known to answer."""

    async def call(
        self,
        script: str,
        params: Mapping[str, Any],
        *,
        timeout: float,
        on_event: OnEvent | None = None,
        cancelled: asyncio.Event | None = None,
    ) -> Any:
        """What a script answers. `timeout` is in seconds, from when the host is there.

        Raises:
            BridgeError: what the script or the host says, or what is wrong with the host.
        """
        host = await self.find_host()
        return await self._call(host, script, params, timeout=timeout, on_event=on_event, cancelled=cancelled)

    async def find_host(self) -> HostInfo:
        """A host that answers; started if there is none.

        Raises:
            BridgeError: none is there, or it does not answer.
        """
        host = self.look_for_host()
        if host is None:
            if self._start is None:
                raise BridgeError(
                    "E_BRIDGE_NOT_FOUND",
                    f"no host serves {self.workspace}",
                    hint="start one with: bn bridge host",
                    retryable=True,
                )
            folders.open_bridge(self.workspace)
            host = await self._start(self.workspace)
        if host.bridge_id != self._answered:
            await self.ping(host)
            self._answered = host.bridge_id
        return host

    def look_for_host(self) -> HostInfo | None:
        """A host that seems to be there: it introduced itself, and its process has not ended."""
        host = folders.read_host(self.workspace)
        if host is None or not host.is_alive():
            return None
        return host if host.is_near or self._pulse() < REMOTE_PULSE else None

    async def ping(self, host: HostInfo) -> float:
        """Seconds of a round trip.

        Raises:
            BridgeError: the host does not answer.
        """
        began = time.perf_counter()
        try:
            await self._call(host, PING, {}, timeout=PATIENCE)
        except BridgeError as error:
            # A host of another program may not know the script, but has answered.
            if error.code not in UNKNOWN:
                raise
        return time.perf_counter() - began

    async def _call(
        self,
        host: HostInfo,
        script: str,
        params: Mapping[str, Any],
        *,
        timeout: float,
        on_event: OnEvent | None = None,
        cancelled: asyncio.Event | None = None,
    ) -> Any:
        try:
            folder = folders.prepare(self.workspace, self._command(script, params, timeout))
        except OSError as error:
            raise _cannot_write(error) from error
        waiting = _Waiting(folder, on_event)
        if self._watcher is None:
            self._watcher = Watcher(polls=self._polls)
        unwatch = self._watcher.watch(folder, waiting.look)
        try:
            waiting.folder = folder = folders.publish(self.workspace, folder)
            await self._wait(host, waiting, script, timeout, cancelled)
            return folders.read_result(folder)
        except OSError as error:
            raise _cannot_write(error) from error
        except BaseException:
            if not waiting.done.is_set():
                await _say_goodbye(waiting)
            raise
        finally:
            unwatch()
            folders.remove(folder)

    def _command(self, script: str, params: Mapping[str, Any], timeout: float) -> Command:
        return Command(
            client_id=self._client_id,
            id=protocol.new_id(),
            created_at=protocol.now_text(),
            script_name=script,
            params=dict(params),
            timeout=max(1, round(timeout * 1000)),
            client_pid=self._pid,
            client_start=self._process_start,
            namespace=alive.namespace(),
        )

    async def _wait(
        self, host: HostInfo, waiting: "_Waiting", script: str, timeout: float, cancelled: asyncio.Event | None
    ) -> None:
        """Returns when the job is done.

        Raises:
            BridgeError: that will not be, or nobody wants it any more.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        with _DeathWatch(host) as death:
            ends = [loop.create_task(one.wait()) for one in (waiting.done, death.seen, cancelled) if one is not None]
            picked = loop.create_task(waiting.picked.wait())
            try:
                await self._await_pickup(host, picked, ends)
                left = began + timeout + LEEWAY - loop.time()
                await asyncio.wait(ends, timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (*ends, picked):
                    task.cancel()
        waiting.look()
        if waiting.done.is_set():
            return
        if cancelled is not None and cancelled.is_set():
            raise BridgeError("E_CANCELLED", f"{script} was cancelled")
        if death.seen.is_set():
            raise _host_down(host, script)
        raise _too_late(script, timeout)

    async def _await_pickup(self, host: HostInfo, picked: "asyncio.Task[Any]", ends: "list[asyncio.Task[Any]]") -> None:
        """Waits until the host has taken the job. One that shows signs of life may be busy, and gets longer.

        Raises:
            BridgeError: it does not take it.
        """
        for seconds in (PICKUP, PATIENCE - PICKUP):
            await asyncio.wait({picked, *ends}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if picked.done() or any(task.done() for task in ends):
                return
            if self._pulse() > 2 * HEARTBEAT and host.kind == "headless":
                break
        self._answered = ""
        raise BridgeError(
            "E_PICKUP_TIMEOUT",
            f"the {host.kind} host (process {host.pid}) does not take jobs",
            hint="end it with: bn bridge stop; the next call starts another",
            retryable=True,
            details={"pid": host.pid, "kind": host.kind},
        )

    def _pulse(self) -> float:
        """Seconds since the host last showed that it lives."""
        with suppress(OSError):
            path = os.path.join(folders.bridge_folder(self.workspace), "host.json")
            return time.time() - os.stat(path).st_mtime
        return float("inf")

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None


class _Waiting:
    """What a client has seen of its job."""

    def __init__(self, folder: str, on_event: OnEvent | None) -> None:
        self.folder = folder
        self.picked = asyncio.Event()
        self.done = asyncio.Event()
        self._on_event = on_event
        self._read = 0

    def look(self) -> None:
        if self._on_event is not None:
            events, self._read = folders.read_events(self.folder, self._read)
            for event in events:
                self._on_event(event)
        if os.path.lexists(os.path.join(self.folder, "done")):
            self.done.set()
            self.picked.set()
        elif os.path.lexists(os.path.join(self.folder, "claimed.json")):
            self.picked.set()


class _DeathWatch:
    """Sees a host's process end, at once where the system tells, else by looking."""

    LOOK = 0.2
    """Seconds between looks."""

    def __init__(self, host: HostInfo) -> None:
        self.seen = asyncio.Event()
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._fd = -1
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        if self._host.is_near:
            with suppress(OSError, AttributeError):
                self._fd = os.pidfd_open(self._host.pid)
                self._loop.add_reader(self._fd, self._look)
            self._look()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)

    def _look(self) -> None:
        if not self._host.is_alive():
            self.seen.set()
            if self._fd >= 0:
                self._loop.remove_reader(self._fd)
        elif self._fd < 0:
            self._timer = self._loop.call_later(self.LOOK, self._look)


async def _say_goodbye(waiting: _Waiting) -> None:
    """Tells the host that nobody waits any more, and lets it see that."""
    folders.mark_cancelled(waiting.folder)
    if waiting.picked.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await waiting.done.wait()


def _host_down(host: HostInfo, script: str) -> BridgeError:
    return BridgeError(
        "E_HOST_DOWN",
        f"the {host.kind} host (process {host.pid}) ended while it ran {script}",
        hint="call it again: another host is started; a debug session that was open is gone",
        retryable=True,
        details={"pid": host.pid, "kind": host.kind},
    )


def _too_late(script: str, timeout: float) -> BridgeError:
    return BridgeError(
        "E_TIMEOUT",
        f"{script} did not answer within {timeout:g} s",
        hint="give it a larger timeoutMs if it takes one, or see with bridge_status whether its host answers",
        retryable=True,
    )


def _cannot_write(error: OSError) -> BridgeError:
    return BridgeError(
        "E_FS_ERROR",
        f"cannot write a job: {error.strerror}: {error.filename}",
        hint="the bridge works through files in .vsc-bridge; check permissions and free space",
    )
