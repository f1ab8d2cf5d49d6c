"""An agent's program: its pipes, its log, and its end."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from binnacle.errors import AgentStart
from binnacle.processes.keeper import CannotStart, Keeper, OwnedProgram
from binnacle.processes.rolling_file import RollingFile
from binnacle.upstream.transports.stdio import ServerLog

MAX_LOG_BYTES = 4 << 20
"""Bytes of an agent's log before it is put aside as `….old`, in place of the one before."""

MAX_UNREAD_BYTES = 64 << 20
"""Bytes kept for an agent that does not read. A prompt and the answers to its questions are far below."""

DRAIN_SECONDS = 2.0
"""Seconds for the last words of an agent that has ended to be read."""

STOP_GRACE_SECONDS = 3.0
"""Seconds an agent gets to end by itself once its input was closed, and again once it was asked to."""


class AgentProcess:
    """A running agent. It ends with all it started, at the latest when its `Keeper` is left."""

    def __init__(self, owned: OwnedProgram, log: RollingFile) -> None:
        self._owned = owned
        self._file = log
        self._transports: list[asyncio.BaseTransport] = []
        self._writer: asyncio.WriteTransport | None = None
        self.log = ServerLog(log)
        self.drained: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when it has closed its output."""

    @property
    def pid(self) -> int:
        return self._owned.pid

    async def wait(self) -> int:
        """Its code, once it has ended."""
        return await self._owned.wait()

    def send(self, data: bytes) -> bool:
        """Writes to its input; whether it still takes any."""
        if self._writer is None or self._writer.is_closing() or self._writer.get_write_buffer_size() > MAX_UNREAD_BYTES:
            return False
        self._writer.write(data)
        return True

    async def end(self, *, grace: float = STOP_GRACE_SECONDS) -> int:
        """Closes its input, asks it to end after `grace` seconds, kills it after as many more; returns its code."""
        if self._writer is not None and not self._writer.is_closing():
            # Not close(): what an agent that does not read has not taken would keep the pipe open.
            self._writer.abort()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._owned.wait()
        code = await self._owned.end(grace=grace)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await asyncio.shield(self.drained)
        for transport in self._transports:
            transport.close()
        self._file.close()
        return code

    async def connect(self, stdin: int, stdout: int, stderr: int, *, take: Callable[[bytes], None]) -> None:
        """Hands our ends of its pipes to the event loop, which closes them."""
        loop = asyncio.get_running_loop()
        for descriptor, reading in (
            (stdout, partial(_Reading, take, self.drained)),
            (stderr, partial(_Reading, self.log.write)),
        ):
            source = os.fdopen(descriptor, "rb", buffering=0)
            transport, _ = await loop.connect_read_pipe(reading, source)
            self._transports.append(transport)
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(stdin, "wb", buffering=0))
        self._transports.append(self._writer)


async def start_process(
    keeper: Keeper,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    log: str,
    take: Callable[[bytes], None],
    hint: str,
) -> AgentProcess:
    """Starts an agent. `take` is given what it writes to its output; what it writes to its errors goes to `log`.

    Raises:
        AgentStart: with `hint` as the next step.
    """
    ends: list[int] = []
    try:
        stdin, to_agent = _pipe(ends)
        from_agent, stdout = _pipe(ends)
        errors, stderr = _pipe(ends)
        owned = await keeper.start(argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr)
        ours = (to_agent, from_agent, errors)
        ends = [end for end in ends if end not in ours]
    except CannotStart as error:
        raise AgentStart(f"{argv[0]}: {error.message}", hint=hint) from error
    finally:
        for descriptor in ends:
            os.close(descriptor)
    process = AgentProcess(owned, RollingFile(log, MAX_LOG_BYTES))
    process.log.started(owned.pid)
    try:
        await process.connect(*ours, take=take)
    except BaseException:
        await process.end(grace=0)
        raise
    return process


class _Reading(asyncio.Protocol):
    def __init__(self, take: Callable[[bytes], None], ended: "asyncio.Future[None] | None" = None) -> None:
        self._take = take
        self._ended = ended

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def connection_lost(self, _: Exception | None) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)


def _pipe(ends: list[int]) -> tuple[int, int]:
    pair = os.pipe()
    ends.extend(pair)
    return pair
