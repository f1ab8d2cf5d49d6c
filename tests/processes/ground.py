"""Helps tests to start programs, to hear what they say, and to see what is left of them."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from binnacle.processes.keeper import Keeper, OwnedProgram
from passthrough import toy
from passthrough.conftest import COLD_TOY
from passthrough.stage import PATIENCE, Stage

T = TypeVar("T")

TOY = (sys.executable, toy.__file__)
"""The start of a command line for a program with bad habits."""


class Ground:
    """A place with a mark that every process started there carries, and an event loop of some kind."""

    def __init__(self, cwd: str, mark: str, new_loop: Callable[[], asyncio.AbstractEventLoop] | None) -> None:
        self.cwd = cwd
        self.env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "STAGE": mark}
        self.stage = Stage(COLD_TOY, cwd, mark)
        self._new_loop = new_loop
        self._open: list[int] = []
        """Where the output of programs is read."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` to its end, which must come."""

        async def limited() -> T:
            async with asyncio.timeout(PATIENCE):
                return await work

        try:
            with asyncio.Runner(loop_factory=self._new_loop) as runner:
                return runner.run(limited())
        finally:
            for descriptor in self._open:
                os.close(descriptor)
            self._open.clear()

    async def start(self, keeper: Keeper, *argv: str, **options: Any) -> "Program":
        """A program whose output can be read."""
        read, write = os.pipe()
        self._open.append(read)
        null = os.open(os.devnull, os.O_RDWR)
        given = {"env": self.env, "cwd": self.cwd, "stdin": null, "stdout": write, "stderr": write}
        try:
            return Program(await keeper.start(argv, **(given | options)), read)
        finally:
            os.close(write)
            os.close(null)


class Program:
    """A program that was started, and what it says."""

    def __init__(self, owned: OwnedProgram, output: int) -> None:
        self.owned = owned
        self._output = output
        self._said = b""

    async def wait_for(self, word: str, *, times: int = 1) -> list[int]:
        """The numbers in the lines that begin with `word`, once there are so many lines."""
        while True:
            lines = [line.decode().split() for line in self._said.splitlines(keepends=True) if line.endswith(b"\n")]
            found = [numbers for first, *numbers in lines if first == word]
            if len(found) >= times:
                return [int(number) for numbers in found for number in numbers]
            assert await self._listen(), f"never said: {word}"

    async def read(self) -> bytes:
        """All that it says until nobody holds its output any more."""
        while await self._listen():
            pass
        return self._said

    async def _listen(self) -> bool:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(self._output, lambda: ready.done() or ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(self._output)
        data = os.read(self._output, 65536)
        self._said += data
        return data != b""
