"""One upstream server under supervision: connected, watched, connected again, and never in the way.

A call to a server that is down fails at once. One that is in flight when its server dies fails at once, too,
with the server's last words; it is made again only if its tool says that this does no harm.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from binnacle.errors import BinnacleError, Hint, TimedOut, UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream import bounds, steps
from binnacle.upstream.bounds import Listed, ListKind, Pace
from binnacle.upstream.client import LISTS, UPDATED, Client
from binnacle.upstream.config import ServerConfig
from binnacle.upstream.entries import parse_entries
from binnacle.upstream.link import AGAIN, Link, Receive
from binnacle.upstream.lists import Offered
from binnacle.upstream.rate import Gate
from binnacle.wire.jsonrpc import METHOD_NOT_FOUND, UNREADABLE, RpcError

_log = logging.getLogger(__name__)

State = Literal["connecting", "ready", "degraded", "failed", "needs_login", "disabled", "awaiting_trust"]

FIRST_DELAY, LAST_DELAY = 0.1, 60.0
"""Seconds before the second attempt to connect, and at most between two: each waits twice as long as the one before."""

LOGIN_AGAIN = 60.0
"""Seconds after which a server that nobody was signed in to is tried again; sooner, once somebody was."""

SUSTAINED = 30.0
"""Seconds a server must have been up for its earlier failures to be forgotten."""

HEALTH = 30.0
"""Seconds between signs of life that are asked for while nothing else is."""

HEALTH_WITHIN = 10.0
FAILURES = 5
"""Calls in a row that were not answered, after which no more are sent until the server gave a sign of life."""

PATIENCE = 5.0
"""Seconds that a call waits for a server which is being connected at that moment."""

MAX_LAUNCH_SECONDS = 300.0
"""Seconds until a process must be ready that is seen at work all the time, as `npx` is while it fetches packages."""

LOOK_SECONDS = 0.5
"""Seconds between two looks at whether a process that is not ready is at work."""

LAUNCHING_SHOWN_AFTER_SECONDS = 3.0
LAUNCHING = "starting: its launcher is still working, as on a first start that fetches packages"

SETTLED_WITHIN = 0.5
"""Seconds beyond its time to connect, after which a server that still connects is said to have failed."""

FOLLOW_WITHIN = 10.0
"""Seconds until a server must have said that it will tell of changes to resources."""

LISTS_AGAIN_SECONDS, LISTS_AT_LEAST_SECONDS = 1.0, 10.0
"""Seconds between two readings of lists that a server says have changed: at first, and at most where it keeps at it."""

UPDATES_TOGETHER_SECONDS = 0.1
"""Seconds over which changes to resources are gathered, so that a storm of them is a breeze for clients."""

KEPT = 600.0
"""Seconds that the tools of a server which is down stay listed."""

Result = TypeVar("Result")

Open = Callable[[ServerConfig, Receive], Link]
"""Makes a link for a server."""


class Tool(Struct, frozen=True):
    """A tool as its server describes it."""

    name: str
    entry: Raw
    """Its entry in the server's list, untouched."""

    is_repeatable: bool
    """Whether calling it twice does no more than calling it once."""


class Status(NamedTuple):
    """How a server stands."""

    state: State
    reason: str
    since: float
    """When it came to stand so, in seconds of the epoch."""

    next_retry: float | None


class _Hints(Struct):
    read_only: bool = msgspec.field(name="readOnlyHint", default=False)
    idempotent: bool = msgspec.field(name="idempotentHint", default=False)


class _Updated(Struct):
    uri: str


class _Entry(Struct):
    name: str
    annotations: _Hints | None = None


