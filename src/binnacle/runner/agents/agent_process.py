"""An agent's program: its pipes, its log, and its end."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence

from binnacle.errors import AgentStart
from binnacle.processes.keeper import CannotStart, Keeper
from binnacle.processes.output_log import OutputLog
from binnacle.processes.piped_program import PipedProgram, start_piped
from binnacle.processes.rolling_file import RollingFile

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

    def __init__(self, program: PipedProgram, log: OutputLog, file: RollingFile) -> None:
        self._program = program
        self._file = file
        self.log = log
        self.drained = program.output_ended
        """Done when it has closed its output."""

    @property
    def pid(self) -> int:
        return self._program.owned.pid

    async def wait(self) -> int:
        """Its code, once it has ended."""
        return await self._program.owned.wait()

    def send(self, data: bytes) -> bool:
        """Writes to its input; whether it still takes any."""
        if not self._program.takes_input or self._program.unread_bytes > MAX_UNREAD_BYTES:
            return False
        self._program.send(data)
        return True

    async def end(self, *, grace: float = STOP_GRACE_SECONDS) -> int:
        """Closes its input, asks it to end after `grace` seconds, kills it after as many more; returns its code."""
        self._program.drop_input()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self.wait()
        code = await self._program.owned.end(grace=grace)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await asyncio.shield(self.drained)
        self._program.close()
        self._file.close()
        return code


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
    file = RollingFile(log, MAX_LOG_BYTES)
    kept = OutputLog(file)
    try:
        program = await start_piped(
            keeper, argv, env=env, cwd=cwd, on_output=take, on_errors=kept.write, on_start=kept.mark_start
        )
    except CannotStart as error:
        raise AgentStart(f"{argv[0]}: {error.message}", hint=hint) from error
    return AgentProcess(program, kept, file)
