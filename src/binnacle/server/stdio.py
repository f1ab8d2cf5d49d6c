"""MCP over standard input and output: a message a line.

Standard output carries the protocol and nothing else: the real one is moved out of reach
of everything else in the process, whose prints go to standard error from then on.
"""

import asyncio
import os
import signal
import stat
import sys
from typing import Any

from binnacle.server.call import Peer
from binnacle.server.engine import Engine
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import Invalid, Message, Notification, Request, Response, RpcError
from binnacle.wire.mcp import CancelParams, Era, decode_params, era_of, meta_of

LINE_LIMIT = 32 << 20
"""Bytes of one message. A longer one is passed over and answered with an error."""

IN_FLIGHT = 256
"""Requests handled at once. Beyond it nothing more is read until some are answered."""

GRACE = 5.0
"""Seconds that requests under way get to finish when the client has closed its side."""


class StdioServer:
    """Serves one client on two file descriptors. Leaving `serve` leaves no request running."""

    def __init__(self, engine: Engine, *, source: int, sink: int) -> None:
        self._engine = engine
        self._source = source
        self._sink = sink
        self._peer = Peer(self._write)
        self._buffer = bytearray()
        self._skipping = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._listening: dict[bytes, Any] = {}
        self._done = asyncio.Event()
        self._reader: asyncio.ReadTransport | None = None
        self._writer: asyncio.WriteTransport | None = None

    async def serve(self) -> None:
        """Answers until the client closes its side, the pipe breaks, or SIGTERM arrives."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        self._engine.join(self._peer)
        await self._connect(loop)
        try:
            await self._done.wait()
        finally:
            for end in self._listening.values():
                end()
            self._peer.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._writer is not None:
                self._writer.close()

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> None:
        if _is_pollable(self._sink):
            sink = os.fdopen(self._sink, "wb", buffering=0)
            self._writer, _ = await loop.connect_write_pipe(lambda: _Writing(self), sink)
        if _is_pollable(self._source):
            source = os.fdopen(self._source, "rb", buffering=0)
            self._reader, _ = await loop.connect_read_pipe(lambda: _Reading(self), source)
        else:
            # A regular file is always ready and soon at its end.
            with os.fdopen(self._source, "rb") as file:
                self.feed(file.read())
            self.end()

    def feed(self, data: bytes) -> None:
        """Takes what was read and begins every message that is complete."""
        self._buffer += data
        start = 0
        while (end := self._buffer.find(b"\n", start)) >= 0:
            line = bytes(self._buffer[start:end])
            start = end + 1
            if self._skipping:
                self._skipping = False
            elif line.strip():
                self._receive(line)
        del self._buffer[:start]
        if len(self._buffer) > LINE_LIMIT:
            self._buffer.clear()
            if not self._skipping:
                self._skipping = True
                self._write(jsonrpc.error_message(jsonrpc.NO_ID, jsonrpc.INVALID_REQUEST, "the message is too long"))

    def end(self) -> None:
        """The client closed its side: what is under way may finish, if it does so soon."""
        self._keep(self._finish())

    async def _finish(self) -> None:
        others = [task for task in self._tasks if task is not asyncio.current_task()]
        if others:
            await asyncio.wait(others, timeout=GRACE)
        self.stop()

    def stop(self) -> None:
        """Ends `serve`."""
        self._done.set()

    def _receive(self, line: bytes) -> None:
        message = jsonrpc.parse(line)
        if isinstance(message, list):
            self._keep(self._answer_batch(message))
        elif isinstance(message, Request):
            self._begin(message)
        else:
            answer = self._take(message)
            if answer is not None:
                self._write(answer)

    def _begin(self, request: Request) -> None:
        task = self._keep(self._reply(request))
        self._peer.running[request.id] = task
        task.add_done_callback(lambda _: self._peer.running.pop(request.id, None))
        if len(self._tasks) >= IN_FLIGHT and self._reader is not None:
            self._reader.pause_reading()

    def _take(self, message: Message) -> bytes | None:
        """Deals with what needs no task. Returns what it deserves as an answer, if anything."""
        match message:
            case Invalid(request_id, code, text):
                return jsonrpc.error_message(request_id, code, text)
            case Response(request_id, result, error):
                self._peer.resolve(request_id, result, error)
            case Notification("notifications/cancelled", params):
                self._cancel(params)
        return None

    def _cancel(self, params: bytes) -> None:
        try:
            request_id = bytes(decode_params(params, CancelParams).request_id)
        except RpcError:
            return  # a notification is never answered, not even a wrong one
        if end := self._listening.pop(request_id, None):
            end()
        self._peer.cancel(request_id)

    async def _reply(self, request: Request) -> None:
        answer = await self._answer(request)
        if answer is not None:
            self._write(answer)

    async def _answer(self, request: Request) -> bytes | None:
        try:
            era: Era = era_of(meta_of(request.params).meta)
            if era == "stateless" and request.method == "subscriptions/listen":
                self._listening[request.id] = self._engine.listen(request, self._write)
                return None
        except RpcError as error:
            return jsonrpc.error_message(request.id, error.code, error.message, error.data)
        return (await self._engine.answer(request, self._peer, era, self._write)).message

    async def _answer_batch(self, messages: list[Message]) -> None:
        """2025-03-26 allows batches; they cost little, so every client may send them."""
        requests = [message for message in messages if isinstance(message, Request)]
        others = [self._take(message) for message in messages if not isinstance(message, Request)]
        answers = await asyncio.gather(*(self._answer(request) for request in requests))
        found = [answer for answer in (*others, *answers) if answer is not None]
        if found:
            self._write(b"[%b]" % b",".join(found))

    def _keep(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if self._reader is not None and len(self._tasks) < IN_FLIGHT and not self._done.is_set():
            self._reader.resume_reading()

    def _write(self, message: bytes) -> None:
        if self._writer is not None:
            if not self._writer.is_closing():
                self._writer.write(message + b"\n")
        elif not self._done.is_set():
            os.write(self._sink, message + b"\n")

    def hold(self) -> None:
        """The client does not read: takes no more from it until it does."""
        if self._reader is not None:
            self._reader.pause_reading()

    def go_on(self) -> None:
        """The client reads again."""
        if self._reader is not None and not self._done.is_set():
            self._reader.resume_reading()


class _Reading(asyncio.Protocol):
    def __init__(self, server: StdioServer) -> None:
        self._server = server

    def data_received(self, data: bytes) -> None:
        self._server.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._server.end()


class _Writing(asyncio.BaseProtocol):
    def __init__(self, server: StdioServer) -> None:
        self._server = server

    def pause_writing(self) -> None:
        self._server.hold()

    def resume_writing(self) -> None:
        self._server.go_on()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._server.stop()


def _is_pollable(descriptor: int) -> bool:
    return not stat.S_ISREG(os.fstat(descriptor).st_mode)


def take_stdio() -> tuple[int, int]:
    """Moves the real standard input and output out of reach. Returns their new descriptors."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink
