"""Runs programs to their end: tests, git, and commands that stand in a specification."""

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence

from msgspec import Struct

from binnacle.processes.keeper import CannotStart, Keeper

OUTPUT_TAIL_BYTES = 64 << 10
"""Bytes of a program's output that are read."""


class Ended(Struct, frozen=True):
    """What came of a program."""

    code: int
    output: str

    @property
    def is_good(self) -> bool:
        return self.code == 0


async def run(
    keeper: Keeper,
    words: Sequence[str],
    *,
    folder: str,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    within: float = 120.0,
) -> Ended:
    """Runs a program and waits for its end. When that takes too long, or nobody waits any more, it is ended."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        streams = {"stdin": source.fileno(), "stdout": output.fileno(), "stderr": output.fileno()}
        try:
            process = await keeper.start(words, env={**os.environ, **(env or {})}, cwd=folder, **streams)
        except CannotStart as error:
            return Ended(127, error.message)
        late = ""
        try:
            async with asyncio.timeout(within):
                code = await process.wait()
        except TimeoutError:
            late = f"\n(ended after {within:g} s)"
        finally:
            code = await process.end(grace=0.5)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - OUTPUT_TAIL_BYTES))
        return Ended(code or (1 if late else 0), output.read().decode(errors="replace") + late)
