"""Speaks MCP with one server, in the era that it supports.

`negotiation` agrees on a version; `change_stream` subscribes to changes.
"""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from binnacle.errors import UpstreamError
from binnacle.upstream import server_bounds
from binnacle.upstream.change_stream import ChangeStream
from binnacle.upstream.negotiation import CAPABILITIES, CLIENT_INFO, negotiate
from binnacle.upstream.server_bounds import ListedEntries, ListKind, PagedList
from binnacle.upstream.transports.transport import OutgoingRequest, Receive, Transport, normalize_id
from binnacle.wire import jsonrpc
from binnacle.wire.hidden_text import make_readable
from binnacle.wire.jsonrpc import METHOD_NOT_FOUND, UNREADABLE, Message, Notification, Request, Response, RpcError
from binnacle.wire.mcp import CAPABILITIES_KEY, NAMED, PREFIX, VERSION_KEY, Era

LIST_METHODS: dict[ListKind, tuple[str, str]] = {
    "tools": ("tools/list", "tools"),
    "prompts": ("prompts/list", "prompts"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
}
"""The method that returns each list, and the key of its entries."""

AnswerRequest = Callable[[str, Raw], Awaitable[Any]]
"""Answers a request of the server: its method and parameters."""


class CallHandlers(NamedTuple):
    """How a server reaches the caller during a call."""

    on_progress: Callable[[Raw], None] | None = None
    asked: AnswerRequest | None = None


NO_HANDLERS = CallHandlers()


class _Error(Struct):
    code: int = jsonrpc.INTERNAL_ERROR
    message: str = ""
    data: Raw = Raw(b"null")


class _Progress(Struct):
    token: Raw = msgspec.field(name="progressToken", default=Raw(b"null"))


class McpClient:
    """One connection. Make it, `connect`, then `ask`; closing the transport ends it."""

    def __init__(
        self, make_transport: Callable[[Receive], Transport], *, name: str, on_change: Callable[[str, Raw], None]
    ) -> None:
        """`on_change` is called with the method and the parameters of the server's notifications."""
        self.link = make_transport(self._receive)
        self.name = name
        self.era: Era = "handshake"
        self.capabilities: dict[str, Any] = {}
        self.server: dict[str, str] = {}
        """How it describes itself: name, title and version."""

        self._on_change = on_change
        self._numbers = count(1)
        self._waiting: dict[bytes, CallHandlers] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._changes = ChangeStream(self, on_change)

    async def connect(self, protocol: Literal["auto", "handshake", "stateless"]) -> None:
        """Agrees on a version: the newest both know.

        Raises:
            UpstreamError: there is none, or the server's answer makes no sense.
        """
        agreed = await negotiate(self, protocol)
        self.speak(agreed.era, agreed.version)
        self.capabilities, self.server = agreed.capabilities, agreed.server
        if agreed.era == "handshake":
            await self.link.tell(jsonrpc.notification_message("notifications/initialized", {}))
        else:
            await self._changes.open()

    def speak(self, era: Era, version: str) -> None:
        """Sends what follows in this version."""
        self.era, self.link.version = era, version

    async def follow(self, uris: frozenset[str]) -> None:
        """Subscribes to exactly these resources, if the server supports that."""
        await self._changes.follow(uris)

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        waiting: CallHandlers = NO_HANDLERS,
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Raw:
        """Sends a request. Returns the result unchanged.

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
        """Like `ask`, but returns the complete answer. Errors are raised."""
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
        """A list with all its pages, within the bounds. After `until`, by the loop's clock, no further page is read."""
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
        """Handles what the server sends without being asked."""
        match message:
            case Notification("notifications/progress", params):
                self._progress(Raw(params))
            case Notification("notifications/cancelled"):
                pass  # cancels a question that was passed on; that ends by its timeout
            case Notification("notifications/subscriptions/acknowledged"):
                self._changes.acknowledge()
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
        """Answers a request of the server, through the call it belongs to."""
        asked = self._find_handlers(request_id)
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
        with contextlib.suppress(UpstreamError):  # the server no longer waits
            await self.link.tell(answer)

    def _find_handlers(self, request_id: bytes) -> AnswerRequest | None:
        """The handlers of the call that a request belongs to; if unknown, of the newest call that can answer."""
        if request_id:
            found = self._waiting.get(request_id)
            return found.asked if found else None
        return next((one.asked for one in reversed(self._waiting.values()) if one.asked), None)

    async def close(self) -> None:
        """Ends the connection and what waits for it."""
        self._changes.close()
        for task in self._answering:
            task.cancel()
        await self.link.close()


def _error_of(answer: Response) -> RpcError:
    """A server's error with readable text, and its data if that is small."""
    raw = answer.error or b"{}"
    try:
        error = msgspec.json.decode(raw, type=_Error)
        is_small = memoryview(error.data).nbytes <= server_bounds.MAX_ERROR_DATA_BYTES
        data = msgspec.json.decode(error.data) if is_small else None
    except UNREADABLE:
        return RpcError(jsonrpc.INTERNAL_ERROR, make_readable(raw[:2000].decode(errors="replace"), 500))
    return RpcError(error.code, make_readable(error.message, server_bounds.MAX_ERROR_CHARACTERS), data)
