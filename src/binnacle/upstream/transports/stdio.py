"""A server that is a process of ours: it reads its standard input and writes a message a line.

Its output may be anything, also junk and bytes that are no text; its errors are kept, not shown. What was
started is ended with all it started itself, also when we are killed: the keeper sees to that.
"""

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from binnacle.config.child_environment import for_upstream
from binnacle.errors import UpstreamDown
from binnacle.processes.keeper import CannotStart, Keeper, OwnedProgram
from binnacle.processes.rolling_file import RollingFile
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.listing.screening import make_readable
from binnacle.upstream.transports.launch_activity import ActivitySample, has_worked, take_sample
from binnacle.upstream.transports.transport import DuplexTransport, Receive
from binnacle.wire.framing import LineDecoder, OversizedLine

MAX_LINE_BYTES = 64 << 20
"""Bytes of one message. A longer line is passed over."""

MAX_BACKLOG_BYTES = 16 << 20
"""Bytes kept for a server that does not read, beyond which nothing more is sent to it."""

TAIL_CHARACTERS = 4000
"""Characters of a server's last words that are shown when it dies."""

KEPT_LOG_LINES = 1000
"""Lines of standard error kept for `bn upstream logs`."""

BUSY_SECONDS = 0.01
"""Seconds of work that a server may cause at once. One that causes more is not read for as long as that took."""

ENDING_SECONDS = 1.0
"""Seconds after a process closed its output in which it is expected to end, and to have a code to tell of."""

LAST_WORDS_SECONDS = 0.5
"""How long it takes at most, after a process has closed its pipes, until it is known how it ended."""

STOP_GRACE_SECONDS = 2.0
"""Seconds a server gets to end by itself, once its input was closed, and again once it was asked to."""


class ServerLog:
    """The last lines a server wrote to its standard error, however much it was."""

    def __init__(self, file: RollingFile | None = None, *, clean: Callable[[str], str] = str) -> None:
        """`file` keeps them for `bn upstream logs`; `clean` takes secrets out of a line."""
        self.lines: deque[str] = deque(maxlen=KEPT_LOG_LINES)
        self._file = file
        self._clean = clean
        self._rest = b""
        self.size = 0
        """Bytes that were written in all."""

    def write(self, data: bytes) -> None:
        self.size += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-MAX_LINE_BYTES >> 10 :]
        if lines:
            self._keep([self._readable(line) for line in lines[-KEPT_LOG_LINES:]])

    def started(self, process: int) -> None:
        """Notes that what follows was written by a new process."""
        self._keep([f"--- started as process {process}"])

    def _keep(self, lines: list[str]) -> None:
        self.lines.extend(lines)
        if self._file is not None:
            moment = datetime.now(UTC).isoformat(timespec="seconds")
            self._file.append("".join(f"{moment} {line}\n" for line in lines).encode(errors="replace"))

    def _readable(self, line: bytes) -> str:
        return self._clean(make_readable(line[:2000].decode(errors="replace").rstrip().replace("\r", " "), 2000))

    def tail(self) -> str:
        """The last words of the process that wrote last."""
        found = [*self.lines, self._readable(self._rest)]
        starts = [number for number, line in enumerate(found) if line.startswith("--- started as process ")]
        return "\n".join(line for line in found[starts[-1] + 1 if starts else 0 :] if line.strip())[-TAIL_CHARACTERS:]


