"""Runs command lines as processes of their own and returns what they said."""

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from binnacle.passthrough.capture import OnOutput, Output
from binnacle.passthrough.cold import ColdProcess
from binnacle.passthrough.command import BN, Command
from binnacle.passthrough.completed import EXIT_TIMED_OUT, EXIT_UNABLE, Completed, exit_code_of, with_note
from binnacle.passthrough.forkserver import CAN_FORK, ForkServerLost
from binnacle.passthrough.process import CannotRun, Process
from binnacle.passthrough.request import Request, make_request
from binnacle.passthrough.upkeep import Upkeep

OUTPUT_LIMIT = 10 * 1024 * 1024
"""Bytes kept of each stream."""

CLOSE_PATIENCE = 30.0
"""Seconds for the calls under way to end when the `Runner` closes. They are ended by force long before."""


class Call(NamedTuple):
    """One command line on its way."""

    request: Request
    timeout: float
    deadline: float
    """On the loop's clock."""

    on_output: OnOutput | None


class Ending(NamedTuple):
    """How a call ended."""

    exit_code: int
    note: str = ""
    timed_out: bool = False
    output: Output | None = None
    """What it said, if it began. Complete once its process is closed."""


class Runner:
    """Runs one command, several calls at a time. Leaving it ends every call and the fork server; nothing is left."""

    def __init__(
        self,
        command: Command = BN,
        *,
        at_once: int = 16,
        output_limit: int = OUTPUT_LIMIT,
        grace: float = 1.0,
        fork: bool = CAN_FORK,
    ) -> None:
        """Runs `at_once` calls, while others wait for their turn.

        A call that has to end is asked to, and killed after `grace` seconds. Without `fork` every call is cold.
        """
        self._command = command
        self._output_limit = output_limit
        self._grace = grace
        self._slots = asyncio.Semaphore(at_once)
        self._upkeep = Upkeep(command, grace=grace) if fork else None
        self._calls: set[asyncio.Task[Ending]] = set()
        """Those under way. A call belongs to the runner: its caller may be gone before it has ended."""

        self._processes: set[Process] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def start(self) -> None:
        """Starts the fork server ahead of the first call. If that fails, calls are cold; they try again."""
        if self._upkeep is not None:
            with contextlib.suppress(ForkServerLost):
                await self._upkeep.get()

    async def run(
        self,
        args: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        on_output: OnOutput | None = None,
    ) -> Completed:
        """Runs one command line to its end, which comes after `timeout` seconds at the latest, and a little grace.

        What the process leaves running is ended with it. Cancelled, it ends the process before it returns.

        Raises:
            InvalidInput: no process could be given these arguments.
        """
        request = make_request(args, cwd=cwd, env=env)
        began = time.monotonic()
        call = Call(request, timeout, asyncio.get_running_loop().time() + timeout, on_output)
        ending = await self._own(self._wait_for_turn(call))
        output = ending.output
        return Completed(
            stdout=output.stdout.text() if output else "",
            stderr=with_note(output.stderr.text() if output else "", ending.note),
            exit_code=ending.exit_code,
            timed_out=ending.timed_out,
            cut=output is not None and output.is_cut,
            duration=time.monotonic() - began,
        )

    async def _own(self, work: Coroutine[Any, Any, Ending]) -> Ending:
        """Carries out a call whose end is waited for here, or else when the `Runner` closes."""
        task = asyncio.create_task(work)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            # A second cancel only ends this wait. The task goes on ending the call.
            await asyncio.wait([task])
            raise
        return task.result()

    async def _wait_for_turn(self, call: Call) -> Ending:
        try:
            async with asyncio.timeout_at(call.deadline):
                await self._slots.acquire()
        except TimeoutError:
            return _timed_out(call)
        try:
            return await self._carry_out(call)
        finally:
            self._slots.release()

    async def _carry_out(self, call: Call) -> Ending:
        process: Process | None = None
        try:
            async with asyncio.timeout_at(call.deadline):
                process = await self._launch(call)
                self._processes.add(process)
                self._check_open()
                code = await process.wait()
            return Ending(exit_code_of(code), process.note, output=process.output)
        except TimeoutError:
            return _timed_out(call, process.output if process else None)
        except CannotRun as error:
            return Ending(error.exit_code, error.message)
        finally:
            if process is not None:
                await process.aclose()
                self._processes.discard(process)

    async def _launch(self, call: Call) -> Process:
        """Begins the call: in a fork, in one of a new fork server, or else cold."""
        for _ in range(2 if self._upkeep is not None else 0):
            self._check_open()
            with contextlib.suppress(ForkServerLost):
                assert self._upkeep is not None
                return await self._upkeep.launch(call.request, self._output(call))
        self._check_open()
        process = ColdProcess(call.request, self._output(call), grace=self._grace)
        process.start(self._command)
        return process

    def _output(self, call: Call) -> Output:
        return Output(limit=self._output_limit, on_output=call.on_output)

    def _check_open(self) -> None:
        if self._is_closed:
            raise CannotRun("error: the server is shutting down", exit_code=EXIT_UNABLE)

    async def aclose(self) -> None:
        """Ends every call, then the fork server. Calls that wait for their turn do not begin."""
        self._is_closed = True
        await asyncio.gather(*(process.aclose() for process in self._processes))
        if self._calls:
            await asyncio.wait(self._calls, timeout=CLOSE_PATIENCE)
        if self._upkeep is not None:
            await self._upkeep.aclose()


def _timed_out(call: Call, output: Output | None = None) -> Ending:
    note = f"Command timed out after {call.timeout:g} seconds"
    return Ending(EXIT_TIMED_OUT, note, timed_out=True, output=output)
