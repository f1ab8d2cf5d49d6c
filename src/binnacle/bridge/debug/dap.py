"""The Debug Adapter Protocol over a socket: requests and their answers, events, requests of the adapter."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

MESSAGE_LIMIT = 64 << 20
"""Bytes of one message. An adapter that sends more is given up."""

HEAD_LIMIT = 4096
"""Bytes of what stands before a message."""


class Refused(Exception):
    """A request that was answered with no."""

    def __init__(self, command: str, message: str) -> None:
        super().__init__(f"{command}: {message}")
        self.command = command
        self.message = message


class Gone(Exception):
    """The connection ended before an answer came."""


class Message(Struct):
    """Anything that comes from an adapter."""

    type: str
    seq: int = 0
    command: str = ""
    event: str = ""
    request_seq: int = 0
    success: bool = True
    message: str | None = None
    body: Any = None
    arguments: Any = None


Reply = Message | None
"""An answer, or nothing when the connection ended."""

OnEvent = Callable[[str, dict[str, Any]], None]
OnRequest = Callable[[str, dict[str, Any]], bool]
"""Takes a request of the adapter; says whether it will be done."""

_decoder = msgspec.json.Decoder(Message)


class Dap(asyncio.Protocol):
    """One connection to an adapter. Closing it, or losing it, answers every request that is open."""

    def __init__(self, on_event: OnEvent, on_request: OnRequest) -> None:
        self._on_event = on_event
        self._on_request = on_request
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._last = 0
        self._open: dict[int, asyncio.Future[Reply]] = {}
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def over(cls, sock: socket.socket, on_event: OnEvent, on_request: OnRequest) -> "Dap":
        """Speaks over a socket that is connected, and closes it in the end."""
        loop = asyncio.get_running_loop()
        _, dap = await loop.create_unix_connection(lambda: cls(on_event, on_request), sock=sock)
        return dap

    @classmethod
    async def connect(cls, host: str, port: int, on_event: OnEvent, on_request: OnRequest) -> "Dap":
        """Connects to an adapter that listens.

        Raises:
            OSError: nobody does.
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
        self._buffer += data
        try:
            while (body := self._next()) is not None:
                self._hear(_decoder.decode(body))
        except (ValueError, msgspec.DecodeError):
            # What follows cannot be told apart any more.
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self.closed.done():
            self.closed.set_result(None)
        while self._open:
            _, future = self._open.popitem()
            if not future.done():
                future.set_result(None)

    def post(self, command: str, arguments: Mapping[str, Any] | None = None) -> asyncio.Future[Reply]:
        """Sends a request. The answer need not be waited for."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if self.closed.done():
            future.set_result(None)
            return future
        number = self._send({"type": "request", "command": command, "arguments": arguments or {}})
        self._open[number] = future
        return future

    async def request(
        self, command: str, arguments: Mapping[str, Any] | None = None, *, timeout: float
    ) -> dict[str, Any]:
        """Sends a request and waits for the body of its answer.

        Raises:
            Refused: with the adapter's reason.
            Gone: the connection ended.
            TimeoutError: no answer came. It may still come, and is passed over then.
        """
        future = self.post(command, arguments)
        await asyncio.wait([future], timeout=timeout)
        if not future.done():
            raise TimeoutError
        return body_of(command, future.result())

    def close(self) -> None:
        """Ends the connection; what is open is answered soon after."""
        if self._transport is not None:
            self._transport.abort()

    def _send(self, message: dict[str, Any]) -> int:
        self._last += 1
        body = msgspec.json.encode(message | {"seq": self._last})
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return self._last

    def _next(self) -> bytes | None:
        """Takes the next whole message off the buffer."""
        if (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEAD_LIMIT:
                raise ValueError("no message begins here")
            return None
        size = _length(bytes(self._buffer[:end]))
        start = end + 4
        if len(self._buffer) < start + size:
            return None
        body = bytes(self._buffer[start : start + size])
        del self._buffer[: start + size]
        return body

    def _hear(self, message: Message) -> None:
        match message.type:
            case "response":
                future = self._open.pop(message.request_seq, None)
                if future is not None and not future.done():
                    future.set_result(message)
            case "event":
                self._on_event(message.event, _object(message.body))
            case "request":
                # Answered at once: an adapter may stand still until it is.
                will_do = self._on_request(message.command, _object(message.arguments))
                answer = {"type": "response", "request_seq": message.seq, "command": message.command, "body": {}}
                self._send(answer | ({"success": True} if will_do else {"success": False, "message": "notSupported"}))


def body_of(command: str, reply: Reply) -> dict[str, Any]:
    """What an answer holds.

    Raises:
        Refused: it is a no.
        Gone: there was none.
    """
    if reply is None:
        raise Gone(command)
    body = _object(reply.body)
    if not reply.success:
        raise Refused(command, _reason(reply, body))
    return body


def _reason(reply: Message, body: dict[str, Any]) -> str:
    error = _object(body.get("error"))
    text = str(error.get("format") or reply.message or "the adapter gave no reason")
    for name, value in _object(error.get("variables")).items():
        text = text.replace("{" + name + "}", str(value))
    return text


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            size = int(value)
            if 0 <= size <= MESSAGE_LIMIT:
                return size
    raise ValueError("no length that can be used")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


async def connect_patiently(
    host: str, port: int, on_event: OnEvent, on_request: OnRequest, *, ended: asyncio.Future[Any], timeout: float
) -> Dap:
    """Connects to an adapter that is just starting.

    Raises:
        OSError: it does not listen in time, or has ended.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    while True:
        with contextlib.suppress(OSError):
            return await Dap.connect(host, port, on_event, on_request)
        await asyncio.wait([ended], timeout=0.03)
        if ended.done() or loop.time() > deadline:
            raise OSError(f"nothing listens on {host}:{port}")
