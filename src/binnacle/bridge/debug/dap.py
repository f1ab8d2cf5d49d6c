"""The Debug Adapter Protocol over a socket: requests and their answers, events, requests of the adapter."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from binnacle.wire.framing import ContentLengthDecoder, FramingError, encode_content_length
from binnacle.wire.pending import PendingRequests, TooManyPending

MAX_MESSAGE_BYTES = 64 << 20
"""Bytes of one message. We disconnect from an adapter that sends more."""

MAX_PENDING_REQUESTS = 10_000
"""Requests that may wait for an adapter's answer. Agents make far fewer calls."""


class AdapterRefused(Exception):
    """The adapter refused a request."""

    def __init__(self, command: str, message: str) -> None:
        super().__init__(f"{command}: {message}")
        self.command = command
        self.message = message


class AdapterGone(Exception):
    """The connection ended before the answer."""


class DapMessage(Struct):
    """A message of an adapter."""

    type: str
    seq: int = 0
    command: str = ""
    event: str = ""
    request_seq: int = 0
    success: bool = True
    message: str | None = None
    body: Any = None
    arguments: Any = None


OnEvent = Callable[[str, dict[str, Any]], None]
OnRequest = Callable[[str, dict[str, Any]], bool]
"""Handles a request of the adapter. Returns whether it is accepted."""

_decoder = msgspec.json.Decoder(DapMessage)


class DapConnection(asyncio.Protocol):
    """One connection to an adapter. Closing or losing it fails every open request."""

    def __init__(self, on_event: OnEvent, on_request: OnRequest) -> None:
        self._on_event = on_event
        self._on_request = on_request
        self._transport: asyncio.Transport | None = None
        self._decoder = ContentLengthDecoder(max_body_bytes=MAX_MESSAGE_BYTES)
        self._last_seq = 0
        self._pending: PendingRequests[int, DapMessage] = PendingRequests(max_pending=MAX_PENDING_REQUESTS)
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def over(cls, sock: socket.socket, on_event: OnEvent, on_request: OnRequest) -> "DapConnection":
        """A connection over a connected socket, which it closes."""
        loop = asyncio.get_running_loop()
        _, dap = await loop.create_unix_connection(lambda: cls(on_event, on_request), sock=sock)
        return dap

    @classmethod
    async def connect(cls, host: str, port: int, on_event: OnEvent, on_request: OnRequest) -> "DapConnection":
        """Connects to an adapter that listens.

        Raises:
            OSError: nothing listens.
        """
        loop = asyncio.get_running_loop()
        _, dap = await loop.create_connection(lambda: cls(on_event, on_request), host, port)
        return dap

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        try:
            for body in self._decoder.feed(data):
                self._hear(_decoder.decode(body))
        except (FramingError, msgspec.DecodeError):
            # The stream cannot be split into messages any more.
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self.closed.done():
            self.closed.set_result(None)
        self._pending.close(lambda: AdapterGone("the connection ended"))

    def post(self, command: str, arguments: Mapping[str, Any] | None = None) -> asyncio.Future[DapMessage]:
        """Sends a request. The caller need not wait for the answer, which is `AdapterGone` when the connection ends.

        Raises:
            AdapterRefused: too many others wait already.
        """
        try:
            answer = self._pending.add(self._last_seq + 1)
        except TooManyPending as error:
            raise AdapterRefused(command, str(error)) from error
        if not answer.done():
            self._send({"type": "request", "command": command, "arguments": arguments or {}})
        return answer

    async def request(
        self, command: str, arguments: Mapping[str, Any] | None = None, *, timeout: float
    ) -> dict[str, Any]:
        """Sends a request and waits for the body of its answer.

        Raises:
            AdapterRefused: with the adapter's reason.
            AdapterGone: the connection ended.
            TimeoutError: no answer came. A later one is ignored.
        """
        async with asyncio.timeout(timeout):
            return body_of(command, await self.post(command, arguments))

    def close(self) -> None:
        """Ends the connection; open requests fail soon after."""
        if self._transport is not None:
            self._transport.abort()

    def _send(self, message: dict[str, Any]) -> None:
        self._last_seq += 1
        body = msgspec.json.encode(message | {"seq": self._last_seq})
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encode_content_length(body))

    def _hear(self, message: DapMessage) -> None:
        match message.type:
            case "response":
                self._pending.resolve(message.request_seq, message)
            case "event":
                self._on_event(message.event, _object(message.body))
            case "request":
                # Answered at once: an adapter may block until it is.
                will_do = self._on_request(message.command, _object(message.arguments))
                answer = {"type": "response", "request_seq": message.seq, "command": message.command, "body": {}}
                self._send(answer | ({"success": True} if will_do else {"success": False, "message": "notSupported"}))


def body_of(command: str, reply: DapMessage) -> dict[str, Any]:
    """The body of an answer.

    Raises:
        AdapterRefused: it is a refusal.
    """
    body = _object(reply.body)
    if not reply.success:
        raise AdapterRefused(command, _reason(reply, body))
    return body


def _reason(reply: DapMessage, body: dict[str, Any]) -> str:
    error = _object(body.get("error"))
    text = str(error.get("format") or reply.message or "the adapter gave no reason")
    for name, value in _object(error.get("variables")).items():
        text = text.replace("{" + name + "}", str(value))
    return text


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


async def connect_patiently(
    host: str, port: int, on_event: OnEvent, on_request: OnRequest, *, ended: asyncio.Future[Any], timeout: float
) -> DapConnection:
    """Connects to an adapter that is starting.

    Raises:
        OSError: it does not listen in time, or has ended.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    while True:
        with contextlib.suppress(OSError):
            return await DapConnection.connect(host, port, on_event, on_request)
        await asyncio.wait([ended], timeout=0.03)
        if ended.done() or loop.time() > deadline:
            raise OSError(f"nothing listens on {host}:{port}")
