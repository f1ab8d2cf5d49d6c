"""JSON-RPC over this process's standard input and output, in both directions."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import msgspec

from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, Message, Notification, Request, Response, RpcError

MAX_LINE_BYTES = 32 << 20
"""Bytes of one message."""

Answer = Callable[[str, bytes], Awaitable[Any]]
Hear = Callable[[str, bytes], None]


class StdioPeer:
    """The other side of a conversation. Serve it until it hangs up."""

    def __init__(self, answer: Answer, hear: Hear) -> None:
        """`answer` answers requests, each in a task of its own; `hear` takes notifications."""
        self._answer = answer
        self._hear = hear
        self._numbers = count(1)
        self._asked: dict[bytes, asyncio.Future[Response]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._writer: asyncio.StreamWriter | None = None

    async def serve(self) -> None:
        """Takes messages until the input ends, then drops what is still being answered."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)
        try:
            while line := await reader.readline():
                found = jsonrpc.parse(line) if line.strip() else []
                for message in found if isinstance(found, list) else [found]:
                    self._take(message)
        finally:
            for task in self._answering:
                task.cancel()
            await asyncio.gather(*self._answering, return_exceptions=True)

    async def ask(self, method: str, params: Any) -> bytes:
        """The other side's answer.

        Raises:
            RpcError: it is an error.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._asked[str(number).encode()] = answer
        try:
            self.write(jsonrpc.request_message(number, method, params) + b"\n")
            found = await answer
        finally:
            self._asked.pop(str(number).encode(), None)
        if found.error is not None:
            raise RpcError(INTERNAL_ERROR, found.error.decode(errors="replace")[:500])
        return found.result or b"{}"

    async def tell(self, method: str, params: Any) -> None:
        """Sends a notification, and waits while the other side reads too slowly."""
        self.write(jsonrpc.notification_message(method, params) + b"\n")
        if self._writer is not None:
            await self._writer.drain()

    def write(self, data: bytes) -> None:
        """Puts bytes on standard output as they are."""
        if self._writer is not None:
            self._writer.write(data)

    def _take(self, message: Message) -> None:
        match message:
            case Request():
                task = asyncio.get_running_loop().create_task(self._respond(message))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            case Notification(method, params):
                self._hear(method, params)
            case Response(request_id):
                waiting = self._asked.get(request_id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
            case _:
                self.write(jsonrpc.error_message(message.id, INVALID_REQUEST, message.message) + b"\n")

    async def _respond(self, request: Request) -> None:
        try:
            result = await self._answer(request.method, request.params)
            answer = jsonrpc.result_message(request.id, msgspec.json.encode(result))
        except RpcError as error:
            answer = jsonrpc.error_message(request.id, error.code, error.message, error.data)
        except Exception as error:  # noqa: BLE001 - a defect is answered, so that nobody waits for ever
            answer = jsonrpc.error_message(request.id, INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        self.write(answer + b"\n")
