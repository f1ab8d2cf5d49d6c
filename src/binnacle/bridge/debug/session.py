"""A program under the debugger, from its start until nothing of it is left."""

import asyncio
import codecs
import contextlib
import os
import shutil
import socket
from collections.abc import Callable
from typing import Any

from binnacle.bridge.debug import faults
from binnacle.bridge.debug.asking import output_of
from binnacle.bridge.debug.breakpoints import Breakpoint, Breakpoints
from binnacle.bridge.debug.dap import Dap, Gone, OnEvent, OnRequest, Refused, connect_patiently
from binnacle.bridge.debug.launch import Launch
from binnacle.bridge.debug.output import Output
from binnacle.bridge.debug.recording import Recorder
from binnacle.bridge.debug.references import References
from binnacle.bridge.debug.target import LAUNCH_PATIENCE, Target
from binnacle.bridge.debug.waiting import Cancelled, Job, Nobody, Signal, settle
from binnacle.config.child_environment import for_person
from binnacle.processes.keeper import CannotStart, Keeper, Owned

PYTHON_PATIENCE = 20.0
"""Seconds for a Python to start and end."""

ADAPTER_PATIENCE = 15.0
"""Seconds until an adapter listens."""

PARTING = 1.5
"""Seconds for an adapter to end by itself what it started."""

ADAPTER_ENDED = "the debug adapter ended"

GRACE = 0.5
"""Seconds for processes to end when asked to."""


