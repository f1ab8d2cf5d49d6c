"""The process of a debug adapter, and how to connect to it: over a socket that it inherits, or a port it listens at.

Some adapters let the program that they start write to their own output (`prints`); that is read, too.
"""

import asyncio
import codecs
import os
import shutil
import socket
from collections.abc import Awaitable, Callable

from binnacle.bridge.debug.adapters import FoundAdapter
from binnacle.bridge.debug.cancellable_wait import UncancellableCall
from binnacle.bridge.debug.dap import AdapterRefused, DapConnection, OnEvent, OnRequest, connect_patiently
from binnacle.bridge.debug.tool_output import run_tool
from binnacle.config.child_environment import for_person
from binnacle.processes.keeper import Keeper, OwnedProgram

PYTHON_CHECK_SECONDS = 20.0
"""Seconds for a Python to start and end."""

ADAPTER_START_SECONDS = 15.0
"""Seconds until an adapter listens."""

ADAPTER_END_GRACE_SECONDS = 0.5
"""Seconds for the adapter, and what it started, to end when asked to."""

LAST_OUTPUT_SECONDS = 1.5
"""Seconds for the rest of its output to be read."""

Connect = Callable[[OnEvent, OnRequest], Awaitable[DapConnection]]
"""Opens a connection to an adapter."""


def connector(host: str, port: int) -> Connect:
    """Connects to an adapter that listens already."""
    return lambda on_event, on_request: DapConnection.connect(host, port, on_event, on_request)


class AdapterProcess:
    """An adapter that we start. The keeper owns its process, and ends it even if we are killed."""

    def __init__(self, adapter: FoundAdapter, keeper: Keeper, *, cwd: str) -> None:
        self._adapter = adapter
        self._keeper = keeper
        self._cwd = cwd
        self._process: OwnedProgram | None = None
        self._printing: asyncio.Task[None] | None = None
        self.port = 0
        """Where it listens; 0 if it does not."""

    async def start(self, on_output: Callable[[str], None]) -> Connect:
        """Starts it. Returns how to connect to it.

        Raises:
            CannotStart: its program cannot be started.
        """
        if self._adapter.listens:
            self.port = _find_free_port()
            return self._connect_to_port(await self._start_listening(on_output))
        ours, theirs = socket.socketpair()
        try:
            with theirs, open(os.devnull, "wb") as null:
                await self._start(theirs.fileno(), theirs.fileno(), null.fileno())
        except BaseException:
            ours.close()
            raise
        ours.setblocking(False)
        return lambda on_event, on_request: DapConnection.over(ours, on_event, on_request)

    def _connect_to_port(self, process: OwnedProgram) -> Connect:
        ended = asyncio.ensure_future(process.wait())

        async def connect(on_event: OnEvent, on_request: OnRequest) -> DapConnection:
            try:
                return await connect_patiently(
                    "127.0.0.1", self.port, on_event, on_request, ended=ended, timeout=ADAPTER_START_SECONDS
                )
            finally:
                ended.cancel()

        return connect

    async def _start_listening(self, on_output: Callable[[str], None]) -> OwnedProgram:
        ours, theirs = socket.socketpair()
        with ours, theirs, open(os.devnull, "r+b") as null:
            if not self._adapter.prints:
                return await self._start(null.fileno(), null.fileno(), null.fileno())
            process = await self._start(null.fileno(), theirs.fileno(), theirs.fileno())
            kept = ours.dup()
        kept.setblocking(False)
        self._printing = asyncio.ensure_future(_read_output(kept, on_output))
        return process

    async def _start(self, stdin: int, stdout: int, stderr: int) -> OwnedProgram:
        argv = [word.replace("{port}", str(self.port)) for word in self._adapter.argv]
        self._process = await self._keeper.start(
            argv, env=for_person(os.environ), cwd=self._cwd, stdin=stdin, stdout=stdout, stderr=stderr
        )
        return self._process

    async def wait(self) -> int:
        """Its exit code, once it has ended; 0 if it never started."""
        return await self._process.wait() if self._process is not None else 0

    async def end(self) -> int:
        """Ends it with all it started; returns its exit code. The last of its output is read."""
        if self._process is None:
            return 0
        code = await self._process.end(grace=ADAPTER_END_GRACE_SECONDS)
        if self._printing is not None:
            await asyncio.wait([self._printing], timeout=LAST_OUTPUT_SECONDS)
            self._printing.cancel()
        return code


async def _read_output(ours: socket.socket, on_output: Callable[[str], None]) -> None:
    """Reads what is written to the adapter's output, until all writers have closed it."""
    loop = asyncio.get_running_loop()
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    with ours:
        while data := await loop.sock_recv(ours, 1 << 16):
            on_output(decoder.decode(data))


_sound: dict[str, float] = {}
"""Pythons that are known to run, with the time of their files."""


async def check_python(keeper: Keeper, python: str, cwd: str) -> None:
    """Checks that a Python starts: debugpy would wait long for it, and cannot say why it did not.

    Raises:
        AdapterRefused: with what it said instead.
    """
    path = shutil.which(python) or python
    changed = os.stat(path).st_mtime
    if _sound.get(path) == changed:
        return
    code, said = await run_tool(
        keeper, (path, "-c", ""), cwd=cwd, seconds=PYTHON_CHECK_SECONDS, job=UncancellableCall()
    )
    if code:
        text = said.decode(errors="replace").strip()[-2000:]
        raise AdapterRefused("launch", f"{python} does not run, exit code {code}" + (f": {text}" if text else ""))
    _sound[path] = changed


def _find_free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
