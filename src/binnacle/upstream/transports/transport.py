"""The protocol of all transports, and what the ones with a stream in each direction have in common."""

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Raw

from binnacle.errors import BinnacleError, UpstreamDown, UpstreamError
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import NO_ID, Invalid, Message, Notification, Request, Response
from binnacle.wire.pending import PendingRequests

Receive = Callable[[Message, bytes], None]
"""Takes a message of the server, and the id of the request it belongs to; empty if unknown."""


RECONNECT_HINT = "it is connected to again by itself; call once more, unless doing so twice would do harm"
"""What to do about a server that was lost."""


_ID = re.compile(rb'^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d+)\s*,')
"""The id at the beginning of an answer, where nearly every server writes it."""

_NUMBERS = re.compile(rb'("(?:[^"\\]|\\.)*")|-?\b(?:NaN|Infinity)\b')
"""Numbers that some servers write and JSON does not have; also matches strings, to skip such words in them."""

MAX_PENDING_REQUESTS = 100_000
"""Unanswered requests to one server. Its gate allows far fewer, unless its owner removed that limit."""

BEGINNING_BYTES = 200
"""Bytes of a message in which the id is searched for."""


class OutgoingRequest(NamedTuple):
    """A request of ours."""

    id: bytes
    message: bytes
    method: str
    name: str = ""
    """The tool, prompt or resource, which HTTP of the stateless era repeats in a header."""

    headers: tuple[tuple[str, str], ...] = ()
    """Further headers for HTTP of the stateless era: arguments marked in the tool's schema."""


class Transport(Protocol):
    """Carries messages to a server and back, and knows nothing of MCP. The caller of `open` closes it."""

    ended: asyncio.Future[str]
    """Done when the connection is lost or closed, with the reason."""

    version: str
    """The negotiated protocol version, which HTTP sends in a header. The client sets it."""

    async def open(self) -> None:
        """Connects.

        Raises:
            UpstreamDown: that failed; the message says why.
        """

    async def ask(self, request: OutgoingRequest) -> Response:
        """Sends a request and waits for its answer. Cancelling it tells the server.

        Raises:
            UpstreamDown: the connection is gone.
        """

    async def tell(self, message: bytes) -> None:
        """Sends a notification, or an answer to the server's request."""

    def has_worked(self) -> bool:
        """Whether a local process that is not ready yet has worked since the last call."""

    async def close(self) -> None:
        """Ends the connection and its local process, within a bound. Never raises."""


class DuplexTransport:
    """Matches answers with requests where each direction is one stream: pipes, sockets, events."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._pending: PendingRequests[bytes, Response] = PendingRequests(max_pending=MAX_PENDING_REQUESTS)
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.version = ""

    async def _send(self, message: bytes) -> None:
        raise NotImplementedError

    async def ask(self, request: OutgoingRequest) -> Response:
        if self.ended.done():
            raise UpstreamDown(self.ended.result(), hint=RECONNECT_HINT)
        answer = self._pending.add(request.id)
        try:
            await self._send(request.message)
            return await answer
        except asyncio.CancelledError:
            await self._cancel(cancel_message(request.id))
            raise
        finally:
            answer.cancel()  # forgets it if sending failed

    async def _cancel(self, message: bytes) -> None:
        """Tells the server that a request is cancelled. The cancelled caller waits for this, so it must be quick."""
        with contextlib.suppress(BinnacleError):
            await self._send(message)

    def has_worked(self) -> bool:
        return False  # no local process

    async def tell(self, message: bytes) -> None:
        if self.ended.done():
            raise UpstreamDown(self.ended.result(), hint=RECONNECT_HINT)
        await self._send(message)

    def _deliver(self, data: bytes) -> bool:
        """Passes on a message. Returns whether `data` was one."""
        for message in parse_messages(data):
            match message:
                case Response(request_id):
                    self._pending.resolve(normalize_id(request_id), message)
                case Request() | Notification():
                    self._receive(message, b"")
                case Invalid(request_id):
                    if request_id == NO_ID:
                        return False
        return True

    def _refuse(self, beginning: bytes, why: str) -> bool:
        """Fails the request whose answer begins like this and cannot be read. False if it is not an answer."""
        found = _ID.match(beginning[:BEGINNING_BYTES])
        if found is None:
            return False
        self._pending.fail(found[1], UpstreamError(why, hint="ask it for less; its operator has to look into it"))
        return True

    def _end(self, why: str) -> None:
        """Fails every waiting request, because the connection is gone."""
        if not self.ended.done():
            self.ended.set_result(why)
        self._pending.close(lambda: UpstreamDown(why, hint=RECONNECT_HINT))


def cancel_message(request_id: bytes) -> bytes:
    """The notification that cancels a request."""
    params = {"requestId": Raw(request_id), "reason": "the caller no longer waits"}
    return jsonrpc.notification_message("notifications/cancelled", params)


def normalize_id(found: bytes) -> bytes:
    """The id of our request, a whole number: some servers send 5 back as "5" or 5.0."""
    if found.isdigit():
        return found
    try:
        value = msgspec.json.decode(found)
    except jsonrpc.UNREADABLE:
        return found
    if isinstance(value, str) and value.isdecimal():
        return value.encode()
    return str(int(value)).encode() if isinstance(value, float) and value.is_integer() else found


def parse_messages(data: bytes) -> list[Message]:
    """The messages in what a server sent; bytes that are no text, and numbers that JSON does not have, are replaced."""
    found = jsonrpc.parse(data)
    if isinstance(found, Invalid) and not data.isascii():
        found = jsonrpc.parse(data.decode(errors="replace").encode())
    if isinstance(found, Invalid) and (b"NaN" in data or b"Infinity" in data):
        repaired = jsonrpc.parse(_NUMBERS.sub(lambda one: one[1] or b"null", data))
        found = repaired._replace(is_repaired=True) if isinstance(repaired, Response) else found
    return found if isinstance(found, list) else [found]
