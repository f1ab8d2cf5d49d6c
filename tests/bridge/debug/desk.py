"""Helps tests to debug programs, and to see what is left of them."""

import asyncio
import os
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

import pytest

from binnacle.bridge.debug.debugger import Debugger
from binnacle.bridge.debug.scripts.script_table import run_script
from binnacle.errors import BridgeError
from binnacle.processes.keeper import Keeper
from passthrough.stage import Stage

T = TypeVar("T")

PATIENCE = 60
"""Seconds until a test gives up waiting."""


class Call:
    """A call as a script sees it."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.began = asyncio.Event()
        """Set when the script has told how far it is."""

    def progress(self, _pct: float | None, _text: str = "") -> None:
        self.began.set()


class Desk:
    """A workspace, and a debugger for it that is called as agents do."""

    def __init__(self, workspace: str, runner: asyncio.Runner, stage: Stage) -> None:
        self.workspace = workspace
        self.stage = stage
        self._runner = runner
        self.keeper, self.debugger = self.run(self._open())

    async def _open(self) -> tuple[Keeper, Debugger]:
        keeper = Keeper()
        return keeper, Debugger(self.workspace, keeper)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` to its end, which must come."""

        async def limited() -> T:
            async with asyncio.timeout(PATIENCE):
                return await work

        return self._runner.run(limited())

    def __call__(self, script: str, **params: Any) -> Any:
        return self.run(self.ask(script, **params))

    async def ask(self, script: str, *, call: Call | None = None, **params: Any) -> Any:
        return await run_script(self.debugger, script, params, call or Call())

    def fails(self, code: str, script: str, **params: Any) -> BridgeError:
        """Calls a script that answers with that error, and with what to do next."""
        with pytest.raises(BridgeError) as caught:
            self(script, **params)
        assert caught.value.code == code, caught.value
        assert caught.value.hint
        return caught.value

    def keeper_process(self) -> int | None:
        """The process that owns all that is started; there from the first start on."""
        link = self.keeper._link
        return link.pid if link else None

    def restart(self) -> None:
        """Another host takes the place of this one."""
        self.close()
        self.keeper, self.debugger = self.run(self._open())

    def close(self) -> None:
        async def close() -> None:
            await self.debugger.close()
            await self.keeper.aclose()

        self.run(close())

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def stop_at(self, program: str, line: int, **params: Any) -> Any:
        """A program that stands at a line."""
        self("breakpoint.set", path=program, line=line)
        told = self("debug.start", program=program, **params)
        assert where(told) == (program, line)
        return told


def where(told: Any) -> tuple[str, int]:
    """File and line where a program stands."""
    assert told["state"] == "paused", told
    return told["frames"][0]["file"], told["frames"][0]["line"]


def values(variables: Iterable[dict[str, Any]]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in variables}


def is_there(pid: int) -> bool:
    """Whether a process runs."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
