"""A call as a process of its own from the start: for where there is no fork, and when the fork server fails."""

import asyncio
import contextlib
import os
import signal
import subprocess
import time

from binnacle.passthrough.capture import Output
from binnacle.passthrough.command import Command
from binnacle.passthrough.completed import EXIT_NOT_FOUND, EXIT_UNABLE
from binnacle.passthrough.marks import PAUSE, find_marked, send_marked, sweep
from binnacle.passthrough.process import DRAIN_PATIENCE, CannotRun, wait_exit
from binnacle.passthrough.request import Request


class ColdProcess:
    """A process that leads its own session, and what it started."""

    def __init__(self, request: Request, output: Output, *, grace: float) -> None:
        self.output = output
        self.note = ""
        self._request = request
        self._grace = grace
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False
        """Whether nothing of the call is left."""

    def start(self, command: Command) -> None:
        """Starts the process.

        Raises:
            CannotRun: there is no such program or directory, or the system refuses.
        """
        argv = command.cold_argv()
        if argv is None:
            raise CannotRun(f"{command.name} binary not found", exit_code=EXIT_NOT_FOUND)
        try:
            self._process = self._spawn([*argv, *self._request.args])
        except OSError as error:
            self.output.close()
            raise _reason(command, self._request, error) from error

    def _spawn(self, argv: list[str]) -> subprocess.Popen[bytes]:
        with contextlib.ExitStack() as theirs:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=self.output.stdout.open(theirs),
                stderr=self.output.stderr.open(theirs),
                cwd=self._request.cwd,
                env=self._request.env,
                start_new_session=True,
            )

    async def wait(self) -> int:
        assert self._process is not None
        await wait_exit(self._process)
        if self._is_left():
            await self._end()
        self._is_over = True
        await self.output.wait_ended(patience=DRAIN_PATIENCE)
        return self._process.returncode

    async def aclose(self) -> None:
        try:
            if self._process is not None:
                if not self._is_over:
                    await self._end()
                # Also where the end is known already: who waits for it may not have all of the output yet.
                await self.output.wait_ended(patience=DRAIN_PATIENCE)
        finally:
            if self._process is not None and not self._is_over:
                self._tell(signal.SIGKILL)
            self.output.close()

    async def _end(self) -> None:
        """Asks everything that is left to end, and kills what does not within the grace."""
        assert self._process is not None
        self._tell(signal.SIGTERM)
        deadline = time.monotonic() + self._grace
        while self._is_left() and time.monotonic() < deadline:  # noqa: ASYNC110 - nobody tells of their end
            await asyncio.sleep(PAUSE)
        self._tell(signal.SIGKILL)
        await sweep(self._request.run_id, patience=DRAIN_PATIENCE)
        await wait_exit(self._process, patience=DRAIN_PATIENCE)
        self._is_over = True

    def _tell(self, number: signal.Signals) -> None:
        self._tell_group(number)
        send_marked(self._request.run_id, number)

    def _is_left(self) -> bool:
        return self._tell_group(None) or bool(find_marked(self._request.run_id))

    def _tell_group(self, number: signal.Signals | None) -> bool:
        """Signals the group, or only looks for it; whether it is there."""
        assert self._process is not None
        # Collected at once, it is not mistaken for one that is left.
        self._process.poll()
        # The number stays the group's while anyone is in it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number or 0)
            return True
        return False


def _reason(command: Command, request: Request, error: OSError) -> CannotRun:
    if not os.path.isdir(request.cwd):
        return CannotRun(f"error: cannot enter {request.cwd!r}: {error.strerror}", exit_code=EXIT_UNABLE)
    if isinstance(error, FileNotFoundError):
        return CannotRun(f"{command.name} binary not found", exit_code=EXIT_NOT_FOUND)
    return CannotRun(f"error: cannot run {command.name}: {error.strerror}", exit_code=EXIT_UNABLE)