class Session:
    """The processes of one launch: the program's, those it starts, and the adapter's."""

    def __init__(
        self, launch: Launch, *, keeper: Keeper, breakpoints: Breakpoints, references: References, recorder: Recorder
    ) -> None:
        self.launch = launch
        self.id = recorder.id
        self.references = references
        self.output = Output()
        self.signal = Signal()
        self.targets: list[Target] = [Target(self, self.id, launch.adapter.id)]
        self.focus = self.root
        """Whose stop was told last."""

        self.how = ""
        """How it ended, if not by itself."""

        self.notes = launch.notes
        self.is_told = False
        """Whether an answer has told of its end."""

        self._keeper = keeper
        self._breakpoints = breakpoints
        self._recorder = recorder
        self._process: Owned | None = None
        self._port = 0
        self._joining: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._printing: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def root(self) -> Target:
        return self.targets[0]

    @property
    def is_over(self) -> bool:
        return self.root.over.done()

    @property
    def events(self) -> int:
        """How many were heard."""
        return self._recorder.count

    async def begin(self, job: Job) -> None:
        """Starts adapter and program.

        Raises:
            BridgeError: E_LAUNCH_FAILED or E_CANCELLED. Nothing is left of it then.
        """
        beginning = asyncio.ensure_future(self._begin())
        try:
            await settle(beginning, timeout=LAUNCH_PATIENCE, job=job)
            beginning.result()
        except (Refused, Gone, OSError, TimeoutError, CannotStart, Cancelled) as error:
            beginning.cancel()
            await asyncio.wait([beginning])
            await self.end()
            raise self._failure(error) from error
        except BaseException:
            beginning.cancel()
            self.end_soon()
            raise

    async def _begin(self) -> None:
        launch = self.launch
        if launch.python is not None:
            await check_python(self._keeper, launch.python, launch.cwd)
        if launch.address is None:
            connect = await self._start_adapter()
        else:
            host, port = launch.address
            connect = _to(host, port)
        await self.root.begin(connect, launch.request, launch.configuration, self._breakpoints)
        self.root.over.add_done_callback(lambda _: self.end_soon())
        if self.is_over:
            self.end_soon()

    async def _start_adapter(self) -> Callable[[OnEvent, OnRequest], Any]:
        if self.launch.adapter.listens:
            self._port = _free_port()
            await self._start_listening()
            ended = asyncio.ensure_future(self._owned().wait())

            async def connect(on_event: OnEvent, on_request: OnRequest) -> Dap:
                try:
                    return await connect_patiently(
                        "127.0.0.1", self._port, on_event, on_request, ended=ended, timeout=ADAPTER_PATIENCE
                    )
                finally:
                    ended.cancel()

            return connect
        ours, theirs = socket.socketpair()
        try:
            with theirs, open(os.devnull, "wb") as null:
                await self._start(theirs.fileno(), theirs.fileno(), null.fileno())
        except BaseException:
            ours.close()
            raise
        ours.setblocking(False)
        return lambda on_event, on_request: Dap.over(ours, on_event, on_request)

    async def _start_listening(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs, open(os.devnull, "r+b") as null:
            if not self.launch.adapter.prints:
                await self._start(null.fileno(), null.fileno(), null.fileno())
                return
            await self._start(null.fileno(), theirs.fileno(), theirs.fileno())
            kept = ours.dup()
        kept.setblocking(False)
        self._printing = asyncio.ensure_future(self._hear_program(kept))

    async def _hear_program(self, ours: socket.socket) -> None:
        """Takes what a program writes on the adapter's own output, until nobody has that open any more."""
        loop = asyncio.get_running_loop()
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        with ours:
            while data := await loop.sock_recv(ours, 1 << 16):
                # What the adapter itself says comes before it has a program.
                if self.root.is_configured:
                    self.root.hear_output("stdout", decoder.decode(data))

    async def _start(self, stdin: int, stdout: int, stderr: int) -> None:
        argv = [word.replace("{port}", str(self._port)) for word in self.launch.adapter.argv]
        self._process = await self._keeper.start(
            argv, env=for_person(os.environ), cwd=self.launch.cwd, stdin=stdin, stdout=stdout, stderr=stderr
        )
        self._watching = asyncio.ensure_future(self._watch(self._process))

    def _owned(self) -> Owned:
        assert self._process is not None
        return self._process

    async def _watch(self, process: Owned) -> None:
        """Notices an adapter that ends before its program, also one whose connection somebody else keeps open."""
        await process.wait()
        if not self.is_over:
            self.lose(self.root)
            self.root.close()

    def lose(self, target: Target) -> None:
        """A process is no longer debugged, and nobody has said why."""
        if target is self.root and self._ending is None:
            self.how = self.how or ADAPTER_ENDED

    def join(self, parent: Target, arguments: dict[str, Any]) -> bool:
        """Debugs a process that the program has started, as the adapter asks us to."""
        configuration = arguments.get("configuration") or {}
        address = configuration.get("connect") or {}
        port = address.get("port") or self._port
        if not port or self._ending is not None:
            return False
        target = Target(self, f"{self.id}.{len(self.targets)}", parent.adapter)
        self.targets.append(target)
        connect = _to(address.get("host") or "127.0.0.1", int(port))
        task = asyncio.ensure_future(self._join(target, connect, arguments.get("request") or "attach", configuration))
        self._joining.add(task)
        task.add_done_callback(self._joining.discard)
        return True

    async def _join(
        self, target: Target, connect: Callable[[OnEvent, OnRequest], Any], request: str, configuration: dict[str, Any]
    ) -> None:
        try:
            async with asyncio.timeout(LAUNCH_PATIENCE):
                await target.begin(connect, request, configuration, self._breakpoints)
        except (Refused, Gone, OSError, TimeoutError) as error:
            reason = str(error) or f"no answer within {LAUNCH_PATIENCE:g} s"
            self.record(target, "unjoined", {"reason": reason})
            if not isinstance(error, Gone):
                self.note(f"a process that the program started could not be debugged: {reason}")
            await target.let_go()

    def record(self, target: Target, kind: str, body: dict[str, Any]) -> None:
        self._recorder.write(target.id, kind, body)

    def note(self, text: str) -> None:
        """Has something told with the next answer."""
        if text not in self.notes:
            self.notes = (*self.notes, text)

    def live(self) -> list[Target]:
        return [one for one in self.targets if one.state != "terminated"]

    def find(self, ident: str) -> Target | None:
        return next((one for one in self.targets if one.id == ident), None)

    def untold(self) -> Target | None:
        """A process that stands still and of which nobody was told."""
        return next((one for one in self.targets if one.stop is not None and not one.stop.is_told), None)

    async def wait_for_stop(self, resumed: Target | None, *, timeout: float, job: Job) -> Target | None:
        """The process that stops next; none if the program ends instead.

        Where several run, that is any of them; and if `resumed` has ended, one that still stands.

        Raises:
            BridgeError: E_TIMEOUT or E_CANCELLED. The program goes on.
        """

        known = {one.id: one.stop for one in self.targets}

        def find() -> tuple[Target | None] | None:
            if self.is_over:
                return (None,)
            # Two may wait for one stop, and then both are told.
            fresh = (one for one in self.targets if one.stop is not None and one.stop is not known.get(one.id))
            if (found := self.untold() or next(fresh, None)) is not None:
                return (found,)
            if resumed is not None and resumed.over.done():
                standing = next((one for one in self.targets if one.stop is not None), None)
                return (standing,) if standing else None
            return None

        try:
            (target,) = await self.signal.until(find, timeout=timeout, job=job)
        except TimeoutError:
            raise faults.still_running(self.id, timeout, self.output.take()) from None
        except Cancelled:
            raise faults.cancelled(
                f"no longer waiting for session {self.id}; its program is still running",
                "call debug_wait_for_hit to wait again; call debug_stop to end it",
                sessionId=self.id,
            ) from None
        if target is not None:
            self.focus = target
        return target

    def unbound(self) -> list[Breakpoint]:
        """Breakpoints that no process of this session could place."""
        asked = {one for target in self.targets for one in target.bound}
        placed = {one for target in self.targets for one, bound in target.bound.items() if bound.verified}
        return sorted(asked - placed, key=lambda one: (one.path, one.line))

    def not_hit(self) -> list[Breakpoint]:
        """Breakpoints that were placed and at which nothing stopped.

        Most adapters call one placed before the file is loaded, so this is where a wrong file shows.
        """
        placed = {one for target in self.targets for one, bound in target.bound.items() if bound.verified}
        hit = {one for target in self.targets for one in target.hit}
        missed = [one for one in placed - hit if one.log_message is None]
        return sorted(missed, key=lambda one: (one.path, one.line))

    async def end(self) -> None:
        """Ends the program, if we started it, the adapter, and all they started; lets go of an attached one."""
        self.end_soon()
        assert self._ending is not None
        await asyncio.shield(self._ending)

    def end_soon(self) -> None:
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())

    async def _end(self) -> None:
        for task in self._joining:
            task.cancel()
        # Also when the program has ended: adapters wait for it. One that is still launching hears nothing.
        if self.root.is_up and self.launch.adapter.parts:
            with contextlib.suppress(Refused, Gone, TimeoutError):
                await self.root.ask("disconnect", terminateDebuggee=not self.launch.is_attach, timeout=PARTING)
        if self.is_over and not self.launch.adapter.parts:
            # The program is one of the children then, and what it wrote last comes on their connections.
            await asyncio.wait([one.over for one in self.targets], timeout=PARTING)
        for target in self.targets:
            target.close()
        if self._process is not None:
            if self.launch.is_attach and self.launch.adapter.parts:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PARTING):
                        await self._process.wait()
            code = await self._process.end(grace=GRACE)
            if self.how == ADAPTER_ENDED:
                self.how += f", killed by signal {-code}" if code < 0 else f" with exit code {code}"
        if self._printing is not None:
            await asyncio.wait([self._printing], timeout=PARTING)
            self._printing.cancel()
        if self._watching is not None:
            self._watching.cancel()
        self._recorder.write(self.id, "end", {"exitCode": self.root.exit_code, "how": self.how})
        self._recorder.close()

    def _failure(self, error: Exception) -> Exception:
        output = self.output.take()
        if isinstance(error, Cancelled):
            return faults.cancelled("the start was cancelled; nothing is left of it", "call debug_start again")
        code = self.root.exit_code
        match error:
            case _ if code is not None:
                reason = f"it ended before it began, with exit code {code}"
            case TimeoutError():
                reason = f"no answer within {LAUNCH_PATIENCE:g} s"
            case Gone():
                reason = self.how or "it ended before it began"
            case Refused() | CannotStart():
                reason = error.message
            case _:
                reason = str(error)
        return faults.fault(
            "E_LAUNCH_FAILED",
            f"cannot debug {self.launch.title}: {reason.strip()}",
            self.launch.advice or "check the launch configuration, then call debug_start again",
            **output,
        )


_sound: dict[str, float] = {}
"""Pythons that were seen to run, and when their files were changed last."""


async def check_python(keeper: Keeper, python: str, cwd: str) -> None:
    """debugpy waits long for a program whose Python does not even start, and cannot say why it did not.

    Raises:
        Refused: with what it said instead.
    """
    path = shutil.which(python) or python
    changed = os.stat(path).st_mtime
    if _sound.get(path) == changed:
        return
    code, said = await output_of(keeper, (path, "-c", ""), cwd=cwd, seconds=PYTHON_PATIENCE, job=Nobody())
    if code:
        text = said.decode(errors="replace").strip()[-2000:]
        raise Refused("launch", f"{python} does not run, exit code {code}" + (f": {text}" if text else ""))
    _sound[path] = changed


def _to(host: str, port: int) -> Callable[[OnEvent, OnRequest], Any]:
    return lambda on_event, on_request: Dap.connect(host, port, on_event, on_request)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
