"""MCP over standard input and output: one message per line.

Standard output carries only the protocol: `take_stdio` moves the real one away from the rest of the process, whose
prints go to standard error from then on.

One `McpOverStdio` serves one client. It owns both pipes and a task for every request; leaving `serve` cancels the
tasks, waits for them and closes the pipes. A request is *known* from its line to its answer. Of the known ones,
`MAX_REQUESTS_IN_FLIGHT` run; the others wait for a slot.

Backpressure. Reading pauses while `MAX_KNOWN_REQUESTS` are known or while the client does not read our answers; in the
second case no request starts either, but those that run may finish. Both end when requests are answered and when the
client reads again. It cannot deadlock: a request waits for a slot and for a client that reads before it runs, and for
neither afterwards. Running requests that ask the client while reading is paused fail at their timeout.

What may be lost. Answers never are, unless the pipe breaks. A client that is `MAX_BACKLOG_BYTES` behind misses progress
and logs. Notifications of changes are kept, each once, until it reads again.

The end. When the client closes its side, requests in progress get `FINISH_GRACE_SECONDS`; SIGTERM, SIGINT or a broken
pipe ends `serve` at once. The last answers are written as long as the client keeps reading within
`FLUSH_TIMEOUT_SECONDS`.
"""

import asyncio
import contextlib
import os
import signal
import stat
import sys
from collections.abc import Coroutine
from typing import Any

from binnacle.lifecycle.process import Process, ancestors
from binnacle.server.mcp_server import ChangeListener, McpServer
from binnacle.server.request import Peer, RequestOrigin
from binnacle.wire import jsonrpc
from binnacle.wire.framing import LineDecoder, OversizedLine
from binnacle.wire.jsonrpc import Invalid, Message, Notification, Request, Response, RpcError
from binnacle.wire.mcp import CancelParams, decode_params, era_of, meta_of

MAX_LINE_BYTES = 32 << 20
"""Bytes of one message. A longer one is skipped and answered with an error."""

MAX_REQUESTS_IN_FLIGHT = 256
"""Requests handled at once; others wait for their turn."""

MAX_KNOWN_REQUESTS = 1024
"""Requests known at once. Beyond that nothing more is read, not even a cancellation, until some are answered."""

MAX_BACKLOG_BYTES = 4 << 20
"""Bytes buffered for a client that does not read, beyond which it misses progress and logs."""

WRITE_BATCH_BYTES = 32 << 10
"""Answers of one turn of the event loop are written together, up to this many bytes."""

FINISH_GRACE_SECONDS = 5.0
"""Seconds that requests in progress get to finish after the client has closed its side."""

FLUSH_TIMEOUT_SECONDS = 2.0
"""Seconds within which a client must read some of the last answers for the rest to be kept."""


