"""Speaks MCP with one server, in whichever era it knows."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from binnacle import __version__
from binnacle.errors import UpstreamDown, UpstreamError
from binnacle.upstream import server_bounds
from binnacle.upstream.server_bounds import ListedEntries, ListKind, PagedList
from binnacle.upstream.transports.transport import OutgoingRequest, Receive, Transport, normalize_id
from binnacle.wire import jsonrpc
from binnacle.wire.hidden_text import make_readable
from binnacle.wire.jsonrpc import METHOD_NOT_FOUND, UNREADABLE, Message, Notification, Request, Response, RpcError
from binnacle.wire.mcp import (
    CAPABILITIES_KEY,
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    NAMED,
    PREFIX,
    STATELESS_VERSIONS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    Era,
)

CLIENT_INFO = {"name": "binnacle", "title": "Binnacle", "version": __version__}
CAPABILITIES: dict[str, Any] = {"elicitation": {}}
"""What we can do for a server: pass its questions on to a client that can show them."""

LATEST_STATELESS = STATELESS_VERSIONS[-1]
SECOND_TRY_SECONDS = 1.5
"""Seconds without an answer to a question of the new era, after which the old handshake is tried beside it."""

FIRST_LISTEN_PAUSE_SECONDS, MAX_LISTEN_PAUSE_SECONDS = 1.0, 60.0
"""Seconds until a lost stream of changes is opened again, at first and at most."""

ACKNOWLEDGED_WITHIN_SECONDS = 5.0
"""Seconds until a server must have said which changes it will tell of."""

FIRST_ACKNOWLEDGED_SECONDS = 0.5
"""Seconds that a new connection waits for that."""

LIST_METHODS: dict[ListKind, tuple[str, str]] = {
    "tools": ("tools/list", "tools"),
    "prompts": ("prompts/list", "prompts"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
}
"""How each list is asked for, and under which key its entries are."""

RESOURCE_UPDATED = "notifications/resources/updated"

AnswerRequest = Callable[[str, Raw], Awaitable[Any]]
"""Answers a request of the server: its method and parameters."""


class CallHandlers(NamedTuple):
    """What the server of a call under way may want of its caller."""

    on_progress: Callable[[Raw], None] | None = None
    asked: AnswerRequest | None = None


NO_HANDLERS = CallHandlers()


class _Error(Struct):
    code: int = jsonrpc.INTERNAL_ERROR
    message: str = ""
    data: Raw = Raw(b"null")


class _Progress(Struct):
    token: Raw = msgspec.field(name="progressToken", default=Raw(b"null"))


class _Discovered(Struct):
    versions: list[str] = msgspec.field(name="supportedVersions", default_factory=list)
    capabilities: Raw = Raw(b"{}")


class _Initialized(Struct):
    version: str = msgspec.field(name="protocolVersion", default="")
    capabilities: Raw = Raw(b"{}")
    server: Raw = msgspec.field(name="serverInfo", default=Raw(b"{}"))


class McpClient:
    """One connection. Make it, `connect`, and ask; closing the transport ends it."""

    def __init__(
        self, make_transport: Callable[[Receive], Transport], *, name: str, on_change: Callable[[str, Raw], None]
    ) -> None:
        """`on_change` hears of what the server notifies about on its own: the method, the parameters."""
        self.link = make_transport(self._receive)
        self.name = name
        self.era: Era = "handshake"
        self.capabilities: dict[str, Any] = {}
        self.server: dict[str, str] = {}
        """What it says of itself: name, title and version."""

        self._on_change = on_change
        self._numbers = count(1)
        self._waiting: dict[bytes, CallHandlers] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._acknowledged = asyncio.Event()
        self._followed: frozenset[str] = frozenset()

    async def connect(self, protocol: Literal["auto", "handshake", "stateless"]) -> None:
        """Agrees on a version: the newest both know.

        Raises:
            UpstreamError: there is none, or the server answers nonsense.
        """
        try:
            if protocol == "handshake":
                await self._initialize()
            elif protocol == "stateless":
                self._adopt(await self._discover(LATEST_STATELESS))
            else:
                await self._negotiate()
        except RpcError as error:
            raise UpstreamError(f"{self.name} refused to connect: {error.message}", hint="see its log") from error
        except UNREADABLE as error:
            raise UpstreamError(f"{self.name} answered nonsense: {error}", hint="is it an MCP server?") from error
        if self.era == "stateless":
            self._listening = asyncio.get_running_loop().create_task(self._listen(()))
            await self._wait_to_be_heard(self._listening)

    async def _wait_to_be_heard(self, listening: "asyncio.Task[None]") -> None:
        """Waits a moment until the server tells of changes, so that none is missed from the first list on."""
        acknowledged = asyncio.ensure_future(self._acknowledged.wait())
        try:
            await asyncio.wait(
                {acknowledged, listening}, timeout=FIRST_ACKNOWLEDGED_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            acknowledged.cancel()

    async def _negotiate(self) -> None:
        """Asks in the new era first; what is no sign of it leads to the handshake, as does silence."""
        discovering = asyncio.ensure_future(self._discover(LATEST_STATELESS))
        try:
            await asyncio.wait({discovering}, timeout=SECOND_TRY_SECONDS)
            if not discovering.done():
                await self._both(discovering)
                return
            try:
                found = discovering.result()
            except RpcError as error:
                if error.code == UNSUPPORTED_VERSION and not _knows_handshake(error.data):
                    raise
            except UpstreamDown:
                if self.link.ended.done():
                    raise
            except UNREADABLE:
                pass
            else:
                if any(version in STATELESS_VERSIONS for version in found.versions):
                    self._adopt(found)
                    return
            await self._initialize()
        finally:
            discovering.cancel()

    async def _both(self, discovering: "asyncio.Future[_Discovered]") -> None:
        """A server that starts slowly, or does not answer what it does not know: whichever comes first counts."""
        initializing = asyncio.ensure_future(self._initialize())
        try:
            both: set[asyncio.Future[Any]] = {discovering, initializing}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if discovering.done() and not discovering.exception():
                self._adopt(discovering.result())
            else:
                await initializing
        finally:
            initializing.cancel()

    async def _discover(self, version: str) -> _Discovered:
        self.era, self.link.version = "stateless", version
        return msgspec.json.decode(await self.ask("server/discover", {}), type=_Discovered)

    def _adopt(self, found: _Discovered) -> None:
        version = next((one for one in reversed(STATELESS_VERSIONS) if one in found.versions), None)
        if version is None:
            spoken = make_readable(", ".join(found.versions[:10]), 200)
            raise UpstreamError(
                f"{self.name} speaks {spoken}; we speak {LATEST_STATELESS}", hint="update the older of the two"
            )
        self.era, self.link.version = "stateless", version
        self.capabilities = _capabilities_in(found.capabilities)

    async def _initialize(self) -> None:
        self.era, self.link.version = "handshake", ""
        params = {"protocolVersion": LATEST_HANDSHAKE, "capabilities": CAPABILITIES, "clientInfo": CLIENT_INFO}
        answer = await self.ask("initialize", params)
        found = msgspec.json.decode(answer, type=_Initialized)
        if found.version not in HANDSHAKE_VERSIONS:
            raise UpstreamError(
                f"{self.name} speaks version {found.version[:40]!r}, which nobody here knows",
                hint="update the older of the two",
            )
        self.era, self.link.version = "handshake", found.version
        self.capabilities, self.server = _capabilities_in(found.capabilities), _server_in(found.server)
        await self.link.tell(jsonrpc.notification_message("notifications/initialized", {}))

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        waiting: CallHandlers = NO_HANDLERS,
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Raw:
        """Asks the server something; the result as it came.

        Raises:
            RpcError: the server's error.
            UpstreamDown: it is gone.
        """
        return Raw((await self.exchange(method, params, waiting, headers=headers)).result or b"{}")

    async def exchange(
        self,
        method: str,
        params: Mapping[str, Any],
        waiting: CallHandlers = NO_HANDLERS,
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Response:
        """The same, with all that is known of the answer. It is no error: those are raised."""
        number = next(self._numbers)
        request_id = str(number).encode()
        message = jsonrpc.request_message(number, method, self._with_meta(params, number, waiting))
        self._waiting[request_id] = waiting
        try:
            name = params.get(NAMED.get(method, ""), "")
            answer = await self.link.ask(OutgoingRequest(request_id, message, method, name, headers))
        finally:
            del self._waiting[request_id]
        if answer.error is not None:
            raise _error_of(answer)
        return answer

    def _with_meta(self, params: Mapping[str, Any], number: int, waiting: CallHandlers) -> Mapping[str, Any]:
        meta: dict[str, Any] = dict(params.get("_meta") or {})
        if waiting.on_progress is not None:
            meta["progressToken"] = number
        if self.era == "stateless":
            meta |= {
                VERSION_KEY: self.link.version,
                CAPABILITIES_KEY: CAPABILITIES if waiting.asked else {},
                f"{PREFIX}clientInfo": CLIENT_INFO,
            }
        return {**params, "_meta": meta} if meta else params

    async def entries(self, kind: ListKind, *, until: float = math.inf) -> ListedEntries:
        """A list over all its pages, within its bounds. After `until`, by the loop's clock, no further page is read."""
        method, key = LIST_METHODS[kind]
        pages = PagedList(kind)
        cursor = pages.add(await self.ask(method, {}), key)
        while cursor is not None:
            if asyncio.get_running_loop().time() > until:
                pages.take_too_long()
                break
            cursor = pages.add(await self.ask(method, {"cursor": cursor}), key)
        return pages.listed

    async def ping(self) -> None:
        """Asks for a sign of life."""
        await self.ask("ping" if self.era == "handshake" else "server/discover", {})

    def _receive(self, message: Message, request_id: bytes) -> None:
        """Takes what the server sends on its own."""
        match message:
            case Notification("notifications/progress", params):
                self._progress(Raw(params))
            case Notification("notifications/cancelled"):
                pass  # of a question that was passed on: it runs into its bound
            case Notification("notifications/subscriptions/acknowledged"):
                self._acknowledged.set()
            case Notification(method, params):
                self._on_change(method, Raw(params))
            case Request() if len(self._answering) < server_bounds.MAX_OPEN_REQUESTS:
                task = asyncio.get_running_loop().create_task(self._answer(message, request_id))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)

    def _progress(self, params: Raw) -> None:
        try:
            token = normalize_id(bytes(msgspec.json.decode(params, type=_Progress).token))
        except UNREADABLE:
            return
        waiting = self._waiting.get(token)
        if waiting is not None and waiting.on_progress is not None:
            waiting.on_progress(params)

    async def _answer(self, request: Request, request_id: bytes) -> None:
        """Answers a request of the server, in the name of the call it belongs to."""
        asked = self._asked(request_id)
        try:
            if request.method == "ping":
                answer = jsonrpc.result_message(request.id, b"{}")
            elif asked is None:
                text = f"nobody here can be asked {request.method}"
                answer = jsonrpc.error_message(request.id, METHOD_NOT_FOUND, text)
            else:
                said = await asked(request.method, Raw(request.params))
                answer = jsonrpc.result_message(request.id, jsonrpc.encode(said))
        except RpcError as error:
            answer = jsonrpc.error_message(request.id, error.code, error.message, error.data)
        with contextlib.suppress(UpstreamError):  # it no longer wants to know
            await self.link.tell(answer)

    def _asked(self, request_id: bytes) -> AnswerRequest | None:
        """Who answers for the call a request belongs to; where that is not said, for the newest that can."""
        if request_id:
            found = self._waiting.get(request_id)
            return found.asked if found else None
        return next((one.asked for one in reversed(self._waiting.values()) if one.asked), None)

    def _can(self, what: str, how: str) -> bool:
        capability = self.capabilities.get(what)
        return isinstance(capability, dict) and bool(capability.get(how))

    async def follow(self, uris: frozenset[str]) -> None:
        """Makes the server tell of changes to exactly these resources, if it tells of any."""
        if uris == self._followed or not self._can("resources", "subscribe"):
            return
        if self.era == "stateless":
            await self._replace_listening(uris)
        else:
            changes = {"resources/subscribe": uris - self._followed, "resources/unsubscribe": self._followed - uris}
            for method, some in changes.items():
                for uri in sorted(some):
                    with contextlib.suppress(RpcError):  # it does not tell of this one
                        await self.ask(method, {"uri": uri})
        self._followed = uris

    async def _replace_listening(self, uris: frozenset[str]) -> None:
        """Opens another stream of changes, and ends the one before when nothing can be lost any more."""
        before, self._acknowledged = self._listening, asyncio.Event()
        self._listening = asyncio.get_running_loop().create_task(self._listen(sorted(uris)))
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ACKNOWLEDGED_WITHIN_SECONDS):
                    await self._acknowledged.wait()
        finally:
            if before is not None:
                before.cancel()

    async def _listen(self, uris: Sequence[str]) -> None:
        """Hears of changes in the new era; a server that has none to tell refuses, and that is that."""
        lists = [what for what in ("tools", "prompts", "resources") if self._can(what, "listChanged")]
        wanted: dict[str, Any] = {f"{what}ListChanged": True for what in lists}
        wanted |= {"resourceSubscriptions": uris} if uris else {}
        pause = FIRST_LISTEN_PAUSE_SECONDS
        while wanted:
            began = asyncio.get_running_loop().time()
            try:
                await self.ask("subscriptions/listen", {"notifications": wanted})
            except RpcError:
                return
            except UpstreamError:
                if self.link.ended.done():
                    return
            # The stream was lost, and with it perhaps a change.
            lasted = asyncio.get_running_loop().time() - began
            pause = FIRST_LISTEN_PAUSE_SECONDS if lasted > pause else min(pause * 2, MAX_LISTEN_PAUSE_SECONDS)
            await asyncio.sleep(pause)
            for what in lists:
                self._on_change(f"notifications/{what}/list_changed", Raw(b"{}"))
            for uri in uris:
                self._on_change(RESOURCE_UPDATED, Raw(jsonrpc.encode({"uri": uri})))

    async def close(self) -> None:
        """Ends the connection and what waits for it."""
        for task in (*self._answering, *([self._listening] if self._listening else ())):
            task.cancel()
        await self.link.close()


def _error_of(answer: Response) -> RpcError:
    """A server's error in words that may be read, and what it adds to them if that is little."""
    raw = answer.error or b"{}"
    try:
        error = msgspec.json.decode(raw, type=_Error)
        is_small = memoryview(error.data).nbytes <= server_bounds.MAX_ERROR_DATA_BYTES
        data = msgspec.json.decode(error.data) if is_small else None
    except UNREADABLE:
        return RpcError(jsonrpc.INTERNAL_ERROR, make_readable(raw[:2000].decode(errors="replace"), 500))
    return RpcError(error.code, make_readable(error.message, server_bounds.MAX_ERROR_CHARACTERS), data)


def _capabilities_in(raw: Raw) -> dict[str, Any]:
    """What a server can do; nothing, where it says so in too many words."""
    if memoryview(raw).nbytes > server_bounds.MAX_HELLO_BYTES:
        return {}
    return msgspec.json.decode(raw, type=dict[str, Any])


def _server_in(raw: Raw) -> dict[str, str]:
    """What a server says of itself, short and readable."""
    try:
        found = msgspec.json.decode(raw, type=dict[str, Raw])
        said = {key: msgspec.json.decode(found[key]) for key in ("name", "title", "version") if key in found}
    except UNREADABLE:
        return {}
    return {key: make_readable(text, 200) for key, text in said.items() if isinstance(text, str)}


def _knows_handshake(data: Any) -> bool:
    supported = data.get("supported", ()) if isinstance(data, dict) else ()
    return not supported or any(version in HANDSHAKE_VERSIONS for version in supported)
