"""A call in a fork, from the side of the `Runner`: the other end of its guard (`forked.guard`)."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Sequence
from io import FileIO
from typing import Any

from binnacle.passthrough.capture import Capture, Output
from binnacle.passthrough.marks import sweep
from binnacle.passthrough.process import DRAIN_PATIENCE
from binnacle.passthrough.request import Request, encode

END_PATIENCE = 5.0
"""Seconds, on top of the grace, that a guard gets to end its tree. Then it is killed and its tree swept."""

LOST = "error: the process that watched over the command was killed, and the command with it; check what it did"


class Control(asyncio.Protocol):
    """What a guard says."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[bool] = loop.create_future()
        """Whether there is a guard to give a request to."""

        self.ended: asyncio.Future[int | None] = loop.create_future()
        """The return code of the call; nothing when the guard is gone without a word."""

        self.gone: asyncio.Future[None] = loop.create_future()
        """Done when the guard is no more, or will never be."""

        self.guard: int | None = None
        self.root: int | None = None
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            match line.split():
                case [b"ready", guard]:
                    self.guard = int(guard)
                    _settle(self.ready, True)
                case [b"started", root]:
                    self.root = int(root)
                case [b"ended", code]:
                    _settle(self.ended, int(code))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - however it broke, the guard is gone
        _settle(self.ready, False)
        _settle(self.ended, None)
        _settle(self.gone, None)


def _settle(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


class WarmProcess:
    """A guard and the call it watches over. Until `begin`, nothing runs and closing it is without consequence."""

    def __init__(self, output: Output, *, grace: float) -> None:
        self.output = output
        self.note = ""
        self._grace = grace
        self._control = Control()
        self._transport: asyncio.Transport | None = None
        self._run_id = ""

    @property
    def gone(self) -> asyncio.Future[None]:
        """Done some time after the end, when the guard itself has ended."""
        return self._control.gone

    async def connect(self, hand_over: Callable[[Sequence[int]], None]) -> None:
        """Makes the pipes and the socket, and hands over the guard's ends: stdout, stderr, control.

        Raises:
            OSError: they could not be made or handed over.
        """
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as theirs:
            ours, control = socket.socketpair()
            theirs.enter_context(control)
            self._transport, _ = await loop.create_unix_connection(lambda: self._control, sock=ours)
            stdout = await _connect_pipe(self.output.stdout, theirs)
            stderr = await _connect_pipe(self.output.stderr, theirs)
            hand_over([stdout, stderr, control.fileno()])

    async def wait_ready(self, *, patience: float) -> None:
        """Waits for the guard.

        Raises:
            OSError: it is gone, or has not come in time.
        """
        await asyncio.wait([self._control.ready], timeout=patience)
        if not self._control.ready.done() or not self._control.ready.result():
            raise TimeoutError("no answer")

    def begin(self, request: Request) -> None:
        """Gives the guard its request. From here on it counts as run."""
        assert self._transport is not None
        self._run_id = request.run_id
        self._transport.write(encode(request))

    async def wait(self) -> int:
        await asyncio.wait([self._control.ended])
        return await self._result()

    async def aclose(self) -> None:
        try:
            if self._run_id and not self._control.ended.done():
                await self._end()
        finally:
            # Whatever the guard has not done yet, it does now. It hangs up when it is gone.
            if self._transport is not None:
                self._transport.write_eof()
            else:
                _settle(self._control.gone, None)
            self.output.close()

    def abandon(self) -> None:
        """Hangs up on a guard that does not."""
        if self._transport is not None:
            self._transport.abort()

    async def _end(self) -> None:
        assert self._transport is not None
        self._transport.write_eof()
        await asyncio.wait([self._control.ended], timeout=self._grace + END_PATIENCE)
        if not self._control.ended.done() and self._control.guard is not None:
            # Stopped, or stuck in the system. It still holds the socket, so the number is still its own.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._control.guard, signal.SIGKILL)
            await asyncio.wait([self._control.ended], timeout=DRAIN_PATIENCE)
        await self._result()

    async def _result(self) -> int:
        code = self._control.ended.result() if self._control.ended.done() else None
        if code is None:
            await self._mop_up()
            code = -signal.SIGKILL
        await self.output.wait_ended(patience=DRAIN_PATIENCE)
        return code

    async def _mop_up(self) -> None:
        """Kills what a guard left behind that was itself killed."""
        self.note = LOST
        if self._control.root is not None:
            # The number stays the group's while anyone is in it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._control.root, signal.SIGKILL)
        await sweep(self._run_id, patience=DRAIN_PATIENCE)


async def _connect_pipe(capture: Capture, theirs: contextlib.ExitStack) -> int:
    """Lets `capture` read a new pipe; returns the end to write to, which closes with `theirs`."""
    read, write = os.pipe()
    theirs.callback(os.close, write)
    await asyncio.get_running_loop().connect_read_pipe(lambda: capture, FileIO(read))
    return write
