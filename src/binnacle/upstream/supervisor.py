"""Supervises one upstream server: connects, watches and reconnects it, without blocking others.

States. A server is in exactly one, which `status` names with the reason:

    disabled, awaiting_trust    no connection is allowed; only `start` leaves this state, once a person allowed it
    connecting                  an attempt is under way, or a lazy server waits for its first call
    ready                       connected, its lists are read
    degraded                    connected, but MAX_FAILED_CALLS calls in a row were not answered; no call is sent until
                                the server gives a sign of life
    failed                      the last attempt failed, the next one is at `next_retry`
    needs_login                 the server wants a login; tried again at times, and at once when somebody signed in

Who owns what. One task, `_run`, makes every connection and ends it; no other code opens or closes one. It loops:
connect (`_connect_and_watch`), maintain the connection until it is lost (`_watch`), wait (twice as long each time, up
to MAX_RETRY_SECONDS), and again. The connection (`McpClient`) belongs to `_connect_and_watch`, which always closes it.
`lists` and `updates` belong to the server and outlive connections, so that tools stay listed for KEEP_LISTED_SECONDS
while a server restarts, and subscriptions are made again.

What happens at the same time. Everything runs on one event loop, so that state changes between two awaits are atomic.
Calls of many sessions use `_client` while `_watch` reads lists over the same connection; the client matches answers
by their ids, so neither waits for the other. A call that finds the connection lost before `_watch` does calls `_lose`
itself (`ready`); calling it twice does no harm. A caller that waits for a connection waits for `_moved`, which is set
and replaced with every change of state, so that it misses no change; it also sets `_kick`, which ends a pause between
two attempts at once.

Why it cannot hang. Every wait has a bound: an attempt `connect_timeout`, which a process that is seen at work may
extend (`launch_deadline`); a caller WAIT_FOR_READY_SECONDS; a sign of life HEALTH_ANSWER_SECONDS; reading lists again
`timeout`. No lock is held while anything outside is waited for, except the one that orders subscriptions, and that
only `updates` takes.

Why nothing is lost or done twice. A call to a server that is down fails at once. So does a call whose server dies, with
the server's last output. It is repeated once, only if its tool says that this does no harm (`is_repeatable`) and the
connection is really gone; a timeout is never repeated. A change that is announced while lists are read is noted in
`_changed` and read in the next round. Closing cancels `_run`, and returns when the server's process has ended.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from binnacle.errors import BinnacleError, TimedOut, UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream.change_stream import RESOURCE_UPDATED
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.launch_deadline import LaunchDeadline
from binnacle.upstream.listing.list_cache import OfferedLists
from binnacle.upstream.mcp_client import McpClient
from binnacle.upstream.resource_updates import ResourceUpdates
from binnacle.upstream.server_bounds import RereadPace
from binnacle.upstream.server_lists import CHANGEABLE_LISTS, ServerLists, ServerTool
from binnacle.upstream.server_status import ServerState, ServerStatus, unusable
from binnacle.upstream.toolsets.limited import CallGate
from binnacle.upstream.transports.transport import RECONNECT_HINT, Receive, Transport
from binnacle.wire.jsonrpc import UNREADABLE, RpcError

_log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 60.0
"""Seconds before the second attempt to connect, and at most between two: each waits twice as long as the one before."""

LOGIN_RETRY_SECONDS = 60.0
"""Seconds after which a server without a login is tried again; a login ends the pause."""

SUSTAINED_SECONDS = 30.0
"""Seconds of uptime after which earlier failures are forgotten."""

HEALTH_CHECK_SECONDS = 30.0
"""Seconds between two pings of an idle server."""

HEALTH_ANSWER_SECONDS = 10.0
MAX_FAILED_CALLS = 5
"""Unanswered calls in a row, after which none are sent until the server gives a sign of life."""

WAIT_FOR_READY_SECONDS = 5.0
"""Seconds that a call waits for a server that is being connected."""

LAUNCHING = "starting: its launcher is still working, as on a first start that fetches packages"

SETTLE_GRACE_SECONDS = 0.5
"""Seconds beyond `connect_timeout` after which `settle` reports a server as failed."""

LISTS_AGAIN_SECONDS, LISTS_AT_LEAST_SECONDS = 1.0, 10.0
"""Seconds between two readings of changed lists: at first, and at most for a server that keeps announcing changes."""

KEEP_LISTED_SECONDS = 600.0
"""Seconds that the tools of a server that is down stay listed."""

Result = TypeVar("Result")

OpenTransport = Callable[[ServerConfig, Receive], Transport]
"""Makes a transport for a server."""


class _Updated(Struct):
    uri: str


class SupervisedServer:
    """Supervises one server. Start it, use it, close it."""

    def __init__(
        self, config: ServerConfig, open_transport: OpenTransport, *, clean: Callable[[str], str] = str
    ) -> None:
        """`clean` removes secrets from text about the server."""
        self.config = config
        self._clean = clean
        self.listeners: list[Callable[[], None]] = []
        """Called whenever its state or its offer has changed."""

        self.lists = ServerLists()
        """What it offers."""

        self.updates = ResourceUpdates()
        """Which sessions follow which of its resources."""

        self.status = ServerStatus("connecting", "not used yet" if config.lazy else "", time.time(), None)
        self.gate = CallGate(config.limits.concurrency, config.limits.per_minute, server=config.name)
        self.latency: float | None = None
        """Seconds that the last ping took."""

        self._open = open_transport
        self._client: McpClient | None = None
        self._running: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        """Set when the state changes, and then replaced."""

        self._kick = asyncio.Event()
        self._changed: set[str] = set()
        self._news = asyncio.Event()
        self._failures = 0
        self._lost_at: float | None = None
        self._failure = ""
        """Why the last attempt to connect failed."""

        self._deadline: LaunchDeadline | None = None
        """Of the attempt to connect that is under way, or the last one."""

        self._was_up = False
        """Whether the last attempt to connect succeeded: the next one most likely will, too."""

    def start(self) -> None:
        """Begins to connect, in the background; a lazy server waits for its first call."""
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._run())

    def rest(self) -> None:
        """Leaves a lazy server to its first call."""
        if self._running is None:
            self._set("connecting", "not used yet")

    def hold(self, state: ServerState, reason: str) -> None:
        """Keeps it from being connected: disabled, or not trusted."""
        self._set(state, reason)

    @property
    def client(self) -> McpClient | None:
        """The connection, while there is one."""
        return self._client

    @property
    def tools(self) -> tuple[ServerTool, ...]:
        """The tools that it lists."""
        return self.lists.tools

    def recall(self, offered: OfferedLists, notes: Sequence[str] = ()) -> None:
        """Offers what the server offered when it was last connected, as long as after a loss.

        `notes` say what was left out then.
        """
        if offered != OfferedLists():
            self.lists.recall(offered, notes)
            self._lost_at = time.monotonic()

    @property
    def is_offered(self) -> bool:
        """Whether its tools are listed: it is up, was up a short while ago, or starts at its first call."""
        if self._client is not None or self.config.lazy:
            return True
        return self._lost_at is not None and time.monotonic() - self._lost_at < KEEP_LISTED_SECONDS

    async def _run(self) -> None:
        delay = 0.0
        while True:
            began = time.monotonic()
            try:
                reason = await self._connect_and_watch()
            except UpstreamLogin as error:
                self._set("needs_login", error.message)
                await self._wait_for_kick(LOGIN_RETRY_SECONDS)
                continue
            except BinnacleError as error:
                reason = error.message
            except Exception as error:  # noqa: BLE001 - a defect here must not leave a server without supervision
                _log.exception("a defect while connected to '%s'", self.config.name)
                reason = f"internal error: {type(error).__name__}"
            self._failure = reason
            if self._was_up and time.monotonic() - began > SUSTAINED_SECONDS:
                delay = 0.0
            pause = delay * random.uniform(0.5, 1.0)  # noqa: S311 - so that servers do not come back all at once
            delay = min(max(delay * 2, FIRST_RETRY_SECONDS), MAX_RETRY_SECONDS)
            if pause:
                self._set("failed", reason, retry_in=pause)
                await self._wait_for_kick(pause)

    def retry(self) -> None:
        """Tries to connect now instead of later: somebody may have signed in."""
        if self._running is not None and self.status.state in ("failed", "needs_login"):
            self._kick.set()

    async def _wait_for_kick(self, seconds: float) -> None:
        """Waits, unless a caller needs the server earlier."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._kick.wait()
        self._kick.clear()

    async def _connect_and_watch(self) -> str:
        """Connects and stays until the connection is lost. Returns the reason."""
        self._set("connecting", f"once more, after: {self._failure}" if self._failure else "")
        self._was_up = False
        if self.config.transport == "websocket":
            # In a thread: loading it would delay our answers to clients for too long.
            await asyncio.to_thread(import_module, "aiohttp")
        client = McpClient(partial(self._open, self.config), name=self.config.name, on_change=self._notice)
        deadline = self._deadline = LaunchDeadline(self.config, client.link, on_launching=self._show_launching)
        try:
            try:
                async with deadline.bound():
                    await self._connect(client, deadline)
            except UpstreamDown as error:
                self._failure = error.message  # known now, and not only once the process has ended
                raise
            self._failures, self._lost_at, self._was_up, self._failure = 0, None, True, ""
            self._set("ready", "")
            await self.updates.subscribe(client)
            return await self._watch(client)
        finally:
            self._lose()
            await client.close()

    async def _connect(self, client: McpClient, deadline: LaunchDeadline) -> None:
        await client.link.open()
        async with deadline.extended():
            await client.connect(self.config.protocol)
        self._client = client
        self._changed = set(CHANGEABLE_LISTS)
        await self._refresh(client)

    def _show_launching(self) -> None:
        if not self.is_launching:
            self._set("connecting", LAUNCHING)

    @property
    def is_launching(self) -> bool:
        """Whether it is not ready because its launcher still works."""
        return self.status.state == "connecting" and self.status.reason == LAUNCHING

    def _lose(self) -> None:
        if self._client is not None:
            self._client, self._lost_at = None, time.monotonic()
            self._set("connecting", "the connection was lost")

    async def _watch(self, client: McpClient) -> str:
        """Maintains a connection: reads lists that have changed, sends pings."""
        pace = RereadPace(LISTS_AGAIN_SECONDS, LISTS_AT_LEAST_SECONDS)
        while True:
            await self._wait_for_news(client)
            if self._changed:
                await asyncio.wait({client.link.ended}, timeout=pace.wait(time.monotonic()))
            if client.link.ended.done():
                return client.link.ended.result()
            self._news.clear()
            if self._changed:
                await self._read_again(client)
                pace.done(time.monotonic())
            else:
                await self._check(client)

    async def _wait_for_news(self, client: McpClient) -> None:
        """Waits until there is something to do for a connection."""
        news = asyncio.ensure_future(self._news.wait())
        try:
            waits: set[asyncio.Future[Any]] = {news, client.link.ended}
            await asyncio.wait(waits, timeout=HEALTH_CHECK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()

    async def _read_again(self, client: McpClient) -> None:
        try:
            async with asyncio.timeout(self.config.timeout):
                await self._refresh(client)
        except TimeoutError:
            raise UpstreamDown(
                f"{self.config.name} did not say in time what has changed", hint=RECONNECT_HINT
            ) from None

    async def settle(self) -> ServerStatus:
        """Connects, and waits for the result."""
        if self.status.state == "connecting":
            self.start()
        began = time.monotonic()
        while self.status.state == "connecting":
            extended_by = self._deadline.extended_by if self._deadline else 0.0
            bound = self.config.connect_timeout + extended_by + SETTLE_GRACE_SECONDS
            left = bound - (time.monotonic() - began)
            if left <= 0:
                reason = self._failure or f"it was not ready within {self.config.connect_timeout:g} s"
                return ServerStatus("failed", self._clean(reason), self.status.since, None)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._moved.wait()
        return self.status

    async def probe(self) -> float:
        """Makes a round trip. Returns the seconds it took.

        Raises:
            UpstreamDown: it is down, or does not answer.
        """
        await self._check(await self.ready())
        return self.latency or 0.0

    async def _check(self, client: McpClient) -> None:
        """Pings the server.

        Raises:
            UpstreamDown: it did not answer.
        """
        began = time.perf_counter()
        try:
            async with asyncio.timeout(HEALTH_ANSWER_SECONDS):
                await client.ping()
        except TimeoutError:
            raise UpstreamDown(
                f"{self.config.name} gave no sign of life within {HEALTH_ANSWER_SECONDS:g} s", hint=RECONNECT_HINT
            ) from None
        except RpcError:
            pass  # an error is also an answer
        self.latency = time.perf_counter() - began
        if self.status.state == "degraded":
            self._failures = 0
            self._set("ready", "")

    async def follow(self, who: object, uris: frozenset[str]) -> None:
        """Subscribes to these resources for `who`, now and after every new connection."""
        if self.updates.set_followed(who, uris) and self._client is not None:
            await self.updates.subscribe(self._client)

    def _notice(self, method: str, params: Raw) -> None:
        """Notes a change that the server announces."""
        if method == RESOURCE_UPDATED:
            with contextlib.suppress(*UNREADABLE):
                self.updates.note(msgspec.json.decode(params, type=_Updated).uri)
            return
        what = method.removeprefix("notifications/").partition("/")[0]
        if method.endswith("/list_changed") and what in CHANGEABLE_LISTS:
            self._changed.add(what)
            self._news.set()

    async def _refresh(self, client: McpClient) -> None:
        """Reads the lists that have changed. Announces nothing if they are the same."""
        changed, self._changed = self._changed, set()
        if await self.lists.read(client, changed, connect_seconds=self.config.connect_timeout):
            self._announce()

    async def ready(self) -> McpClient:
        """The connection; waits a little if it is being made.

        Raises:
            UpstreamDown: there is none now; the message says why.
        """
        if self._client is not None and self._client.link.ended.done():
            self._lose()  # noticed here before `_watch` notices it
        if self._client is not None and self.status.state == "ready":
            return self._client
        if self.status.state not in ("disabled", "awaiting_trust", "needs_login"):
            self.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(WAIT_FOR_READY_SECONDS, self.config.connect_timeout)):
                while self._may_be_soon():
                    self._kick.set()
                    await self._moved.wait()
        if self._client is None or self.status.state != "ready":
            raise self.describe_down()
        return self._client

    def _may_be_soon(self) -> bool:
        """Whether to wait for a connection: it is being made, or was just lost and has not failed to come back."""
        return self.status.state == "connecting" or (self.status.state == "failed" and self._was_up)

    def describe_down(self) -> UpstreamDown:
        """The error that says why it cannot be used now, and what to do."""
        return unusable(self.config.name, self.status)

    async def call(self, work: Callable[[McpClient], Awaitable[Result]], *, is_repeatable: bool) -> Result:
        """Uses the connection. If the server dies, does `work` once more, if that does no harm."""
        may_repeat = is_repeatable
        while True:
            client = await self.ready()
            try:
                result = await work(client)
            except RpcError:
                self._failures = 0
                raise
            except (UpstreamError, TimedOut) as error:
                self._count_failure()
                if not may_repeat or not isinstance(error, UpstreamDown) or not client.link.ended.done():
                    raise
                may_repeat = False
            else:
                self._failures = 0
                return result

    def _count_failure(self) -> None:
        self._failures += 1
        if self._failures >= MAX_FAILED_CALLS and self.status.state == "ready":
            self._set("degraded", f"{self._failures} calls in a row were not answered")
            self._news.set()

    def _set(self, state: ServerState, reason: str, *, retry_in: float | None = None) -> None:
        now = time.time()
        since = self.status.since if state == self.status.state else now
        self.status = ServerStatus(state, self._clean(reason), since, now + retry_in if retry_in is not None else None)
        self._moved.set()
        self._moved = asyncio.Event()
        self._announce()

    def _announce(self) -> None:
        for on_change in list(self.listeners):
            on_change()

    async def close(self) -> None:
        """Ends the connection and the server's process."""
        self.updates.close()
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
