"""Helps tests to run calls, to watch them, and to see what is left of them."""

import asyncio
import contextlib
import os
import select
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from binnacle.passthrough.command import PassthroughCommand
from binnacle.passthrough.command_runner import CommandRunner
from binnacle.passthrough.completed_call import CompletedCall

T = TypeVar("T")

PATIENCE = 60
"""Seconds until a test gives up waiting."""


class Stage:
    """A place with a mark that every process started there carries."""

    def __init__(self, command: PassthroughCommand, cwd: str, mark: str) -> None:
        self.command = command
        self.cwd = cwd
        self.env = {"PATH": os.environ["PATH"], "STAGE": mark}
        self.options: dict[str, Any] = {"grace": 5.0}
        self._mark = f"STAGE={mark}".encode()

    def runner(self, **options: Any) -> CommandRunner:
        return CommandRunner(self.command, **(self.options | options))

    async def call(self, runner: CommandRunner, *words: str, **options: Any) -> CompletedCall:
        return await runner.run(words, **({"cwd": self.cwd, "env": self.env, "timeout": PATIENCE} | options))

    def play(self, *words: str, runner: dict[str, Any] | None = None, **options: Any) -> CompletedCall:
        """One call of a runner of its own."""

        async def alone() -> CompletedCall:
            async with self.runner(**(runner or {})) as opened:
                return await self.call(opened, *words, **options)

        return bounded(alone())

    def processes(self) -> list[int]:
        """Everyone on stage."""
        return [pid for pid in _pids() if self._mark in _read(f"/proc/{pid}/environ").split(b"\0")]

    def zombies(self) -> list[int]:
        """Children of this process that nobody has collected."""
        own = str(os.getpid()).encode()
        stats = {pid: _read(f"/proc/{pid}/stat").rpartition(b")")[2].split() for pid in _pids()}
        return [pid for pid, stat in stats.items() if stat[:2] == [b"Z", own]]

    @staticmethod
    def descriptors() -> list[str]:
        """What this process has open."""
        open_now = []
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):
                open_now.append(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        return sorted(line for line in open_now if not line.endswith("/fd"))


class Watched:
    """A call under way, and what it has said so far."""

    def __init__(self, stage: Stage, runner: CommandRunner, *words: str, **options: Any) -> None:
        self.said = ""
        self._more = asyncio.Event()
        self.task = asyncio.create_task(stage.call(runner, *words, on_output=self._hear, **options))

    def _hear(self, _stream: str, text: str) -> None:
        self.said += text
        self._more.set()

    async def wait_for(self, words: str) -> list[str]:
        """The rest of the line that begins with `words`, once it was said."""
        while True:
            for line in self.said.splitlines(keepends=True):
                if line.startswith(words) and line.endswith("\n"):
                    return line.removeprefix(words).split()
            self._more.clear()
            await self._more.wait()


def skip_in_portable_mode(reason: str) -> None:
    """For a case of a test that only Linux guarantees; `linux_only` is for whole tests."""
    if os.environ.get("BN_PORTABLE") == "1":
        pytest.skip(reason)


def bounded(work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` to its end, which must come."""

    async def limited() -> T:
        async with asyncio.timeout(PATIENCE):
            return await work

    return asyncio.run(limited())


def is_alive(pid: int) -> bool:
    """Whether a process is there and is not a zombie."""
    stat = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return bool(stat) and stat[0] not in (b"Z", b"X")


def parent_of(pid: int) -> int | None:
    stat = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(stat[1]) if stat else None


def wait_gone(pids: list[int]) -> None:
    """Waits until processes that are no children of ours have ended."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([descriptor], [], [], PATIENCE)[0], f"process {pid} lives on"
        finally:
            os.close(descriptor)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
