"""Runs a script of a project: a program next to its metadata, started for one call.

It gets its parameters as JSON on standard input and answers with JSON on standard output: the data, or
`{"error": {"code", "message", "hint"}}`. Each line on standard error reports progress. No shell is involved.
"""

import asyncio
import os
import re
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from binnacle.bridge.jobs.protocol import BridgeError, JobError
from binnacle.config.child_environment import for_development
from binnacle.processes.keeper import CannotStart, Keeper
from binnacle.processes.piped_program import PipedProgram, start_piped
from binnacle.wire.framing import LineDecoder, OversizedLine
from binnacle.wire.json_limits import TOO_COMPLEX, is_too_complex

MAX_OUTPUT_BYTES = 8 << 20
"""Bytes that a program may answer."""

MAX_PROGRESS_LINE_BYTES = 64 << 10
SHOWN_ERROR_LINES = 20
"""Lines of its standard error that are shown when it fails."""

SCRIPT_END_GRACE_SECONDS = 1.0
"""Seconds for a program to end after it is asked to."""

PIPE_DRAIN_SECONDS = 1.0
"""Seconds to read its pipes after it has ended; a process that it left behind may keep them open."""

_PERCENT = re.compile(r"\s*(\d{1,3}(?:\.\d+)?)\s*%\s*(.*)", re.DOTALL)

Tell = Callable[[float | None, str], None]
"""Called with a script's progress, in percent if known."""


class _Failed(msgspec.Struct):
    error: JobError


class _Told(msgspec.Struct):
    pct: float | None = None
    text: str = ""


async def run_program(
    keeper: Keeper,
    program: str,
    params: Mapping[str, Any],
    *,
    alias: str,
    workspace: str,
    timeout: float,
    tell: Tell,
) -> Any:
    """Runs a program and returns its answer. Cancelling ends the program with everything it started.

    Raises:
        BridgeError: its error, or how it failed.
    """
    run = _Run(keeper, alias, tell)
    try:
        async with asyncio.timeout(timeout):
            await run.start(program, msgspec.json.encode(params), workspace)
            code = await run.wait()
    except TimeoutError as error:
        raise BridgeError(
            "E_TIMEOUT",
            f"{alias} did not end within {timeout:g} s and was ended",
            hint="give it less to do, or more time in its metadata: mcp.timeout",
            details=run.last_words(),
        ) from error
    finally:
        await run.end()
    return run.answer(code)


class _Run:
    """A running program, and its output so far."""

    def __init__(self, keeper: Keeper, alias: str, tell: Tell) -> None:
        self._keeper = keeper
        self._alias = alias
        self._tell = tell
        self._program: PipedProgram | None = None
        self._output = bytearray()
        self._progress = LineDecoder(MAX_PROGRESS_LINE_BYTES)
        self._lines: deque[str] = deque(maxlen=SHOWN_ERROR_LINES)
        self._flooded = asyncio.Event()

    async def start(self, program: str, given: bytes, workspace: str) -> None:
        environ = for_development(os.environ) | {"BN_SCRIPT": self._alias, "BN_WORKSPACE": workspace}
        try:
            self._program = await start_piped(
                self._keeper, (program,), env=environ, cwd=workspace, on_output=self._take, on_errors=self._hear
            )
        except CannotStart as error:
            raise BridgeError(
                "E_SCRIPT_FAILED",
                f"{self._alias} cannot be started: {error.message}",
                hint="its first line must name its interpreter, and the file must be executable",
            ) from error
        self._program.send(given)
        self._program.finish_input()

    async def wait(self) -> int:
        """Waits until it has ended and its output is read. Returns its exit code."""
        assert self._program is not None
        loop = asyncio.get_running_loop()
        ended, flooded = loop.create_task(self._program.owned.wait()), loop.create_task(self._flooded.wait())
        try:
            await asyncio.wait({ended, flooded}, return_when=asyncio.FIRST_COMPLETED)
            if self._flooded.is_set():
                raise BridgeError(
                    "E_LARGE_DATA",
                    f"{self._alias} wrote more than {MAX_OUTPUT_BYTES >> 20} MB and was ended",
                    hint="write large results to a file and answer with its path",
                )
            pipes = (self._program.output_ended, self._program.errors_ended)
            await asyncio.wait(pipes, timeout=PIPE_DRAIN_SECONDS)
            return ended.result()
        finally:
            ended.cancel()
            flooded.cancel()

    async def end(self) -> None:
        if self._program is not None:
            owned = self._program.owned
            await owned.end(grace=SCRIPT_END_GRACE_SECONDS if owned.returncode is None else 0)
            self._program.close()

    def answer(self, code: int) -> Any:
        """The answer that it wrote.

        Raises:
            BridgeError: its error, or its answer cannot be read.
        """
        written = bytes(self._output).strip()
        if is_too_complex(written):
            raise self._failure(f"answered JSON that is {TOO_COMPLEX}")
        with suppress(msgspec.DecodeError):
            fault = msgspec.json.decode(written, type=_Failed).error
            details = fault.details if isinstance(fault.details, dict) else None
            raise BridgeError(
                fault.code, fault.message, hint=fault.hint, retryable=fault.retryable, details=details
            ) from None
        if code != 0:
            raise self._failure(f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}")
        try:
            return msgspec.json.decode(written) if written else None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._failure(f"answered what is no JSON: {error}") from error

    def last_words(self) -> dict[str, Any]:
        return {"stderr": list(self._lines)} if self._lines else {}

    def _failure(self, how: str) -> BridgeError:
        said = "\n".join(self._lines)
        return BridgeError(
            "E_SCRIPT_FAILED",
            f"{self._alias} {how}" + (f"; it said:\n{said}" if said else ""),
            hint="fix the script, or its parameters",
            details=self.last_words(),
        )

    def _take(self, data: bytes) -> None:
        if len(self._output) + len(data) > MAX_OUTPUT_BYTES:
            self._flooded.set()
        else:
            self._output += data

    def _hear(self, data: bytes) -> None:
        for line in self._progress.feed(data):
            shown = line.beginning if isinstance(line, OversizedLine) else line
            if text := shown.decode(errors="replace").strip():
                self._lines.append(text)
                self._tell(*_progress(text))


def _progress(line: str) -> tuple[float | None, str]:
    """`50% half way`, `{"pct": 50, "text": "half way"}` or just words."""
    if line.startswith("{"):
        with suppress(msgspec.DecodeError):
            told = msgspec.json.decode(line, type=_Told)
            return told.pct, told.text
    if (found := _PERCENT.fullmatch(line)) is not None:
        return min(100.0, float(found[1])), found[2].strip()
    return None, line