class Upstream:
    """Supervises one server. Start it, use it, close it."""

    def __init__(self, config: ServerConfig, open_link: Open, *, clean: Callable[[str], str] = str) -> None:
        """`clean` takes secrets out of what is said about the server."""
        self.config = config
        self._clean = clean
        self.heard: list[Callable[[], None]] = []
        """Called whenever its state or what it offers has changed."""

        self.updated: list[Callable[[str], None]] = []
        """Called with the URI of a resource that has changed."""

        self.tools: tuple[Tool, ...] = ()
        self.prompts: tuple[Raw, ...] = ()
        self.resources: tuple[Raw, ...] = ()
        self.templates: tuple[Raw, ...] = ()
        self._held_back: dict[ListKind, tuple[str, ...]] = {}
        self.status = Status("connecting", "not used yet" if config.lazy else "", time.time(), None)
        self.gate = Gate(config.limits.concurrency, config.limits.per_minute, server=config.name)
        self.latency: float | None = None
        """Seconds of the last answer to a sign of life."""

        self._open = open_link
        self._client: Client | None = None
        self._running: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        """Set when the state changes, and then replaced."""

        self._kick = asyncio.Event()
        self._changed: set[str] = set()
        self._news = asyncio.Event()
        self._updates: dict[str, None] = {}
        """Resources that have changed and were not announced yet, in the order in which the server told of them."""

        self._announcing: asyncio.TimerHandle | None = None
        self._followed: dict[object, frozenset[str]] = {}
        self._following = asyncio.Lock()
        self._failures = 0
        self._lost_at: float | None = None
        self._failure = ""
        """Why the last attempt to connect failed."""

        self._extended_by = 0.0
        """Seconds beyond its time to connect that this attempt has, because its process is at work."""

        self._was_up = False
        """Whether the last attempt to connect succeeded: the next one most likely will, too."""

    def start(self) -> None:
        """Begins to connect, in the background; a lazy one waits for its first call."""
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._run())

    def rest(self) -> None:
        """Leaves a lazy server to its first call."""
        if self._running is None:
            self._set("connecting", "not used yet")

    def hold(self, state: State, reason: str) -> None:
        """Keeps it from being connected: disabled, or not trusted."""
        self._set(state, reason)

    @property
    def client(self) -> Client | None:
        """The connection, while there is one."""
        return self._client

    @property
    def offered(self) -> Offered:
        """All that it has, as it lists it."""
        return Offered(tuple(tool.entry for tool in self.tools), self.prompts, self.resources, self.templates)

    @property
    def held_back(self) -> tuple[str, ...]:
        """What is not offered of what it lists, then what is not offered as it is listed, each with the reason."""
        notes = (note for notes in self._held_back.values() for note in notes)
        return tuple(sorted(notes, key=lambda note: bounds.NOT_OFFERED not in note))

    def recall(self, offered: Offered, notes: Sequence[str] = ()) -> None:
        """Offers what the server did when it was last connected, for as long as one that was lost just now.

        `notes` say what was held back of it then.
        """
        if offered != Offered():
            self._held_back = {"tools": tuple(notes)}
            self.tools, self._lost_at = tools_of(offered.tools), time.monotonic()
            self.prompts, self.resources, self.templates = offered.prompts, offered.resources, offered.templates

    @property
    def is_known(self) -> bool:
        """Whether it is known what it has, from now or from earlier."""
        return any((self.tools, self.prompts, self.resources, self.templates))

    @property
    def is_offered(self) -> bool:
        """Whether its tools are to be listed: it is up, or was a short while ago, or comes when it is called."""
        if self._client is not None or self.config.lazy:
            return True
        return self._lost_at is not None and time.monotonic() - self._lost_at < KEPT

    async def _run(self) -> None:
        delay = 0.0
        while True:
            began = time.monotonic()
            try:
                reason = await self._live()
            except UpstreamLogin as error:
                self._set("needs_login", error.message)
                await self._wait_for_kick(LOGIN_AGAIN)
                continue
            except BinnacleError as error:
                reason = error.message
            except Exception as error:  # noqa: BLE001 - a defect here must not leave a server without supervision
                _log.exception("a defect while connected to '%s'", self.config.name)
                reason = f"internal error: {type(error).__name__}"
            self._failure = reason
            if self._was_up and time.monotonic() - began > SUSTAINED:
                delay = 0.0
            pause = delay * random.uniform(0.5, 1.0)  # noqa: S311 - so that servers do not come back all at once
            delay = min(max(delay * 2, FIRST_DELAY), LAST_DELAY)
            if pause:
                self._set("failed", reason, retry_in=pause)
                await self._wait_for_kick(pause)

    def retry(self) -> None:
        """Tries to connect now, where it would be tried later: somebody may have signed in."""
        if self._running is not None and self.status.state in ("failed", "needs_login"):
            self._kick.set()

    async def _wait_for_kick(self, seconds: float) -> None:
        """Waits, unless someone wants to use the server before."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._kick.wait()
        self._kick.clear()

    async def _live(self) -> str:
        """Connects and stays until the connection is lost. Returns why it was."""
        self._set("connecting", f"once more, after: {self._failure}" if self._failure else "")
        self._was_up = False
        if self.config.transport != "stdio":
            # In a thread: loading it takes longer than a client should have to wait for an answer of ours.
            await asyncio.to_thread(import_module, "aiohttp")
        client = Client(partial(self._open, self.config), name=self.config.name, on_change=self._notice)
        began = time.monotonic()
        try:
            try:
                async with asyncio.timeout(self.config.connect_timeout) as bound:
                    await self._connect(client, bound)
                    self._client = client
                    self._changed = {"tools", "prompts", "resources"}
                    await self._refresh(client)
            except TimeoutError:
                error = self._not_ready(time.monotonic() - began)
                self._failure = error.message  # known now, and not only once the process has ended
                raise error from None
            self._failures, self._lost_at, self._was_up, self._failure = 0, None, True, ""
            self._set("ready", "")
            await self._follow(client)
            return await self._watch(client)
        finally:
            self._lose()
            await client.close()

    async def _connect(self, client: Client, bound: asyncio.Timeout) -> None:
        """Connects. While the server's process is at work and not ready, `bound` is put off."""
        self._extended_by = 0.0
        await client.link.open()
        extending = asyncio.get_running_loop().create_task(self._extend(client.link, bound))
        try:
            await client.connect(self.config.protocol)
        finally:
            extending.cancel()

    async def _extend(self, link: Link, bound: asyncio.Timeout) -> None:
        clock, given = asyncio.get_running_loop().time, self.config.connect_timeout
        began = clock()
        last = began + max(MAX_LAUNCH_SECONDS, given)
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, given / 4))
            if not link.has_worked():
                continue
            if bound.expired():
                return
            until = min(last, clock() + given)
            self._extended_by = until - began - given
            bound.reschedule(until)
            if clock() - began > LAUNCHING_SHOWN_AFTER_SECONDS and self.status.reason != LAUNCHING:
                self._set("connecting", LAUNCHING)

    def _not_ready(self, waited: float) -> UpstreamDown:
        name, given = self.config.name, self.config.connect_timeout
        if waited >= MAX_LAUNCH_SECONDS > given:
            text = f"{name} was still starting after {waited:.0f} s"
        else:
            text = f"{name} was not ready within {given:g} s"
            if waited >= 2 * given:
                text += f" after it was last seen at work, {waited:.0f} s in all"
        return UpstreamDown(text, hint="raise its connect_timeout if it needs longer")

    @property
    def is_launching(self) -> bool:
        """Whether it is not ready because its launcher is still at work."""
        return self.status.state == "connecting" and self.status.reason == LAUNCHING

    def _lose(self) -> None:
        if self._client is not None:
            self._client, self._lost_at = None, time.monotonic()
            self._set("connecting", "the connection was lost")

    async def _watch(self, client: Client) -> str:
        """Looks after a connection: reads lists that have changed, asks for signs of life."""
        pace = Pace(LISTS_AGAIN_SECONDS, LISTS_AT_LEAST_SECONDS)
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

    async def _wait_for_news(self, client: Client) -> None:
        """Waits until there is something to do for a connection."""
        news = asyncio.ensure_future(self._news.wait())
        try:
            waits: set[asyncio.Future[Any]] = {news, client.link.ended}
            await asyncio.wait(waits, timeout=HEALTH, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()

    async def _read_again(self, client: Client) -> None:
        try:
            async with asyncio.timeout(self.config.timeout):
                await self._refresh(client)
        except TimeoutError:
            raise UpstreamDown(f"{self.config.name} did not say in time what has changed", hint=AGAIN) from None

    async def settle(self) -> Status:
        """Connects, and waits until it is known how that went."""
        if self.status.state == "connecting":
            self.start()
        began = time.monotonic()
        while self.status.state == "connecting":
            bound = self.config.connect_timeout + self._extended_by + SETTLED_WITHIN
            left = bound - (time.monotonic() - began)
            if left <= 0:
                reason = self._failure or f"it was not ready within {self.config.connect_timeout:g} s"
                return Status("failed", self._clean(reason), self.status.since, None)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._moved.wait()
        return self.status

    async def probe(self) -> float:
        """Makes a round trip. Returns the seconds it took.

        Raises:
            UpstreamDown: it is not there, or does not answer.
        """
        await self._check(await self.ready())
        return self.latency or 0.0

    async def _check(self, client: Client) -> None:
        """Asks for a sign of life.

        Raises:
            UpstreamDown: there was none.
        """
        began = time.perf_counter()
        try:
            async with asyncio.timeout(HEALTH_WITHIN):
                await client.ping()
        except TimeoutError:
            raise UpstreamDown(
                f"{self.config.name} gave no sign of life within {HEALTH_WITHIN:g} s", hint=AGAIN
            ) from None
        except RpcError:
            pass  # an answer all the same
        self.latency = time.perf_counter() - began
        if self.status.state == "degraded":
            self._failures = 0
            self._set("ready", "")

    async def follow(self, who: object, uris: frozenset[str]) -> None:
        """Has the server tell of changes to these resources, now and after every new connection, for `who`."""
        if uris == self._followed.get(who, frozenset()):
            return
        self._followed[who] = uris
        if self._client is not None:
            await self._follow(self._client)

    def unfollow(self, who: object) -> None:
        """Forgets what `who` wanted to hear of; the server is told with the next change to that."""
        self._followed.pop(who, None)

    async def _follow(self, client: Client) -> None:
        async with self._following:
            # One that does not answer is as one that has nothing to tell.
            with contextlib.suppress(TimeoutError, UpstreamError):
                async with asyncio.timeout(FOLLOW_WITHIN):
                    await client.follow(frozenset().union(*self._followed.values()))

    def _notice(self, method: str, params: Raw) -> None:
        """Takes note of a change that the server tells of."""
        if method == UPDATED:
            with contextlib.suppress(*UNREADABLE):
                self._notice_update(msgspec.json.decode(params, type=_Updated).uri)
            return
        what = method.removeprefix("notifications/").partition("/")[0]
        if method.endswith("/list_changed") and what in ("tools", "prompts", "resources"):
            self._changed.add(what)
            self._news.set()

    def _notice_update(self, uri: str) -> None:
        if len(uri) > bounds.MAX_URI_CHARACTERS or len(self._updates) >= bounds.MAX_UPDATES:
            return
        self._updates[uri] = None
        if self._announcing is None:
            self._announcing = asyncio.get_running_loop().call_later(UPDATES_TOGETHER_SECONDS, self._announce_updates)

    def _announce_updates(self) -> None:
        uris, self._updates, self._announcing = self._updates, {}, None
        for uri in uris:
            for updated in list(self.updated):
                updated(uri)

    async def _refresh(self, client: Client) -> None:
        """Reads the lists that have changed. Nobody is told if they turn out to be the same."""
        changed, self._changed = self._changed, set()
        before = self.offered, self.held_back
        until = asyncio.get_running_loop().time() + min(bounds.MAX_LIST_SECONDS, self.config.connect_timeout / 2)
        if "tools" in changed:
            entries = await self._read(client, "tools", until)
            if entries != before[0].tools:
                self.tools = tools_of(entries)
        if "prompts" in changed:
            self.prompts = await self._read(client, "prompts", until)
        if "resources" in changed:
            self.resources = await self._read(client, "resources", until)
            self.templates = await self._read(client, "templates", until)
        if (self.offered, self.held_back) != before:
            self._tell()

    async def _read(self, client: Client, kind: ListKind, until: float) -> tuple[Raw, ...]:
        listed = await _entries(client, kind, until=until)
        parsed = parse_entries(kind, listed.entries)
        self._held_back[kind] = (*listed.notes, *parsed.notes)
        return parsed.entries

    async def ready(self) -> Client:
        """The connection; waits a little for one that is just being made.

        Raises:
            UpstreamDown: there is none now, with what is known about it.
        """
        if self._client is not None and self._client.link.ended.done():
            self._lose()  # seen here before whoever watches it was told
        if self._client is not None and self.status.state == "ready":
            return self._client
        if self.status.state not in ("disabled", "awaiting_trust", "needs_login"):
            self.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(PATIENCE, self.config.connect_timeout)):
                while self._may_be_soon():
                    self._kick.set()
                    await self._moved.wait()
        if self._client is None or self.status.state != "ready":
            raise self.describe_down()
        return self._client

    def _may_be_soon(self) -> bool:
        """Whether to wait for a connection: it is being made, or was lost just now and never failed to come back."""
        return self.status.state == "connecting" or (self.status.state == "failed" and self._was_up)

    def describe_down(self) -> UpstreamDown:
        """Why it cannot be used now, and what to do about it."""
        state, reason, _, retry = self.status
        name = self.config.name
        hints: dict[str, Hint] = {
            "needs_login": steps.sign_in(name),
            "awaiting_trust": steps.trust(name),
            "disabled": steps.enable(name),
            "connecting": "it is on its way: call again in a moment",
        }
        soon = f"it is tried again in {max(0.0, retry - time.time()):.0f} s; " if retry else ""
        return UpstreamDown(
            f"{standing(name, state)}{f': {reason}' if reason else ''}",
            hint=hints.get(state, f"{soon}do without it for now"),
            details={"server": name, "state": state},
        )

    async def call(self, work: Callable[[Client], Awaitable[Result]], *, is_repeatable: bool) -> Result:
        """Uses the connection. What fails because the server died is done once more if that does no harm."""
        client = await self.ready()
        try:
            return await self._counted(work, client)
        except UpstreamDown:
            if not is_repeatable or not client.link.ended.done():
                raise
        return await self._counted(work, await self.ready())

    async def _counted(self, work: Callable[[Client], Awaitable[Result]], client: Client) -> Result:
        try:
            result = await work(client)
        except RpcError:
            self._failures = 0
            raise
        except (UpstreamError, TimedOut):
            self._failures += 1
            if self._failures >= FAILURES and self.status.state == "ready":
                self._set("degraded", f"{self._failures} calls in a row were not answered")
                self._news.set()
            raise
        self._failures = 0
        return result

    def _set(self, state: State, reason: str, *, retry_in: float | None = None) -> None:
        now = time.time()
        since = self.status.since if state == self.status.state else now
        self.status = Status(state, self._clean(reason), since, now + retry_in if retry_in is not None else None)
        self._moved.set()
        self._moved = asyncio.Event()
        self._tell()

    def _tell(self) -> None:
        for heard in list(self.heard):
            heard()

    async def close(self) -> None:
        """Ends the connection and what is behind it."""
        if self._announcing is not None:
            self._announcing.cancel()
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)


