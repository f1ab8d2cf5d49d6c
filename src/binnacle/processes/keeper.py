"""Starts owned programs: whatever happens, they end with everything they started."""

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from binnacle.processes.keeper_connection import KeeperConnection
from binnacle.processes.program_state import KEEPER_LOST, ProgramState

CLOSE_TIMEOUT_SECONDS = 6.0
"""Seconds for the keeper to end everything. It gives programs two, then kills them."""

ANSWER_TIMEOUT_SECONDS = 5.0
"""Seconds beyond a program's grace after which a keeper that has not reported its end is stuck."""

START_TIMEOUT_SECONDS = 30.0
"""Seconds until a program runs. It takes milliseconds, unless its file is on a disk that does not answer."""

CLOSED_MESSAGE = "the server is shutting down"


class CannotStart(Exception):
    """A program that never ran."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        """Why it did not start: `no such command: npx`."""


class OwnedProgram:
    """A program that was started. It ends with everything it started, at the latest with its `Keeper`."""

    def __init__(self, run: ProgramState) -> None:
        self._run = run

    @property
    def pid(self) -> int:
        """The id of its process, which leads a session and a process group."""
        return self._run.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code once it has ended; negative for a signal."""
        return self._run.returncode

    async def wait(self) -> int:
        """Waits until the program has ended. Returns its exit code.

        What it leaves behind is then being ended, too; `end` waits for that.
        """
        await asyncio.wait([self._run.exited])
        return self._run.exited.result()

    async def end(self, *, grace: float = 2.0) -> int:
        """Asks the program and all it started to end, kills what is left after `grace` seconds. Returns its code.

        Afterwards nothing of it is left. Cancelling the caller does not stop this; a second call does no harm.
        """
        run = self._run
        if not run.gone.done():
            run.end(grace=grace)
            await asyncio.wait([run.gone], timeout=grace + ANSWER_TIMEOUT_SECONDS)
        if not run.gone.done():
            run.link.kill()
            await asyncio.wait([run.gone])
        return run.exited.result()


class Keeper:
    """Starts programs and owns them. Leaving the block ends all of them, within a bound.

    A separate process does the work. It starts with the first program and is replaced if it was killed.
    """

    def __init__(self) -> None:
        self._link: KeeperConnection | None = None
        self._links: set[KeeperConnection] = set()
        """Every one that is not gone yet."""

        self._runs: dict[int, ProgramState] = {}
        """Programs of which something may be left."""

        self._last_number = 0
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str, stdin: int, stdout: int, stderr: int
    ) -> OwnedProgram:
        """Starts a program with exactly this environment, and a mark in `BN_KEPT`.

        The command is searched for in the given `PATH`; one with a slash is relative to `cwd`. The descriptors are
        duplicated, so the caller closes its own afterwards. A cancelled start leaves nothing behind.

        Raises:
            CannotStart: the message says why.
        """
        request = _encode(argv, env, os.path.abspath(cwd))
        run, reason = await self._try_start(request, (stdin, stdout, stderr))
        if reason == KEEPER_LOST:
            # The keeper was killed and this attempt left nothing, or it was closed, which fails the second attempt.
            run, reason = await self._try_start(request, (stdin, stdout, stderr))
        if reason:
            raise CannotStart(reason)
        return OwnedProgram(run)

    async def aclose(self) -> None:
        """Ends everything that is left, and the keeper's process."""
        self._is_closed = True
        for link in self._links:
            link.hang_up()
        gone = [link.gone for link in self._links]
        if not gone:
            return
        _, stuck = await asyncio.wait(gone, timeout=CLOSE_TIMEOUT_SECONDS)
        if stuck:
            for link in self._links:
                link.kill()
            await asyncio.wait(stuck)

    async def _try_start(self, request: tuple[object, ...], descriptors: Sequence[int]) -> tuple[ProgramState, str]:
        """A program, and why it did not start."""
        run = self._begin(request, descriptors)
        try:
            await asyncio.wait([run.started], timeout=START_TIMEOUT_SECONDS)
        except BaseException:
            # The caller was cancelled. The keeper ends the program, however far it got.
            run.end(grace=0)
            raise
        if not run.started.done():
            run.end(grace=0)
            return run, f"not running after {START_TIMEOUT_SECONDS:g} seconds"
        return run, run.started.result()

    def _begin(self, request: tuple[object, ...], descriptors: Sequence[int]) -> ProgramState:
        if self._is_closed:
            raise CannotStart(CLOSED_MESSAGE)
        self._last_number += 1
        try:
            run = ProgramState(self._last_number, self._get_link())
            run.link.send("start", run.number, *request, descriptors=descriptors)
        except OSError as error:
            raise CannotStart(f"cannot start a process: {error.strerror}") from error
        self._runs[run.number] = run
        return run

    def _get_link(self) -> KeeperConnection:
        if self._link is None or not self._link.is_open:
            link = self._link = KeeperConnection(self._hear)
            self._links.add(link)
            link.gone.add_done_callback(lambda _: self._forget(link))
        return self._link

    def _hear(self, message: tuple[Any, ...]) -> None:
        word, number, *rest = message
        if run := self._runs.get(number):
            run.hear(word, *rest)
            if run.gone.done():
                del self._runs[number]

    def _forget(self, link: KeeperConnection) -> None:
        """Forgets a keeper that is gone, with everything it had started."""
        self._links.discard(link)
        for run in [run for run in self._runs.values() if run.link is link]:
            run.lose()
            del self._runs[run.number]


def _encode(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> tuple[object, ...]:
    """A program in the form that the keeper takes.

    Raises:
        CannotStart: no process could be given this.
    """
    if not argv:
        raise CannotStart("no command given")
    if (bad := next((name for name in env if not name or "=" in name), None)) is not None:
        raise CannotStart(f"not a name of a variable: {bad!r}")
    words = tuple(_to_bytes(word, repr(word)) for word in argv)
    # A value may be a secret, so the message has its name.
    pairs = tuple(
        (_to_bytes(name, repr(name)), _to_bytes(value, f"the value of {name}")) for name, value in env.items()
    )
    return words, pairs, _to_bytes(cwd, repr(cwd))


def _to_bytes(text: str, what: str) -> bytes:
    with contextlib.suppress(UnicodeEncodeError):
        if b"\0" not in (encoded := os.fsencode(text)):
            return encoded
    raise CannotStart(f"not a text that a process can be given: {what}")
