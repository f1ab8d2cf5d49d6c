"""A call as a new process: without fork, and when the fork server fails.

The keeper starts it and ends it with everything it started; this only translates between a call and a program.
"""

import os
from contextlib import ExitStack

from binnacle.passthrough.call_process import DRAIN_TIMEOUT_SECONDS, CannotRun
from binnacle.passthrough.call_request import CallRequest
from binnacle.passthrough.capture import CapturedOutput
from binnacle.passthrough.command import PassthroughCommand
from binnacle.passthrough.completed_call import EXIT_NOT_FOUND, EXIT_UNABLE
from binnacle.processes.keeper import CannotStart, Keeper, OwnedProgram


class SpawnedCall:
    """A program of the keeper, and its output."""

    def __init__(self, program: OwnedProgram, output: CapturedOutput, *, grace: float) -> None:
        self.output = output
        self.note = ""
        self._program = program
        self._grace = grace

    @classmethod
    async def start(
        cls, keeper: Keeper, command: PassthroughCommand, request: CallRequest, output: CapturedOutput, *, grace: float
    ) -> "SpawnedCall":
        """Begins a call.

        Raises:
            CannotRun: there is no such program or directory, or the system refuses.
        """
        try:
            return cls(await _spawn(keeper, command, request, output), output, grace=grace)
        except BaseException:
            output.close()
            raise

    async def wait(self) -> int:
        await self._program.wait()
        # Then what it left running is gone, too.
        code = await self._program.end(grace=self._grace)
        await self.output.wait_ended(patience=DRAIN_TIMEOUT_SECONDS)
        return code

    async def aclose(self) -> None:
        try:
            await self._program.end(grace=self._grace)
            # Also if the end is known already: the caller may not have all of the output yet.
            await self.output.wait_ended(patience=DRAIN_TIMEOUT_SECONDS)
        finally:
            self.output.close()


async def _spawn(
    keeper: Keeper, command: PassthroughCommand, request: CallRequest, output: CapturedOutput
) -> OwnedProgram:
    argv = command.find_argv()
    if argv is None:
        raise CannotRun(f"{command.name} binary not found", exit_code=EXIT_NOT_FOUND)
    try:
        with ExitStack() as theirs:
            nothing = os.open(os.devnull, os.O_RDONLY)
            theirs.callback(os.close, nothing)
            return await keeper.start(
                [*argv, *request.args],
                env=request.env,
                cwd=request.cwd,
                stdin=nothing,
                stdout=output.stdout.open(theirs),
                stderr=output.stderr.open(theirs),
            )
    except CannotStart as error:
        raise _explain(command, request, error.message) from error
    except OSError as error:
        raise _explain(command, request, error.strerror or str(error)) from error


def _explain(command: PassthroughCommand, request: CallRequest, reason: str) -> CannotRun:
    if not os.path.isdir(request.cwd):
        problem = "Not a directory" if os.path.exists(request.cwd) else "No such file or directory"
        return CannotRun(f"error: cannot enter {request.cwd!r}: {problem}", exit_code=EXIT_UNABLE)
    if reason.startswith(("no such command", "the interpreter")):
        return CannotRun(f"{command.name} binary not found", exit_code=EXIT_NOT_FOUND)
    problem = "Permission denied" if reason.startswith("permission denied") else reason.rpartition(": ")[2]
    return CannotRun(f"error: cannot run {command.name}: {problem}", exit_code=EXIT_UNABLE)