class McpOverStdio:
    """Serves one client on two file descriptors. When `serve` returns, no request is running."""

    def __init__(
        self,
        mcp_server: McpServer,
        *,
        source: int,
        sink: int,
        line_limit: int = MAX_LINE_BYTES,
        grace: float = FINISH_GRACE_SECONDS,
    ) -> None:
        self._mcp_server = mcp_server
        self._source = source
        self._sink = sink
        self._line_limit = line_limit
        self._grace = grace
        self._peer = Peer(self._announce, RequestOrigin(find_process=_client_process))
        self._lines = LineDecoder(line_limit)
        self._tasks: dict[asyncio.Task[Any], bytes | None] = {}
        """What is under way, each with the id of its request if it answers one."""

        self._is_reading = True
        self._listening: dict[bytes, ChangeListener] = {}
        self._missed: dict[bytes, None] = {}
        """Notifications to send once the client reads again, each once."""

        self._outgoing = bytearray()
        """Answers of this turn of the event loop."""

        self._flush_at: asyncio.Handle | None = None
        self._done = asyncio.Event()
        self._closed = asyncio.Event()
        self._slots = asyncio.Semaphore(MAX_REQUESTS_IN_FLIGHT)
        self._writable = asyncio.Event()
        self._writable.set()
        self._reader: asyncio.ReadTransport | None = None
        self._writer: asyncio.WriteTransport | None = None

    async def serve(self) -> None:
        """Answers until the client closes its side, the pipe breaks, or SIGTERM or SIGINT arrives."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        self._mcp_server.join(self._peer)
        await self._connect(loop)
        try:
            await self._done.wait()
        finally:
            self._peer.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for listener in self._listening.values():
                self._mcp_server.forget(listener)
                self._write(self._mcp_server.farewell(listener))
            await self._close()

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> None:
        if _is_pollable(self._sink):
            sink = os.fdopen(self._sink, "wb", buffering=0)
            self._writer, _ = await loop.connect_write_pipe(lambda: _Writing(self), sink)
        if _is_pollable(self._source):
            source = os.fdopen(self._source, "rb", buffering=0)
            self._reader, _ = await loop.connect_read_pipe(lambda: _Reading(self), source)
        else:
            with os.fdopen(self._source, "rb") as file:
                self.feed(file.read())
            self.end()

    async def _close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        if self._writer is None:
            os.close(self._sink)
            return
        self._flush()
        self._writer.close()  # the event loop still writes what is left
        left, before = self._writer.get_write_buffer_size(), None
        while not self._closed.is_set() and left != before:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_TIMEOUT_SECONDS):
                    await self._closed.wait()
            left, before = self._writer.get_write_buffer_size(), left
        if not self._closed.is_set():
            self._writer.abort()

    def feed(self, data: bytes) -> None:
        """Starts handling every complete message in the data read so far."""
        for line in self._lines.feed(data):
            if isinstance(line, OversizedLine):
                self._refuse()
            elif message := line.strip():
                self._receive(message)

    def _refuse(self) -> None:
        text = f"invalid request: the message is longer than {self._line_limit} bytes"
        self._write(jsonrpc.error_message(jsonrpc.NO_ID, jsonrpc.INVALID_REQUEST, text))

    def end(self) -> None:
        """Called when the client has closed its side: requests in progress get a grace period."""
        if not self._done.is_set():
            self._keep(self._finish())

    async def _finish(self) -> None:
        others = [task for task in self._tasks if task is not asyncio.current_task()]
        if others:
            await asyncio.wait(others, timeout=self._grace)
        self.stop()

    def stop(self) -> None:
        """Ends `serve`."""
        self._done.set()

    def _receive(self, line: bytes) -> None:
        message = jsonrpc.parse(line)
        if isinstance(message, list):
            self._begin_batch(message)
        elif isinstance(message, Request):
            self._peer.running[message.id] = self._keep(self._reply(message), message.id)
        elif answer := self._take(message):
            self._write(answer)

    async def _reply(self, request: Request) -> None:
        async with self._slots:
            while not self._writable.is_set():  # another waiting request may have filled the pipe again
                await self._writable.wait()
            if answer := await self._answer(request):
                self._write(answer)

    def _take(self, message: Message) -> bytes | None:
        """Handles a message that needs no task. Returns the answer, if there is one."""
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
            return  # a notification is never answered, not even an invalid one
        if listener := self._listening.pop(request_id, None):
            self._mcp_server.forget(listener)
        self._peer.cancel(request_id)

    async def _answer(self, request: Request) -> bytes | None:
        try:
            era = era_of(meta_of(request.params))
            if era == "stateless" and request.method == "subscriptions/listen":
                self._listen(request)
                return None
        except RpcError as error:
            return jsonrpc.error_message(request.id, error.code, error.message, error.data)
        return (await self._mcp_server.answer(request, self._peer, era, self._mention)).message

    def _listen(self, request: Request) -> None:
        listener = self._mcp_server.listen(request, self._peer, self._announce)
        if former := self._listening.pop(request.id, None):
            self._mcp_server.forget(former)
        self._listening[request.id] = listener

    def _begin_batch(self, messages: list[Message]) -> None:
        """Starts a batch, which only 2025-03-26 has; we accept it from every client."""
        requests = [message for message in messages if isinstance(message, Request)]
        tasks = [self._keep(self._answer(request), request.id) for request in requests]
        self._peer.running.update((request.id, task) for request, task in zip(requests, tasks, strict=True))
        others = [self._take(message) for message in messages if not isinstance(message, Request)]
        self._keep(self._answer_batch(tasks, others))

    async def _answer_batch(self, tasks: list[asyncio.Task[bytes | None]], others: list[bytes | None]) -> None:
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        found = [answer for answer in (*others, *answers) if isinstance(answer, bytes)]
        if found:
            self._write(b"[%b]" % b",".join(found))

    def _keep(self, work: Coroutine[Any, Any, Any], request_id: bytes | None = None) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = request_id
        task.add_done_callback(self._forget)
        self._regulate()
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        request_id = self._tasks.pop(task)
        if request_id is not None:
            self._peer.end(request_id, task)
        self._regulate()

    def _regulate(self) -> None:
        """Pauses reading while too many requests are known or the client does not read; otherwise resumes it."""
        if self._reader is None or self._done.is_set():
            return
        wanted = self._writable.is_set() and len(self._tasks) < MAX_KNOWN_REQUESTS
        if wanted != self._is_reading:
            # Only on a change: a call of the transport costs more than answering a request.
            self._is_reading = wanted
            (self._reader.resume_reading if wanted else self._reader.pause_reading)()

    def _write(self, message: bytes) -> None:
        if self._writer is None:
            _write_all(self._sink, message + b"\n")
        elif not self._writer.is_closing():
            self._outgoing += message
            self._outgoing += b"\n"
            if len(self._tasks) <= 1 or len(self._outgoing) > WRITE_BATCH_BYTES:
                self._flush()
            elif self._flush_at is None:
                self._flush_at = asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        """Writes the collected answers: several cost little more than one."""
        if self._flush_at is not None:
            self._flush_at.cancel()
            self._flush_at = None
        if self._outgoing and self._writer is not None:
            outgoing, self._outgoing = self._outgoing, bytearray()
            self._writer.write(outgoing)

    def _mention(self, message: bytes) -> None:
        """Writes a message that a client that does not read may miss."""
        if not self._is_behind():
            self._write(message)

    def _announce(self, message: bytes) -> None:
        """Writes a notification, at the latest when the client reads again."""
        if self._is_behind():
            self._missed[message] = None
        else:
            self._write(message)

    def _is_behind(self) -> bool:
        return self._writer is not None and self._writer.get_write_buffer_size() > MAX_BACKLOG_BYTES

    def hold(self) -> None:
        """Called when the client does not read: nothing more is read or started until it does."""
        self._writable.clear()
        self._regulate()

    def go_on(self) -> None:
        """Called when the client reads again."""
        self._writable.set()
        self._regulate()
        missed, self._missed = self._missed, {}
        for message in missed:
            self._announce(message)

    def lose(self) -> None:
        """Called when the client has closed the pipe that it reads from."""
        self._closed.set()
        self.stop()


def _client_process() -> Process | None:
    """The process that started this server, if that is a client."""
    from binnacle.lifecycle.shell_caller import find_client

    return find_client(ancestors())


class _Reading(asyncio.Protocol):
    def __init__(self, server: McpOverStdio) -> None:
        self._server = server

    def data_received(self, data: bytes) -> None:
        self._server.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._server.end()


class _Writing(asyncio.BaseProtocol):
    def __init__(self, server: McpOverStdio) -> None:
        self._server = server

    def pause_writing(self) -> None:
        self._server.hold()

    def resume_writing(self) -> None:
        self._server.go_on()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._server.lose()


def _is_pollable(descriptor: int) -> bool:
    """Whether the event loop can wait for it: not for a file or /dev/null, which are always ready."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def take_stdio() -> tuple[int, int]:
    """Moves the real standard input and output to new descriptors, and returns these."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink
