"""A program under the debugger, from its start until everything it started has ended.

Theory. A session is one launch: the process of an adapter, a connection to it for the program, and one more for each
process that the program starts (`debug_target`). Its states are those of its first target, the root:

    starting ──> running <──> paused
        └───────────┴────────────┴──> terminated        (`over` is done; there is no way back)

*Who owns what.* The keeper owns the adapter's process and all that it started, and ends them even if we are killed. The
session owns its targets, the tasks that join children (`_joining`) and that watch the adapter (`_watching`), and the
recorder; the adapter's process (`adapter_process`) owns the task that reads its output. Only `_end` gives them up, and
it runs once: the first call of `end_soon` starts it, and `end` waits for it behind a shield, so a cancelled caller
leaves nothing half ended.

*What can happen at the same time.* Everything runs in one event loop. Events of adapters change the state of a target
as they arrive and fire `signal`; calls wait for a state, never for an event, so nothing is lost that happens between
two calls. Two calls may wait for the same stop, and both get it. A resume marks the target as running before it asks
the adapter: the next stop may arrive before the answer to the request. Breakpoints are sent
to a target under its own lock, one file after the other, and only after it is configured.

*How it ends.* The program exits; the adapter says `terminated`; the connection breaks; the adapter's process dies while
a child keeps its connection open (`_watch`); or somebody calls `end`. Each of them completes `over` of the root, and
that leads to `_end`: it asks the adapter to disconnect, which ends a program that we launched and detaches from one
that we attached to, then closes the connections, then the keeper ends what is left. Every step has a bound. `how` says
why, if the program did not end by itself: an adapter that dies ends its session.

*Why nothing waits for ever.* A request to an adapter has a time limit, and fails when the connection ends (`dap`). A
start has `LAUNCH_TIMEOUT_SECONDS`; when it fails or is cancelled, `_end` runs before the error is raised. A wait for a
stop ends with the stop, the end, the caller's time or its cancellation; the program goes on after the last two.
"""

import asyncio
import contextlib
from typing import Any

from binnacle.bridge.debug import debug_errors
from binnacle.bridge.debug.adapter_process import AdapterProcess, Connect, check_python, connector
from binnacle.bridge.debug.breakpoints import Breakpoint, WorkspaceBreakpoints
from binnacle.bridge.debug.cancellable_wait import (
    CallCancelled,
    ChangeSignal,
    ScriptCall,
    wait_for_future,
)
from binnacle.bridge.debug.dap import AdapterGone, AdapterRefused
from binnacle.bridge.debug.debug_target import LAUNCH_TIMEOUT_SECONDS, DebugTarget
from binnacle.bridge.debug.launch_request import DebugLaunch
from binnacle.bridge.debug.program_output import ProgramOutput
from binnacle.bridge.debug.reference_ids import ReferenceIds
from binnacle.bridge.debug.session_recorder import SessionRecorder
from binnacle.processes.keeper import CannotStart, Keeper

DISCONNECT_SECONDS = 1.5
"""Seconds for an adapter to end what it started."""

ADAPTER_ENDED = "the debug adapter ended"


