"""Jobs as a client has them: written, published, waited for, taken away.

Nothing is waited for in vain: a host that dies is noticed at once, one that is stuck within a second, and whatever
happens the job's directory is taken away.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from binnacle.bridge import alive, folders, proofs, protocol
from binnacle.bridge.protocol import PING, BridgeError, Command, Event, HostInfo
from binnacle.bridge.vigil import Pulse, Vigil
from binnacle.bridge.watching import Watcher
from binnacle.errors import Hint

PICKUP = 0.6
"""Seconds until a host has taken a job, if it is one that answers."""

PATIENCE = 5.0
"""Seconds for a host that is busy: it shows signs of life. Editors always get them."""

LOOK = 0.2
"""Seconds between looks at a host that has not taken a job."""

LEEWAY = 0.5
"""Seconds that the host gets beyond the deadline, to say itself that it passed."""

FAREWELL = 0.3
"""Seconds in which a host is let see that a job was cancelled, before the job is taken away."""

OnEvent = Callable[[Event], None]
Advice = Callable[[HostInfo], Hint]
"""What to do about a host that is stuck."""


class HostDied(BridgeError):
    """A host ended over a job, or before it began with it."""

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
    """A host is there, but does nothing."""

    def __init__(self, code: str, host: HostInfo, what: str, *, hint: Hint) -> None:
        super().__init__(
            code,
            f"the {host.kind} host (process {host.pid}) {what}",
            hint=hint,
            retryable=True,
            details={"pid": host.pid, "kind": host.kind},
        )


class Exchange:
    """The jobs of one client. Closing it ends the watch on their directories."""

    def __init__(self, workspace: str, name: str, *, advice: Advice, polls: bool) -> None:
        self._workspace = workspace
        self._pid = os.getpid()
        self._client_id = f"{name}-{self._pid}"
        self._process_start = alive.process_start(self._pid)
        self._advice = advice
        self._polls = polls
        self._watcher: Watcher | None = None

    def folder_of(self, host: HostInfo) -> str:
        """Where a host is spoken to: in the workspace, or in the folder around it that an editor has open."""
        is_around = host.is_near and self._workspace.startswith(os.path.join(host.workspace, ""))
        return host.workspace if is_around and host.workspace else self._workspace

    def heartbeat(self, host: HostInfo) -> float:
        """When the host last showed that it lives; 0 if it never did."""
        with suppress(OSError):
            return os.stat(os.path.join(folders.bridge_folder(self.folder_of(host)), "host.json")).st_mtime
        return 0.0

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    async def run(
        self,
        vigil: Vigil,
        script: str,
        params: Mapping[str, Any],
        *,
        timeout: float,
        on_event: OnEvent | None = None,
        cancelled: asyncio.Event | None = None,
    ) -> Any:
        """What comes of a job, with a host that is watched.

        Raises:
            HostDied, HostStuck: it will not be done.
            BridgeError: the script's, or the host's.
        """
        served = self.folder_of(vigil.host)
        if (key := proofs.read_key(served, vigil.host.bridge_id)) is None:
            raise HostDied(vigil.host, script, has_begun=False)
        try:
            folder = folders.prepare(served, self._command(script, params, timeout, served), key)
        except OSError as error:
            raise _cannot_write(error) from error
        waiting = _Waiting(folder, on_event)
        if self._watcher is None:
            self._watcher = Watcher(polls=self._polls)
        unwatch = self._watcher.watch(folder, waiting.look)
        try:
            waiting.folder = folder = folders.publish(served, folder)
            await self._wait(vigil, waiting, script, timeout, cancelled)
            return folders.read_result(folder, key)
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
            workspace="" if served == self._workspace else self._workspace,
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
            raise BridgeError("E_CANCELLED", f"{script} was cancelled", hint="call it again if it is wanted after all")
        if vigil.died.is_set():
            raise HostDied(vigil.host, script, has_begun=waiting.picked.is_set())
        if trouble.is_set():
            raise self._unresponsive(vigil, script)
        raise _too_late(script, timeout)

    async def _await_pickup(self, host: HostInfo, picked: "asyncio.Task[Any]", ends: "list[asyncio.Task[Any]]") -> None:
        """Waits until the host has taken the job. One that shows signs of life may be busy, and gets longer.

        Raises:
            BridgeError: it does not take it.
        """
        loop = asyncio.get_running_loop()
        pulse = Pulse(host, lambda: self.heartbeat(host))
        began = loop.time()
        while (waited := loop.time() - began) < PATIENCE:
            await asyncio.wait({picked, *ends}, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
            if picked.done() or any(task.done() for task in ends):
                return
            is_late = waited > PICKUP and host.kind == "headless" and not pulse.is_felt()
            if is_late or pulse.is_stopped():
                break
        raise HostStuck("E_PICKUP_TIMEOUT", host, "does not take jobs", hint=self._advice(host))

    def _unresponsive(self, vigil: Vigil, script: str) -> BridgeError:
        trouble, host = vigil.trouble, vigil.host
        if trouble is not None and not isinstance(trouble, HostStuck) and trouble.code != "E_TIMEOUT":
            return trouble  # it answers, but cannot do anything; it knows best why
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


async def _say_goodbye(waiting: _Waiting) -> None:
    """Tells the host that nobody waits any more, and lets it see that."""
    folders.mark_cancelled(waiting.folder)
    with suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL):
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