class StdioTransport(DuplexTransport):
    """Speaks with a process over its standard input and output."""

    def __init__(self, config: ServerConfig, receive: Receive, *, keeper: Keeper, log: ServerLog) -> None:
        super().__init__(receive)
        self._config = config
        self._keeper = keeper
        self._log = log
        self._process: OwnedProgram | None = None
        self._transports: list[asyncio.ReadTransport] = []
        self._writer: asyncio.WriteTransport | None = None
        self._held: list[bytes] | None = None
        """Messages that wait for the event loop to come round; None if nothing was sent since it did."""

        self._lines = LineDecoder(MAX_LINE_BYTES)
        self._watching: asyncio.Task[None] | None = None
        self._sample: ActivitySample | None = None
        """How far the process was when it was last seen at work."""

        self._closed = asyncio.Event()
        """Set when the process has closed its output."""

    async def open(self) -> None:
        config = self._config
        ends: list[int] = []
        try:
            stdin, to_server = _pipe(ends)
            from_server, stdout = _pipe(ends)
            errors, stderr = _pipe(ends)
            self._process = await self._keeper.start(
                (config.command, *config.args),
                env=for_upstream(os.environ, config.env),
                cwd=config.cwd or os.getcwd(),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
            self._log.started(self._process.pid)
            await self._connect(to_server, from_server, errors, ends)
        except CannotStart as error:
            raise UpstreamDown(f"{config.name}: {error.message}", hint="check its command") from error
        finally:
            for descriptor in ends:
                os.close(descriptor)
        self._sample = take_sample(self._process.pid, self._log.size)
        self._watching = asyncio.get_running_loop().create_task(self._watch(self._process))

    async def _connect(self, to_server: int, from_server: int, errors: int, ends: list[int]) -> None:
        """Hands our ends of the pipes to the event loop, which closes them."""
        loop = asyncio.get_running_loop()
        for descriptor, take, at_end in (
            (from_server, self.feed, self._closed.set),
            (errors, self._log.write, _nothing),
        ):
            file = os.fdopen(descriptor, "rb", buffering=0)
            ends.remove(descriptor)
            transport, _ = await loop.connect_read_pipe(partial(_Reading, take, at_end), file)
            self._transports.append(transport)
        sink = os.fdopen(to_server, "wb", buffering=0)
        ends.remove(to_server)
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sink)

    async def _watch(self, process: OwnedProgram) -> None:
        """Waits until the process has ended, or has closed its output: then it answers nothing any more."""
        ended = asyncio.ensure_future(process.wait())
        closed = asyncio.ensure_future(self._closed.wait())
        try:
            both: set[asyncio.Future[Any]] = {ended, closed}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({ended}, timeout=ENDING_SECONDS)
            if not ended.done():
                self._end(f"{self._config.name} closed its output, though its process still runs")
                return
            await asyncio.sleep(0)  # so that the last words in the pipe are read first
            self._end(self._describe_end(ended.result()))
        finally:
            ended.cancel()
            closed.cancel()

    def has_worked(self) -> bool:
        if self._process is None or self._sample is None:
            return False
        now = take_sample(self._process.pid, self._log.size)
        worked = has_worked(self._sample, now)
        if worked:
            self._sample = now
        return worked

    def _describe_end(self, code: int) -> str:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        said = self._log.tail()
        return f"{self._config.name} {how}" + (f"; its last words:\n{said}" if said else "")

    async def _send(self, message: bytes) -> None:
        if self._writer is None or self._writer.is_closing():
            raise UpstreamDown(await self._find_reason(), hint="it is being started again")
        if self._writer.get_write_buffer_size() > MAX_BACKLOG_BYTES:
            raise UpstreamDown(f"{self._config.name} does not read what it is sent", hint="try again later")
        if self._held is not None:
            self._held.append(message)
            return
        # The first message goes at once; those that follow before the event loop has come round, together.
        self._writer.write(message + b"\n")
        self._held = []
        asyncio.get_running_loop().call_soon(self._let_go)

    async def _find_reason(self) -> str:
        """Why the server takes no more input. One that ended closes its pipes first; its last words say more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                return await asyncio.shield(self.ended)
        return f"{self._config.name} takes no more input"

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held and self._writer is not None and not self._writer.is_closing():
            self._writer.write(b"".join(message + b"\n" for message in held))

    def feed(self, data: bytes) -> None:
        """Takes what the server wrote."""
        for line in self._lines.feed(data):
            if isinstance(line, OversizedLine):
                self._refuse(
                    line.beginning, f"{self._config.name} sent a message of more than {MAX_LINE_BYTES >> 20} MiB"
                )
            elif line.strip() and not self._deliver(line) and not self._deliver(_readable(line)):
                self._refuse(line, f"{self._config.name} sent a message that cannot be read, as one nested too deep")
                self._log.write(b"(on its output, no message) " + line[:500] + b"\n")

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        if self._writer is not None and not self._writer.is_closing():
            self._writer.abort()
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_GRACE_SECONDS):
                    await self._process.wait()
            await self._process.end(grace=STOP_GRACE_SECONDS)
        for transport in self._transports:
            transport.close()
        self._end(f"{self._config.name} was closed")


class _Reading(asyncio.Protocol):
    """Takes what a process writes, and leaves half of the time to others where that is a lot."""

    def __init__(self, take: Callable[[bytes], None], at_end: Callable[[], None]) -> None:
        self._take = take
        self._at_end = at_end
        self._transport: Any = None
        """A read transport; that of uvloop is none of asyncio's classes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        began = time.perf_counter()
        self._take(data)
        spent = time.perf_counter() - began
        if spent > BUSY_SECONDS and not self._transport.is_closing():
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(spent, self._go_on)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._at_end()

    def _go_on(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()


def _nothing() -> None:
    """Nobody wants to know."""


def _pipe(ends: list[int]) -> tuple[int, int]:
    pair = os.pipe()
    ends.extend(pair)
    return pair


def _readable(line: bytes) -> bytes:
    """A line whose bytes are no text, with those replaced."""
    return line.decode(errors="replace").encode()