class DebugSession:
    """The processes of one launch: the program's, those it starts, and the adapter's."""

    def __init__(
        self,
        launch: DebugLaunch,
        *,
        keeper: Keeper,
        breakpoints: WorkspaceBreakpoints,
        references: ReferenceIds[DebugTarget],
        recorder: SessionRecorder,
    ) -> None:
        self.launch = launch
        self.id = recorder.id
        self.references = references
        self.output = ProgramOutput()
        self.signal = ChangeSignal()
        self.targets: list[DebugTarget] = [DebugTarget(self, self.id, launch.adapter.id)]
        self.focus = self.root
        """The target whose stop was reported last."""

        self.how = ""
        """How it ended, if the program did not end by itself."""

        self.notes = launch.notes
        self.is_told = False
        """Whether an answer has reported its end."""

        self._keeper = keeper
        self._breakpoints = breakpoints
        self._recorder = recorder
        self._adapter: AdapterProcess | None = None
        self._joining: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def root(self) -> DebugTarget:
        return self.targets[0]

    @property
    def is_over(self) -> bool:
        return self.root.over.done()

    @property
    def events(self) -> int:
        """Number of events received."""
        return self._recorder.count

    async def begin(self, job: ScriptCall) -> None:
        """Starts adapter and program.

        Raises:
            BridgeError: E_LAUNCH_FAILED or E_CANCELLED. Then everything has ended.
        """
        beginning = asyncio.ensure_future(self._begin())
        try:
            await wait_for_future(beginning, timeout=LAUNCH_TIMEOUT_SECONDS, job=job)
            beginning.result()
        except (AdapterRefused, AdapterGone, OSError, TimeoutError, CannotStart, CallCancelled) as error:
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
            connect = connector(*launch.address)
        await self.root.begin(connect, launch.request, launch.configuration, self._breakpoints)
        self.root.over.add_done_callback(lambda _: self.end_soon())
        if self.is_over:
            self.end_soon()

    async def _start_adapter(self) -> Connect:
        self._adapter = AdapterProcess(self.launch.adapter, self._keeper, cwd=self.launch.cwd)
        connect = await self._adapter.start(self._take_output)
        self._watching = asyncio.ensure_future(self._watch(self._adapter))
        return connect

    def _take_output(self, text: str) -> None:
        """Takes output of the adapter's process. Before the program starts, it is the adapter's own."""
        if self.root.is_configured:
            self.root.hear_output("stdout", text)

    async def _watch(self, process: AdapterProcess) -> None:
        """Notices an adapter that ends before its program, even if another process keeps its connection open."""
        await process.wait()
        if not self.is_over:
            self.lose(self.root)
            self.root.close()

    def lose(self, target: DebugTarget) -> None:
        """Handles a process that is no longer debugged, for an unknown reason."""
        if target is self.root and self._ending is None:
            self.how = self.how or ADAPTER_ENDED

    def join(self, parent: DebugTarget, arguments: dict[str, Any]) -> bool:
        """Debugs a process that the program has started, as the adapter requests."""
        configuration = arguments.get("configuration") or {}
        address = configuration.get("connect") or {}
        port = address.get("port") or (self._adapter.port if self._adapter else 0)
        if not port or self._ending is not None:
            return False
        target = DebugTarget(self, f"{self.id}.{len(self.targets)}", parent.adapter)
        self.targets.append(target)
        connect = connector(address.get("host") or "127.0.0.1", int(port))
        task = asyncio.ensure_future(self._join(target, connect, arguments.get("request") or "attach", configuration))
        self._joining.add(task)
        task.add_done_callback(self._joining.discard)
        return True

    async def _join(
        self,
        target: DebugTarget,
        connect: Connect,
        request: str,
        configuration: dict[str, Any],
    ) -> None:
        try:
            async with asyncio.timeout(LAUNCH_TIMEOUT_SECONDS):
                await target.begin(connect, request, configuration, self._breakpoints)
        except (AdapterRefused, AdapterGone, OSError, TimeoutError) as error:
            reason = str(error) or f"no answer within {LAUNCH_TIMEOUT_SECONDS:g} s"
            self.record(target, "unjoined", {"reason": reason})
            if not isinstance(error, AdapterGone):
                self.note(f"a process that the program started could not be debugged: {reason}")
            await target.detach()

    def record(self, target: DebugTarget, kind: str, body: dict[str, Any]) -> None:
        self._recorder.write(target.id, kind, body)

    def note(self, text: str) -> None:
        """Adds a note to the next answer."""
        if text not in self.notes:
            self.notes = (*self.notes, text)

    def live(self) -> list[DebugTarget]:
        return [one for one in self.targets if one.state != "terminated"]

    def find(self, ident: str) -> DebugTarget | None:
        return next((one for one in self.targets if one.id == ident), None)

    def untold(self) -> DebugTarget | None:
        """A paused process whose stop was not reported yet."""
        return next((one for one in self.targets if one.stop is not None and not one.stop.is_told), None)

    async def wait_for_stop(
        self, resumed: DebugTarget | None, *, timeout: float, job: ScriptCall
    ) -> DebugTarget | None:
        """Waits for the process that stops next; None if the program ends instead.

        With several processes, that is any of them; if `resumed` has ended, one that is still paused.

        Raises:
            BridgeError: E_TIMEOUT or E_CANCELLED. The program continues.
        """

        known = {one.id: one.stop for one in self.targets}

        def find() -> tuple[DebugTarget | None] | None:
            if self.is_over:
                return (None,)
            # Two calls may wait for one stop, and both get it.
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
            raise debug_errors.still_running(self.id, timeout, self.output.take()) from None
        except CallCancelled:
            raise debug_errors.call_cancelled(
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

        Most adapters report a breakpoint as placed before its file is loaded, so a wrong file shows only here.
        """
        placed = {one for target in self.targets for one, bound in target.bound.items() if bound.verified}
        hit = {one for target in self.targets for one in target.hit}
        missed = [one for one in placed - hit if one.log_message is None]
        return sorted(missed, key=lambda one: (one.path, one.line))

    async def end(self) -> None:
        """Ends the adapter and the program with everything they started; detaches from an attached program."""
        self.end_soon()
        assert self._ending is not None
        await asyncio.shield(self._ending)

    def end_soon(self) -> None:
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())

    async def _end(self) -> None:
        for task in self._joining:
            task.cancel()
        # Also when the program has ended: adapters wait for it. An adapter that is still launching does not listen.
        if self.root.is_up and self.launch.adapter.parts:
            with contextlib.suppress(AdapterRefused, AdapterGone, TimeoutError):
                await self.root.ask(
                    "disconnect", terminateDebuggee=not self.launch.is_attach, timeout=DISCONNECT_SECONDS
                )
        if self.is_over and not self.launch.adapter.parts:
            # Then the program is one of the children, and its last output arrives on their connections.
            await asyncio.wait([one.over for one in self.targets], timeout=DISCONNECT_SECONDS)
        for target in self.targets:
            target.close()
        if self._adapter is not None:
            await self._end_adapter(self._adapter)
        if self._watching is not None:
            self._watching.cancel()
        self._recorder.write(self.id, "end", {"exitCode": self.root.exit_code, "how": self.how})
        self._recorder.close()

    async def _end_adapter(self, adapter: AdapterProcess) -> None:
        if self.launch.is_attach and self.launch.adapter.parts:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DISCONNECT_SECONDS):
                    await adapter.wait()
        code = await adapter.end()
        if self.how == ADAPTER_ENDED:
            self.how += f", killed by signal {-code}" if code < 0 else f" with exit code {code}"

    def _failure(self, error: Exception) -> Exception:
        output = self.output.take()
        if isinstance(error, CallCancelled):
            return debug_errors.call_cancelled(
                "the start was cancelled; nothing is left of it", "call debug_start again"
            )
        code = self.root.exit_code
        match error:
            case _ if code is not None:
                reason = f"it ended before it began, with exit code {code}"
            case TimeoutError():
                reason = f"no answer within {LAUNCH_TIMEOUT_SECONDS:g} s"
            case AdapterGone():
                reason = self.how or "it ended before it began"
            case AdapterRefused() | CannotStart():
                reason = error.message
            case _:
                reason = str(error)
        return debug_errors.debug_error(
            "E_LAUNCH_FAILED",
            f"cannot debug {self.launch.title}: {reason.strip()}",
            self.launch.advice or "check the launch configuration, then call debug_start again",
            **output,
        )
