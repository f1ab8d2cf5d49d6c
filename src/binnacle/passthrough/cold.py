"""A call as a process of its own from the start: for where there is no fork, and when the fork server fails."""

import asyncio
import contextlib
import os
import signal
import sys
import time

from binnacle.passthrough.capture import Capture, Output
from binnacle.passthrough.command import Command
from binnacle.passthrough.completed import EXIT_NOT_FOUND, EXIT_UNABLE
from binnacle.passthrough.marks import PAUSE, find_marked, send_marked, sweep
from binnacle.passthrough.process import DRAIN_PATIENCE, CannotRun
from binnacle.passthrough.request import Request


class ColdProcess(asyncio.SubprocessProtocol):
    """A process that leads its own session, and what it started."""

    def __init__(self, request: Request, output: Output, *, grace: float) -> None:
        self.output = output
        self.note = ""
        self._request = request
        self._grace = grace
        self._exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.SubprocessTransport | None = None
        self._is_over = False
        """Whether nothing of the call is left."""

    async def start(self, command: Command) -> None:
        """Starts the process.

        Raises:
            CannotRun: there is no such program or directory, or the system refuses.
        """
        argv = command.cold_argv()
        if argv is None:
            raise CannotRun(f"{command.name} binary not found", exit_code=EXIT_NOT_FOUND)
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *argv,
                *self._request.args,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._request.cwd,
                env=dict(self._request.env),
                start_new_session=True,
            )
        except OSError as error:
            raise _reason(command, self._request, error) from error

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._capture(fd).data_received(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._capture(fd).connection_lost(exc)

    def _capture(self, fd: int) -> Capture:
        return self.output.stdout if fd == 1 else self.output.stderr

    def process_exited(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)

    async def wait(self) -> int:
        await asyncio.wait([self._exited])
        if self._is_left():
            await self._end()
        self._is_over = True
        await self.output.wait_ended(patience=DRAIN_PATIENCE)
        code = self._transport.get_returncode() if self._transport else None
        return -signal.SIGKILL if code is None else code

    async def aclose(self) -> None:
        try:
            if self._transport is not None and not self._is_over:
                await self._end()
                await asyncio.wait([self._exited], timeout=DRAIN_PATIENCE)
                await self.output.wait_ended(patience=DRAIN_PATIENCE)
        finally:
            if self._transport is not None:
                if not self._is_over:
                    self._tell(signal.SIGKILL)
                self._transport.close()

    async def _end(self) -> None:
        """Asks everything that is left to end, and kills what does not within the grace."""
        self._tell(signal.SIGTERM)
        deadline = time.monotonic() + self._grace
        while self._is_left() and time.monotonic() < deadline:  # noqa: ASYNC110 - nobody tells of their end
            await asyncio.sleep(PAUSE)
        self._tell(signal.SIGKILL)
        await sweep(self._request.run_id, patience=DRAIN_PATIENCE)
        self._is_over = True

    def _tell(self, number: signal.Signals) -> None:
        self._tell_group(number)
        send_marked(self._request.run_id, number)

    def _is_left(self) -> bool:
        return self._tell_group(None) or bool(find_marked(self._request.run_id))

    def _tell_group(self, number: signal.Signals | None) -> bool:
        """Signals the group, or only looks for it; whether it is there."""
        assert self._transport is not None
        if sys.platform == "win32":
            if number is not None:
                self._transport.kill()
            return not self._exited.done()
        # The number stays the group's while anyone is in it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), number or 0)
            return True
        return False


def _reason(command: Command, request: Request, error: OSError) -> CannotRun:
    if not os.path.isdir(request.cwd):
        return CannotRun(f"error: cannot enter {request.cwd!r}: {error.strerror}", exit_code=EXIT_UNABLE)
    if isinstance(error, FileNotFoundError):
        return CannotRun(f"{command.name} binary not found", exit_code=EXIT_NOT_FOUND)
    return CannotRun(f"error: cannot run {command.name}: {error.strerror}", exit_code=EXIT_UNABLE)
