"""Runs command lines as separate processes and returns their output."""

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from binnacle.passthrough.call_process import CallProcess, CannotRun
from binnacle.passthrough.call_request import CallRequest, make_request
from binnacle.passthrough.capture import CapturedOutput, OnOutput
from binnacle.passthrough.command import BN, PassthroughCommand
from binnacle.passthrough.completed_call import EXIT_TIMED_OUT, EXIT_UNABLE, CompletedCall, exit_code_of, with_note
from binnacle.passthrough.current_fork_server import CurrentForkServer
from binnacle.passthrough.fork_server import CAN_FORK, ForkServerLost
from binnacle.passthrough.spawned_call import SpawnedCall
from binnacle.processes.keeper import Keeper

MAX_OUTPUT_BYTES = 10 * 1024 * 1024
"""Bytes kept of each stream."""

CLOSE_TIMEOUT_SECONDS = 30.0
"""Seconds for running calls to end when the `CommandRunner` closes. They are killed long before."""


class CommandCall(NamedTuple):
    """One command line that is being run."""

    request: CallRequest
    timeout: float
    deadline: float
    """On the loop's clock."""

    on_output: OnOutput | None


class CallEnd(NamedTuple):
    """How a call ended."""

    exit_code: int
    note: str = ""
    timed_out: bool = False
    output: CapturedOutput | None = None
    """Its output, if it began. Complete once its process is closed."""


class CommandRunner:
    """Runs one command, several calls at a time. Leaving the block ends every call and the fork server."""

    def __init__(
        self,
        command: PassthroughCommand = BN,
        *,
        at_once: int = 16,
        output_limit: int = MAX_OUTPUT_BYTES,
        grace: float = 1.0,
        fork: bool = CAN_FORK,
    ) -> None:
        """Runs `at_once` calls at the same time; others wait.

        A call that has to end is asked to, and killed after `grace` seconds. Without `fork`, a call is a new process.
        """
        self._command = command
        self._output_limit = output_limit
        self._grace = grace
        self._slots = asyncio.Semaphore(at_once)
        self._fork_servers = CurrentForkServer(command, grace=grace) if fork else None
        self._calls: set[asyncio.Task[CallEnd]] = set()
        """Running calls. The runner owns a call: its caller may be gone before it has ended."""

        self._processes: set[CallProcess] = set()
        self._keeper = Keeper()
        """Starts the calls that are not forked."""

        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def start(self) -> None:
        """Starts the fork server before the first call. If that fails, calls are new processes, and try again."""
        if self._fork_servers is not None:
            with contextlib.suppress(ForkServerLost):
                await self._fork_servers.get()

    async def run(
        self,
        args: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        on_output: OnOutput | None = None,
    ) -> CompletedCall:
        """Runs one command line to its end, at most `timeout` seconds and the grace.

        Everything that the process started ends with it. Cancelling ends the process before this returns.

        Raises:
            InvalidInput: no process could be given these arguments.
        """
        request = make_request(args, cwd=cwd, env=env)
        began = time.monotonic()
        call = CommandCall(request, timeout, asyncio.get_running_loop().time() + timeout, on_output)
        ending = await self._own(self._wait_for_turn(call))
        output = ending.output
        return CompletedCall(
            stdout=output.stdout.text() if output else "",
            stderr=with_note(output.stderr.text() if output else "", ending.note),
            exit_code=ending.exit_code,
            timed_out=ending.timed_out,
            cut=output is not None and output.is_cut,
            duration=time.monotonic() - began,
        )

    async def _own(self, work: Coroutine[Any, Any, CallEnd]) -> CallEnd:
        """Runs a call and waits for its end, here or when the `CommandRunner` closes."""
        task = asyncio.create_task(work)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            # A second cancellation only ends this wait. The task keeps ending the call.
            await asyncio.wait([task])
            raise
        return task.result()

    async def _wait_for_turn(self, call: CommandCall) -> CallEnd:
        try:
            async with asyncio.timeout_at(call.deadline):
                await self._slots.acquire()
        except TimeoutError:
            return _timed_out(call)
        try:
            return await self._carry_out(call)
        finally:
            self._slots.release()

    async def _carry_out(self, call: CommandCall) -> CallEnd:
        process: CallProcess | None = None
        try:
            async with asyncio.timeout_at(call.deadline):
                process = await self._launch(call)
                self._processes.add(process)
                self._check_open()
                code = await process.wait()
            return CallEnd(exit_code_of(code), process.note, output=process.output)
        except TimeoutError:
            return _timed_out(call, process.output if process else None)
        except CannotRun as error:
            return CallEnd(error.exit_code, error.message)
        finally:
            if process is not None:
                await process.aclose()
                self._processes.discard(process)

    async def _launch(self, call: CommandCall) -> CallProcess:
        """Begins the call: in a fork, in a fork of a new fork server, or else as a new process."""
        for _ in range(2 if self._fork_servers is not None else 0):
            self._check_open()
            with contextlib.suppress(ForkServerLost):
                assert self._fork_servers is not None
                return await self._fork_servers.launch(call.request, self._output(call))
        self._check_open()
        return await SpawnedCall.start(self._keeper, self._command, call.request, self._output(call), grace=self._grace)

    def _output(self, call: CommandCall) -> CapturedOutput:
        return CapturedOutput(limit=self._output_limit, on_output=call.on_output)

    def _check_open(self) -> None:
        if self._is_closed:
            raise CannotRun("error: the server is shutting down", exit_code=EXIT_UNABLE)

    async def aclose(self) -> None:
        """Ends every call, then the fork server. Waiting calls do not begin."""
        self._is_closed = True
        await asyncio.gather(*(process.aclose() for process in self._processes))
        if self._calls:
            await asyncio.wait(self._calls, timeout=CLOSE_TIMEOUT_SECONDS)
        if self._fork_servers is not None:
            await self._fork_servers.aclose()
        await self._keeper.aclose()


def _timed_out(call: CommandCall, output: CapturedOutput | None = None) -> CallEnd:
    note = f"Command timed out after {call.timeout:g} seconds"
    return CallEnd(EXIT_TIMED_OUT, note, timed_out=True, output=output)
