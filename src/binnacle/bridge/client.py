"""Has scripts run by the host of a workspace, which it starts where there is none.

Nothing is waited for in vain: a host that dies is noticed at once, one that is stuck within a second, and whatever
happens the job's directory is taken away. What a dead host had not begun, another one does; what a stuck one had, the
caller is told of, and the next call replaces it.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from binnacle.bridge import alive, folders, protocol
from binnacle.bridge.breaker import Breaker
from binnacle.bridge.protocol import PING, BridgeError, Command, Event, HostInfo
from binnacle.bridge.vigil import Pulse, Vigil
from binnacle.bridge.watching import Watcher
from binnacle.bridge.windows import find_window

PICKUP = 0.6
"""Seconds until a host has taken a job, if it is one that answers."""

PATIENCE = 5.0
"""Seconds for a host that is busy: it shows signs of life. Editors always get them."""

LOOK = 0.2
"""Seconds between looks at a host that has not taken a job."""

ATTEMPTS = 3
"""How often a job is given to a host that dies before it begins."""

END = 2.0
"""Seconds until a process that was killed is gone."""

LEEWAY = 0.5
"""Seconds that the host gets beyond the deadline, to say itself that it passed."""

FAREWELL = 0.3
"""Seconds in which a host is let see that a job was cancelled, before the job is taken away."""

REMOTE_PULSE = 30.0
"""Seconds without a sign of life, after which a host whose process cannot be seen is taken for dead."""

ANSWERED = ("E_SCRIPT_NOT_FOUND", "E_NOT_FOUND", "E_NOT_IMPLEMENTED", "E_UNSUPPORTED", "E_CAPACITY")
"""How a host of another program says that it has no such script, or no time. It is there all the same."""

AGAIN = "call it again if it is wanted after all"

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

        self._stuck = ""
        """The host that was seen not to."""

        self._vigil: Vigil | None = None
        self._breaker = Breaker("the host ended or got stuck")

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
        for _ in range(ATTEMPTS - 1):
            host = await self.find_host()
            with suppress(_Unbegun):
                return await self._call(host, script, params, timeout=timeout, on_event=on_event, cancelled=cancelled)
        host = await self.find_host()
        return await self._call(host, script, params, timeout=timeout, on_event=on_event, cancelled=cancelled)

    async def find_host(self) -> HostInfo:
        """A host that answers; started if there is none.

        Raises:
            BridgeError: none is there, or it does not answer.
        """
        for _ in range(ATTEMPTS - 1):
            with suppress(_Unbegun):
                return await self._find_host()
        return await self._find_host()

    async def _find_host(self) -> HostInfo:
        host = self.look_for_host() or await self._start_host()
        if host.bridge_id == self._answered:
            return host
        was_stuck = self._stuck == host.bridge_id
        try:
            await self.ping(host)
        except BridgeError as error:
            if error.code != "E_PICKUP_TIMEOUT" or not was_stuck or not self._may_replace(host):
                raise
            host = await self._replace(host)
        self._answered, self._stuck = host.bridge_id, ""
        return host

    async def _start_host(self) -> HostInfo:
        if self._start is None:
            raise BridgeError(
                "E_BRIDGE_NOT_FOUND",
                f"no host serves {self.workspace}",
                hint="start one with: bn bridge host",
                retryable=True,
            )
        self._breaker.check()
        folders.open_bridge(self.workspace)
        try:
            return await self._start(self.workspace)
        except BridgeError:
            self._breaker.note_failure()
            raise

    def _may_replace(self, host: HostInfo) -> bool:
        """Whether it may be ended. A person's editor never is."""
        return self._start is not None and host.kind == "headless" and host.is_near

    async def _replace(self, host: HostInfo) -> HostInfo:
        """Ends a host that is stuck, and with it what it debugs; returns another."""
        self._breaker.note_failure()
        alive.kill(host.pid, host.process_start)
        with suppress(TimeoutError):
            async with asyncio.timeout(END):
                while host.is_alive():  # noqa: ASYNC110 - it was killed, and is as good as gone
                    await asyncio.sleep(0.005)
        host = await self._start_host()
        await self.ping(host)
        return host

    def look_for_host(self) -> HostInfo | None:
        """A host that seems to be there: it introduced itself, and its process has not ended.

        That of the workspace comes before an editor that has a folder around it open.

        Raises:
            BridgeError: E_AMBIGUOUS_HOST.
        """
        host = folders.read_host(self.workspace)
        is_there = host is not None and host.is_alive()
        if host is not None and is_there and (host.is_near or time.time() - self._heartbeat(host) < REMOTE_PULSE):
            return host
        return find_window(self.workspace)

    def folder_of(self, host: HostInfo) -> str:
        """Where a host is spoken to: in the workspace, or in the folder around it that an editor has open."""
        is_around = host.is_near and self.workspace.startswith(os.path.join(host.workspace, ""))
        return host.workspace if is_around and host.workspace else self.workspace

    async def ping(self, host: HostInfo) -> float:
        """Seconds of a round trip.

        Raises:
            BridgeError: the host does not answer.
        """
        began = time.perf_counter()
        try:
            await self._call(host, PING, {}, timeout=PATIENCE)
        except BridgeError as error:
            if error.code not in ANSWERED:
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
        vigil = self._vigil
        if vigil is None or vigil.is_over or vigil.host.bridge_id != host.bridge_id:
            vigil = self._vigil = Vigil(host, self._ask)
        async with vigil:
            return await self._exchange(vigil, script, params, timeout, on_event, cancelled)

    async def _ask(self, vigil: Vigil) -> None:
        """Whether a host answers, while others wait for it."""
        try:
            await self._exchange(vigil, PING, {}, PATIENCE)
        except BridgeError as error:
            if error.code not in ANSWERED:
                raise

    async def _exchange(
        self,
        vigil: Vigil,
        script: str,
        params: Mapping[str, Any],
        timeout: float,
        on_event: OnEvent | None = None,
        cancelled: asyncio.Event | None = None,
    ) -> Any:
        try:
            served = self.folder_of(vigil.host)
            folder = folders.prepare(served, self._command(script, params, timeout, served))
        except OSError as error:
            raise _cannot_write(error) from error
        waiting = _Waiting(folder, on_event)
        if self._watcher is None:
            self._watcher = Watcher(polls=self._polls)
        unwatch = self._watcher.watch(folder, waiting.look)
        try:
            waiting.folder = folder = folders.publish(served, folder)
            await self._wait(vigil, waiting, script, timeout, cancelled)
            return folders.read_result(folder)
        except OSError as error:
            raise _cannot_write(error) from error
        except BaseException:
            if waiting.is_running and script != PING and not vigil.troubled.is_set():
                await _say_goodbye(waiting)
            raise
        finally:
            unwatch()
            folders.remove(folder)

    def _command(self, script: str, params: Mapping[str, Any], timeout: float, served: str) -> Command:
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
            workspace="" if served == self.workspace else self.workspace,
        )

    async def _wait(
        self, vigil: Vigil, waiting: "_Waiting", script: str, timeout: float, cancelled: asyncio.Event | None
    ) -> None:
        """Returns when the job is done.

        Raises:
            BridgeError: that will not be, or nobody wants it any more.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        # What is asked to find out whether there is trouble waits until that is clear.
        trouble = vigil.died if script == PING else vigil.troubled
        ends = [loop.create_task(one.wait()) for one in (waiting.done, trouble, cancelled) if one is not None]
        picked = loop.create_task((waiting.done if script == PING else waiting.picked).wait())
        try:
            await self._await_pickup(vigil.host, picked, ends)
            left = began + timeout + LEEWAY - loop.time()
            await asyncio.wait(ends, timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*ends, picked):
                task.cancel()
        waiting.look()
        if waiting.done.is_set():
            return
        if cancelled is not None and cancelled.is_set():
            raise BridgeError("E_CANCELLED", f"{script} was cancelled", hint=AGAIN)
        if vigil.died.is_set():
            self._breaker.note_failure()
            raise (_host_down if waiting.picked.is_set() else _unbegun)(vigil.host, script)
        if trouble.is_set():
            self._distrust(vigil.host)
            raise self._unresponsive(vigil, script)
        raise _too_late(script, timeout)

    async def _await_pickup(self, host: HostInfo, picked: "asyncio.Task[Any]", ends: "list[asyncio.Task[Any]]") -> None:
        """Waits until the host has taken the job. One that shows signs of life may be busy, and gets longer.

        Raises:
            BridgeError: it does not take it.
        """
        loop = asyncio.get_running_loop()
        pulse = Pulse(host, lambda: self._heartbeat(host))
        began = loop.time()
        while (waited := loop.time() - began) < PATIENCE:
            await asyncio.wait({picked, *ends}, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
            if picked.done() or any(task.done() for task in ends):
                return
            is_late = waited > PICKUP and host.kind == "headless" and not pulse.is_felt()
            if is_late or pulse.is_stopped():
                break
        self._distrust(host)
        raise BridgeError(
            "E_PICKUP_TIMEOUT",
            f"the {host.kind} host (process {host.pid}) does not take jobs",
            hint=self._advice(host),
            retryable=True,
            details={"pid": host.pid, "kind": host.kind},
        )

    def _distrust(self, host: HostInfo) -> None:
        """The next call asks the host first."""
        self._answered, self._stuck = "", host.bridge_id

    def _advice(self, host: HostInfo) -> str:
        if self._may_replace(host):
            return "call it again: if it still does not answer, another host takes its place"
        return "end it with: bn bridge stop; the next call starts another"

    def _unresponsive(self, vigil: Vigil, script: str) -> BridgeError:
        trouble, host = vigil.trouble, vigil.host
        if trouble is not None and trouble.code not in ("E_PICKUP_TIMEOUT", "E_TIMEOUT"):
            return trouble  # it answers, but cannot do anything; it knows best why
        return BridgeError(
            "E_HOST_UNRESPONSIVE",
            f"the {host.kind} host (process {host.pid}) runs {script} and does not answer any more",
            hint=self._advice(host),
            retryable=True,
            details={"pid": host.pid, "kind": host.kind},
        )

    def _heartbeat(self, host: HostInfo) -> float:
        """When the host last showed that it lives; 0 if it never did."""
        with suppress(OSError):
            return os.stat(os.path.join(folders.bridge_folder(self.folder_of(host)), "host.json")).st_mtime
        return 0.0

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

    @property
    def is_running(self) -> bool:
        """Whether a host is at it."""
        return self.picked.is_set() and not self.done.is_set()

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


class _Unbegun(BridgeError):
    """A host ended before it began with a job, which any other may do."""


async def _say_goodbye(waiting: _Waiting) -> None:
    """Tells the host that nobody waits any more, and lets it see that."""
    folders.mark_cancelled(waiting.folder)
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


def _unbegun(host: HostInfo, script: str) -> BridgeError:
    return _Unbegun(
        "E_HOST_DOWN",
        f"the {host.kind} host (process {host.pid}) ended before it began with {script}",
        hint="call it again: another host is started",
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
