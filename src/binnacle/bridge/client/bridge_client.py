"""Runs scripts on the host of a workspace, and starts a host if there is none.

If a host dies before it begins a job, another host does the job. If a host is stuck, the caller gets an error, and the
next call replaces the host.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from binnacle.bridge.client.editor_lookup import find_window
from binnacle.bridge.client.job_exchange import (
    BUSY_PICKUP_SECONDS,
    HostDied,
    HostStuck,
    JobExchange,
    JobRequest,
    OnEvent,
)
from binnacle.bridge.client.liveness import HostLiveness
from binnacle.bridge.jobs import job_files, process_identity
from binnacle.bridge.jobs.circuit_breaker import CircuitBreaker
from binnacle.bridge.jobs.protocol import PING_SCRIPT, BridgeError, HostInfo
from binnacle.errors import Hint, NextStep

T = TypeVar("T")

MAX_ATTEMPTS = 3
"""How often a job is given to another host after one died before it began."""

KILL_WAIT_SECONDS = 2.0
"""Seconds until a process that was killed is gone."""

MAX_REMOTE_HEARTBEAT_AGE_SECONDS = 30.0
"""Seconds without a sign of life, after which a host whose process is not visible counts as dead."""

CODES_OF_A_LIVE_HOST = ("E_SCRIPT_NOT_FOUND", "E_NOT_FOUND", "E_NOT_IMPLEMENTED", "E_UNSUPPORTED", "E_CAPACITY")
"""Codes of a host that lacks the script or has no capacity: it is alive."""

PING = JobRequest(PING_SCRIPT, {}, BUSY_PICKUP_SECONDS)
"""Asks a host whether it answers."""

Start = Callable[[str], Awaitable[HostInfo]]
"""Starts a host in a workspace, and returns when it serves."""


class BridgeClient:
    """One client of a workspace's host. Closing it leaves the host running."""

    def __init__(self, workspace: str, *, name: str = "mcp", start: Start | None = None, polls: bool = False) -> None:
        """Without `start` there must be a host. `polls` turns off notifications of the file system."""
        self.workspace = os.path.realpath(workspace)
        self._start = start
        self._exchange = JobExchange(self.workspace, name, advice=self._stuck_hint, polls=polls)
        self._answered = ""
        """The host that is known to answer."""

        self._stuck = ""
        """The host that did not answer."""

        self._finding = asyncio.Lock()
        self._liveness: HostLiveness | None = None
        self._breaker = CircuitBreaker("the host ended or got stuck")

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
            BridgeError: the error of the script or the host, or the host failed.
        """

        request = JobRequest(script, params, timeout, on_event, cancelled)

        async def attempt() -> Any:
            host = await self._find_host()
            return await self._call(host, request)

        return await _repeat(attempt)

    async def find_host(self) -> HostInfo:
        """A host that answers; started if there is none.

        Raises:
            BridgeError: there is none, or it does not answer.
        """
        return await _repeat(self._find_host)

    async def _find_host(self) -> HostInfo:
        host = self.look_for_host()
        if host is not None and host.bridge_id == self._answered:
            return host
        # Of several calls at once, one looks for all.
        async with self._finding:
            return await self._try_host(self.look_for_host() or await self._start_host())

    async def _try_host(self, host: HostInfo) -> HostInfo:
        """The host, if it answers; a new one, if it is stuck for the second time.

        Raises:
            BridgeError: it does not answer.
        """
        if host.bridge_id == self._answered:
            return host
        was_stuck = self._stuck == host.bridge_id
        try:
            await self.ping(host)
        except HostStuck:
            if not was_stuck or not self._may_replace(host):
                raise
            host = await self._replace(host)
        self._answered, self._stuck = host.bridge_id, ""
        return host

    async def _start_host(self) -> HostInfo:
        if self._start is None:
            raise BridgeError(
                "E_BRIDGE_NOT_FOUND",
                f"no host serves {self.workspace}",
                hint=NextStep("start one", "bridge host", for_person=True),
                retryable=True,
            )
        self._breaker.check()
        job_files.open_bridge(self.workspace)
        try:
            return await self._start(self.workspace)
        except BridgeError:
            self._breaker.note_failure()
            raise

    def _may_replace(self, host: HostInfo) -> bool:
        """Whether we may end it. We never end a person's editor."""
        return self._start is not None and host.kind == "headless" and host.is_near

    async def _replace(self, host: HostInfo) -> HostInfo:
        """Ends a stuck host and what it debugs. Returns a new one."""
        self._breaker.note_failure()
        process_identity.kill_process(host.pid, host.process_start)
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_WAIT_SECONDS):
                while host.is_alive():  # noqa: ASYNC110 - it was killed, and is as good as gone
                    await asyncio.sleep(0.005)
        host = await self._start_host()
        await self.ping(host)
        return host

    def look_for_host(self) -> HostInfo | None:
        """A host that seems to be alive: it introduced itself, and its process has not ended.

        The host of the workspace comes before an editor that has a parent folder open.

        Raises:
            BridgeError: E_AMBIGUOUS_HOST, or E_BRIDGE_UNAVAILABLE for a host that shares no key with us.
        """
        host = job_files.read_host(self.workspace)
        is_there = host is not None and host.is_alive()
        if (
            host is not None
            and is_there
            and (host.is_near or time.time() - self._exchange.heartbeat(host) < MAX_REMOTE_HEARTBEAT_AGE_SECONDS)
        ):
            return host
        if host is None:
            self._check_no_stranger()
        return find_window(self.workspace)

    def _check_no_stranger(self) -> None:
        """Checks that no host without a proof runs here: two hosts would disturb each other.

        Raises:
            BridgeError: there is one.
        """
        stranger = job_files.read_host_file(self.workspace)
        if stranger is None or not stranger.is_seen():
            return
        if job_files.read_host_file(self.workspace) != stranger or job_files.read_host(self.workspace) is not None:
            return  # it is just starting or ending
        raise BridgeError(
            "E_BRIDGE_UNAVAILABLE",
            f"the {stranger.kind} host (process {stranger.pid}) has no proof for us",
            hint=(
                "it is older than this program, or keeps its data in another folder",
                NextStep("update the extension and reload the window", "bridge install-vscode", for_person=True),
            ),
            details={"pid": stranger.pid, "kind": stranger.kind},
        )

    def folder_of(self, host: HostInfo) -> str:
        """The folder that a host serves: the workspace, or the parent folder that an editor has open."""
        return self._exchange.folder_of(host)

    async def ping(self, host: HostInfo) -> float:
        """Seconds of a round trip.

        Raises:
            BridgeError: the host does not answer.
        """
        began = time.perf_counter()
        try:
            await self._call(host, PING)
        except BridgeError as error:
            if error.code not in CODES_OF_A_LIVE_HOST:
                raise
        return time.perf_counter() - began

    async def _call(self, host: HostInfo, request: JobRequest) -> Any:
        liveness = self._liveness
        if liveness is None or liveness.is_over or liveness.host.bridge_id != host.bridge_id:
            liveness = self._liveness = HostLiveness(host, self._ask)
        try:
            async with liveness:
                return await self._exchange.run(liveness, request)
        except HostDied:
            self._breaker.note_failure()
            raise
        except HostStuck:
            # The next call pings it first.
            self._answered, self._stuck = "", host.bridge_id
            raise

    async def _ask(self, liveness: HostLiveness) -> None:
        """Pings a host while calls wait for it."""
        try:
            await self._exchange.run(liveness, PING)
        except BridgeError as error:
            if error.code not in CODES_OF_A_LIVE_HOST:
                raise

    def _stuck_hint(self, host: HostInfo) -> Hint:
        if self._may_replace(host):
            return "call it again: if it still does not answer, another host takes its place"
        if host.kind == "vscode":
            return "reload or close the window of the editor; without it the next call starts another host"
        return NextStep("end it", "bridge stop"), "the next call starts another"

    def close(self) -> None:
        self._exchange.close()


async def _repeat(attempt: Callable[[], Awaitable[T]]) -> T:
    """Tries again with another host if one died before it began."""
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return await attempt()
        except HostDied as error:
            if error.has_begun:
                raise
    return await attempt()
