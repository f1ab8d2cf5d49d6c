"""A debugger through the tools of a session, where it has them."""

import ast
import asyncio
import contextlib
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from scripted_agent.mcp_servers import Answer
from scripted_agent.tools import Tools

NEEDED = ("breakpoint_set", "breakpoint_remove", "debug_start", "debug_continue", "debug_evaluate", "debug_stop")
STOP_TIMEOUT_SECONDS = 5.0
"""Seconds for the program to be ended when the debugger is left."""

MAX_TRIES = 3
"""Calls of a tool that says it may be called again."""

START_TIMEOUT_MS = 60_000
"""Milliseconds for a test to reach its first breakpoint."""


class Place(Struct, frozen=True):
    """A frame of a program that stands still."""

    id: int
    path: str
    line: int


class Stop(Struct, frozen=True):
    """A program that stands still: its frames, innermost first, and the variables of the first."""

    frames: tuple[Place, ...]
    variables: dict[str, str]

    def shown(self, *names: str) -> str:
        """Variables as a line of text: all of them, or those of a name that is given."""
        shown = dict.fromkeys(name for name in names or self.variables if name in self.variables)
        return ", ".join(f"{name}={self.variables[name]}" for name in shown)


class Debugger:
    """Runs one test under the debugger. Leaving it ends the program and takes its breakpoints away."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._set: list[tuple[str, int]] = []
        self._runs = False

    @staticmethod
    def is_there(tools: Tools) -> bool:
        return all(tools.find(name) for name in NEEDED)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_TIMEOUT_SECONDS):
                if self._runs:
                    await self._tools.use("debug_stop")
                for path, line in list(self._set):
                    await self.pass_by(path, line)

    async def stop_at(self, path: str, line: int) -> bool:
        """Sets a breakpoint; whether there is one now."""
        for _ in range(MAX_TRIES):
            answer = await self._tools.use("breakpoint_set", path=path, line=line)
            if not answer.is_error:
                self._set.append((path, line))
                return True
            if not answer.is_passing:
                break
        return False

    async def pass_by(self, path: str, line: int) -> None:
        """Takes a breakpoint away."""
        if (path, line) in self._set:
            self._set.remove((path, line))
            await self._tools.use("breakpoint_remove", path=path, line=line)

    async def start(self, test: str) -> Stop | None:
        """Runs a test to its first stop; None if it does not come to one."""
        self._runs = True
        return self._stop(await self._tools.use("debug_start", pytest=test, timeoutMs=START_TIMEOUT_MS))

    async def go_on(self) -> Stop | None:
        """Lets the test run to its next stop."""
        return self._stop(await self._tools.use("debug_continue"))

    async def evaluate(self, expression: str, frame: Place) -> Any:
        """The value of an expression, if it is one that can be written down; None otherwise."""
        answer = await self._tools.use("debug_evaluate", expression=expression, frameId=frame.id)
        data = answer.data if isinstance(answer.data, dict) else {}
        try:
            return None if answer.is_error else ast.literal_eval(str(data.get("result")))
        except (SyntaxError, ValueError):
            return None

    def _stop(self, answer: Answer) -> Stop | None:
        data = answer.data if isinstance(answer.data, dict) else {}
        self._runs = data.get("state") != "terminated"
        if answer.is_error or data.get("state") != "paused" or data.get("reason") == "exception":
            return None
        frames = tuple(Place(one["id"], one.get("file", ""), one.get("line", 0)) for one in data.get("frames", ()))
        variables = {one["name"]: one["value"] for one in data.get("locals", ()) if one["name"].isidentifier()}
        return Stop(frames, variables) if frames else None
