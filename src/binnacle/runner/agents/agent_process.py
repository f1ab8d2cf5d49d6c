"""An agent's program: its pipes, its log, and its end."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence

from binnacle.config.rolling_file import RollingFile
from binnacle.errors import AgentStart
from binnacle.processes.keeper import CannotStart, Keeper
from binnacle.processes.output_log import OutputLog
from binnacle.processes.piped_program import PipedProgram, start_piped

MAX_LOG_BYTES = 4 << 20
"""Bytes of an agent's log before it is renamed to `….old`; the `.old` before is removed."""

MAX_UNREAD_BYTES = 64 << 20
"""Bytes buffered for an agent that does not read. Prompts and answers are far smaller."""

DRAIN_SECONDS = 2.0
"""Seconds for reading the last output of an agent that has ended."""

STOP_GRACE_SECONDS = 3.0
"""Seconds an agent gets to end after its input is closed, and again after it is asked to."""


class AgentProcess:
    """A running agent. It ends with everything it started, at the latest with its `Keeper`."""

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
    """Starts an agent. `take` gets its standard output, `log` its standard error.

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
