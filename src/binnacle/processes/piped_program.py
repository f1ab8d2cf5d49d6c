"""An owned program with pipes: its input can be written to, its output and errors are handed over as they come."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from binnacle.processes.keeper import Keeper, OwnedProgram

BUSY_SECONDS = 0.01
"""Seconds of work that a program's output may cause at once. After more, it is not read for as long as that took."""

Take = Callable[[bytes], None]
"""Called with what a program wrote."""


class PipedProgram:
    """A program and our ends of its pipes. `start_piped` makes it; end it with `owned.end`, then `close` the pipes."""

    def __init__(self, owned: OwnedProgram) -> None:
        loop = asyncio.get_running_loop()
        self.owned = owned
        self.output_ended: asyncio.Future[None] = loop.create_future()
        self.errors_ended: asyncio.Future[None] = loop.create_future()
        """Done when the program, and all that inherited the pipe, has closed it."""

        self._pipes: list[asyncio.BaseTransport] = []
        self._input: asyncio.WriteTransport | None = None

    async def connect(self, stdin: int, stdout: int, stderr: int, *, on_output: Take, on_errors: Take) -> None:
        """Hands our ends of the pipes to the event loop, which closes them."""
        loop = asyncio.get_running_loop()
        files = [os.fdopen(stdin, "wb", buffering=0), *(os.fdopen(one, "rb", buffering=0) for one in (stdout, stderr))]
        try:
            self._input, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, files[0])
            self._pipes.append(self._input)
            for file, take, ended in (
                (files[1], on_output, self.output_ended),
                (files[2], on_errors, self.errors_ended),
            ):
                reading, _ = await loop.connect_read_pipe(partial(_Reader, take, ended), file)
                self._pipes.append(reading)
        finally:
            for file in files[len(self._pipes) :]:
                file.close()

    def send(self, data: bytes) -> None:
        """Writes to its input, if that is still open."""
        if self._input is not None and not self._input.is_closing():
            self._input.write(data)

    @property
    def takes_input(self) -> bool:
        """Whether its input is open."""
        return self._input is not None and not self._input.is_closing()

    @property
    def unread_bytes(self) -> int:
        """Bytes sent that it has not read."""
        return self._input.get_write_buffer_size() if self._input is not None else 0

    def finish_input(self) -> None:
        """Closes its input once it has read everything."""
        if self._input is not None and not self._input.is_closing():
            self._input.write_eof()

    def drop_input(self) -> None:
        """Closes its input at once, without what it has not read: that would keep the pipe open."""
        if self._input is not None and (self.takes_input or self.unread_bytes):
            self._input.abort()

    def close(self) -> None:
        """Closes our ends of the pipes."""
        self.drop_input()
        for pipe in self._pipes:
            pipe.close()


async def start_piped(
    keeper: Keeper,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    on_output: Take,
    on_errors: Take,
    on_start: Callable[[int], None] | None = None,
) -> PipedProgram:
    """Starts a program. `on_start` is given its process id before anything that it wrote is handed over.

    Raises:
        CannotStart: the message says what was in the way.
    """
    ends: list[int] = []
    try:
        stdin, ours_in = _open_pipe(ends)
        ours_out, stdout = _open_pipe(ends)
        ours_err, stderr = _open_pipe(ends)
        owned = await keeper.start(argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr)
        ends = [stdin, stdout, stderr]
    finally:
        for descriptor in ends:
            os.close(descriptor)
    if on_start is not None:
        on_start(owned.pid)
    program = PipedProgram(owned)
    try:
        await program.connect(ours_in, ours_out, ours_err, on_output=on_output, on_errors=on_errors)
    except BaseException:
        await owned.end(grace=0)
        program.close()
        raise
    return program


def _open_pipe(ends: list[int]) -> tuple[int, int]:
    pair = os.pipe()
    ends.extend(pair)
    return pair


class _Reader(asyncio.Protocol):
    """Hands over what a program writes, and leaves half of the time to others where that is a lot."""

    def __init__(self, take: Take, ended: "asyncio.Future[None]") -> None:
        self._take = take
        self._ended = ended
        self._transport: Any = None
        """A read transport; uvloop's is not one of asyncio's classes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        began = time.perf_counter()
        self._take(data)
        spent = time.perf_counter() - began
        if spent > BUSY_SECONDS and not self._transport.is_closing():
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(spent, self._resume)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - whatever the reason, it ended
        if not self._ended.done():
            self._ended.set_result(None)

    def _resume(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()
