"""A server that is a local process: it reads its standard input and writes a message per line.

Its output may be anything, also junk and bytes that are no text; its standard error is logged, not shown. The keeper
ends it with everything it started, also when we are killed.
"""

import asyncio
import contextlib
import os
from typing import Any

from binnacle.config.child_environment import for_upstream
from binnacle.errors import UpstreamDown
from binnacle.processes.keeper import CannotStart, Keeper
from binnacle.processes.output_log import OutputLog
from binnacle.processes.piped_program import PipedProgram, start_piped
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports.launch_activity import ActivitySample, has_worked, take_sample
from binnacle.upstream.transports.transport import DuplexTransport, Receive
from binnacle.wire.framing import LineDecoder, OversizedLine

MAX_LINE_BYTES = 64 << 20
"""Bytes of one message. A longer line is skipped."""

MAX_BACKLOG_BYTES = 16 << 20
"""Bytes buffered for a server that does not read; beyond that, nothing more is sent."""

ENDING_SECONDS = 1.0
"""Seconds in which a process that closed its output is expected to end with an exit code."""

LAST_WORDS_SECONDS = 0.5
"""Most seconds between a process closing its pipes and the news of how it ended."""

STOP_GRACE_SECONDS = 2.0
"""Seconds a server gets to end after its input is closed, and again after it is asked to."""


class StdioTransport(DuplexTransport):
    """Speaks with a process over its standard input and output."""

    def __init__(self, config: ServerConfig, receive: Receive, *, keeper: Keeper, log: OutputLog) -> None:
        super().__init__(receive)
        self._config = config
        self._keeper = keeper
        self._log = log
        self._program: PipedProgram | None = None
        self._held: list[bytes] | None = None
        """Messages that wait for the next turn of the event loop; None if nothing was sent in this one."""

        self._held_bytes = 0
        self._lines = LineDecoder(MAX_LINE_BYTES)
        self._watching: asyncio.Task[None] | None = None
        self._sample: ActivitySample | None = None
        """The last sample in which the process was working."""

    async def open(self) -> None:
        config = self._config
        try:
            self._program = await start_piped(
                self._keeper,
                (config.command, *config.args),
                env=for_upstream(os.environ, config.env),
                cwd=config.cwd or os.getcwd(),
                on_output=self.feed,
                on_errors=self._log.write,
                on_start=self._log.mark_start,
            )
        except CannotStart as error:
            raise UpstreamDown(f"{config.name}: {error.message}", hint="check its command") from error
        self._sample = take_sample(self._program.owned.pid, self._log.size)
        self._watching = asyncio.get_running_loop().create_task(self._watch(self._program))

    async def _watch(self, program: PipedProgram) -> None:
        """Waits until the process has ended or closed its output: then it can no longer answer."""
        ended = asyncio.ensure_future(program.owned.wait())
        try:
            both: set[asyncio.Future[Any]] = {ended, program.output_ended}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({ended}, timeout=ENDING_SECONDS)
            if not ended.done():
                self._end(f"{self._config.name} closed its output, though its process still runs")
                return
            await asyncio.sleep(0)  # so that the last output in the pipe is read first
            self._end(self._describe_end(ended.result()))
        finally:
            ended.cancel()

    def has_worked(self) -> bool:
        if self._program is None or self._sample is None:
            return False
        now = take_sample(self._program.owned.pid, self._log.size)
        worked = has_worked(self._sample, now)
        if worked:
            self._sample = now
        return worked

    def _describe_end(self, code: int) -> str:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        said = self._log.tail()
        return f"{self._config.name} {how}" + (f"; its last output:\n{said}" if said else "")

    async def _send(self, message: bytes) -> None:
        if self._program is None or not self._program.takes_input:
            raise UpstreamDown(await self._find_reason(), hint="it is being started again")
        if self._program.unread_bytes + self._held_bytes > MAX_BACKLOG_BYTES:
            raise UpstreamDown(f"{self._config.name} does not read what it is sent", hint="try again later")
        if self._held is not None:
            self._held.append(message)
            self._held_bytes += len(message)
            return
        # The first message goes at once; those that follow before the event loop has come round, together.
        self._program.send(message + b"\n")
        self._held = []
        asyncio.get_running_loop().call_soon(self._flush)

    async def _find_reason(self) -> str:
        """Why the server takes no more input. A process that ends closes its pipes first; its last output says more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                return await asyncio.shield(self.ended)
        return f"{self._config.name} takes no more input"

    def _flush(self) -> None:
        held, self._held, self._held_bytes = self._held, None, 0
        if held and self._program is not None:
            self._program.send(b"".join(message + b"\n" for message in held))

    def feed(self, data: bytes) -> None:
        """Handles what the server wrote."""
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
        if self._program is not None:
            self._program.drop_input()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_GRACE_SECONDS):
                    await self._program.owned.wait()
            await self._program.owned.end(grace=STOP_GRACE_SECONDS)
            self._program.close()
        self._end(f"{self._config.name} was closed")


def _readable(line: bytes) -> bytes:
    """A line whose bytes are no text, with those replaced."""
    return line.decode(errors="replace").encode()