def standing(name: str, state: str) -> str:
    """How a server stands, as a sentence."""
    words = {"failed": "is down", "needs_login": "wants a login", "awaiting_trust": "is not trusted"}
    return f"{name} {words.get(state, f'is {state}')}"


async def _entries(client: Client, kind: ListKind, *, until: float) -> Listed:
    """A list of the server; nothing, if it has none of that kind."""
    if ("resources" if kind == "templates" else kind) not in client.capabilities:
        return Listed(())
    method = LISTS[kind][0]
    try:
        return await client.entries(kind, until=until)
    except RpcError as error:
        if error.code == METHOD_NOT_FOUND:
            return Listed(())
        raise UpstreamError(
            f"{client.name} answered {method} with an error: {error.message}", hint="its log may say more"
        ) from error
    except UNREADABLE as error:
        raise UpstreamError(
            f"{client.name} answered {method} with nonsense: {error}", hint="is it an MCP server? its log may say more"
        ) from error


def tools_of(entries: Iterable[Raw]) -> tuple[Tool, ...]:
    """Those of the entries of a list that describe a tool."""
    found: list[Tool] = []
    for entry in entries:
        try:
            known = msgspec.json.decode(entry, type=_Entry)
        except UNREADABLE:
            continue
        hints = known.annotations or _Hints()
        found.append(Tool(known.name, entry, hints.read_only or hints.idempotent))
    return tuple(found)
