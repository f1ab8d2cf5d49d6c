"""One process under the debugger: the program itself, or one that it started."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from msgspec import Struct

from binnacle.bridge.debug import adapter_dialects, hit_conditions
from binnacle.bridge.debug.breakpoints import Breakpoint, WorkspaceBreakpoints
from binnacle.bridge.debug.cancellable_wait import ChangeSignal
from binnacle.bridge.debug.dap import (
    AdapterGone,
    AdapterRefused,
    DapConnection,
    DapMessage,
    OnEvent,
    OnRequest,
    body_of,
)
from binnacle.bridge.debug.launch_request import DebugLaunch
from binnacle.bridge.debug.program_output import ProgramOutput
from binnacle.bridge.debug.reference_ids import ReferenceIds

TargetState = Literal["starting", "running", "paused", "terminated"]

Connect = Callable[[OnEvent, OnRequest], Awaitable[DapConnection]]

LAUNCH_TIMEOUT_SECONDS = 60.0
"""Seconds until a program is being debugged. Go programs are built first."""

ANSWER_TIMEOUT_SECONDS = 5.0
"""Seconds for answers that an adapter can give at once when a program is being debugged."""

INITIALIZE_ARGUMENTS: dict[str, Any] = {
    "clientID": "binnacle",
    "clientName": "Binnacle",
    "pathFormat": "path",
    "linesStartAt1": True,
    "columnsStartAt1": True,
    "supportsVariableType": True,
    "supportsVariablePaging": True,
    "supportsRunInTerminalRequest": False,
    "supportsStartDebuggingRequest": True,
    "supportsInvalidatedEvent": True,
    "locale": "en",
}


class ProgramStop(Struct, kw_only=True):
    """Why and where a program is paused."""

    thread: int | None
    reason: str
    text: str = ""
    is_told: bool = False
    """Whether an answer has reported it."""

    frame: int | None = None
    """The adapter's id of the innermost frame, once known. It is valid until the program continues."""


class BoundBreakpoint(Struct, kw_only=True):
    """A breakpoint in one process."""

    verified: bool
    line: int | None = None
    message: str = ""
    number: int | None = None
    """The adapter's id of it."""


class TargetSession(Protocol):
    """What a target needs from its session."""

    launch: DebugLaunch
    references: "ReferenceIds[DebugTarget]"
    output: ProgramOutput
    signal: ChangeSignal

    @property
    def root(self) -> "DebugTarget":
        """The process of the program itself."""

    def record(self, target: "DebugTarget", kind: str, body: dict[str, Any]) -> None:
        """Records an event."""

    def note(self, text: str) -> None:
        """Adds a note to the next answer."""

    def join(self, parent: "DebugTarget", arguments: dict[str, Any]) -> bool:
        """Debugs a process that the program has started; false if that is impossible."""

    def lose(self, target: "DebugTarget") -> None:
        """Handles a process that is no longer debugged, for an unknown reason."""


class DebugTarget:
    """A connection to an adapter that debugs one process.

    Its state follows the adapter's events; the session is notified of every change.
    """

    def __init__(self, session: TargetSession, ident: str, adapter: str) -> None:
        self.session = session
        self.id = ident
        self.adapter = adapter
        self.name = ""
        self.process: int | None = None
        self.state: TargetState = "starting"
        self.is_up = False
        """Whether it was ever debugged."""

        self.stop: ProgramStop | None = None
        self.exit_code: int | None = None
        self.capabilities: dict[str, Any] = {}
        self.evaluating: str | None = None
        """An expression that still runs after its caller stopped waiting."""

        self.scopes: dict[int, tuple[int, str]] = {}
        """Frame and name of every scope that was requested since the last stop."""

        self.bound: dict[Breakpoint, BoundBreakpoint] = {}
        self.hit: set[Breakpoint] = set()
        """Breakpoints at which it stopped."""

        self._counts: dict[Breakpoint, int] = {}
        """Hits of the breakpoints that we count."""

        self._counting: asyncio.Task[None] | None = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the process has ended, or is no longer debugged."""

        self._dap: DapConnection | None = None
        self._initialized: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sending = asyncio.Lock()
        self.is_configured = False
        """Whether the adapter knows the breakpoints; the program runs from then on."""

        self._has_stopped = False

    async def begin(
        self, connect: Connect, request: str, configuration: dict[str, Any], breakpoints: WorkspaceBreakpoints
    ) -> None:
        """Connects, launches or attaches, and sets all breakpoints before the program's first line.

        Raises:
            Refused: with the adapter's reason.
            AdapterGone: it died.
            TimeoutError: it does not answer.
            OSError: nothing listens.
        """
        dap = self._dap = await connect(self._hear, self._handle_request)
        dap.closed.add_done_callback(lambda _: self._lose())
        self.capabilities = await self.ask("initialize", **INITIALIZE_ARGUMENTS, adapterID=self.adapter)
        # Most adapters answer after the configuration is done, or refuse before.
        begun = dap.post(request, configuration)
        await _first(begun, self._initialized, self.over)
        if begun.done():
            body_of(request, begun.result())
            await _first(self._initialized, self.over)
        if self._initialized.done():
            await self._configure(breakpoints)
        await _first(begun, self.over)
        if not begun.done():
            raise AdapterGone(request)
        body_of(request, begun.result())
        self.is_up = True
        if self.state == "starting":
            self.state = "running"

    async def _configure(self, breakpoints: WorkspaceBreakpoints) -> None:
        async with self._sending:
            self.is_configured = True
            for path in breakpoints.paths():
                await self._send_lines(path, breakpoints)
            if breakpoints.functions:
                await self._send_functions(breakpoints)
            await self._send_exceptions(breakpoints)
        if self.capabilities.get("supportsConfigurationDoneRequest"):
            await self.ask("configurationDone")

    async def ask(self, command: str, timeout: float | None = None, **arguments: Any) -> dict[str, Any]:
        """Asks the adapter, which has `LAUNCH_TIMEOUT_SECONDS` while the program starts.

        Raises:
            AdapterRefused, AdapterGone, TimeoutError: as `DapConnection.request`.
        """
        if self._dap is None:
            raise AdapterGone(command)
        if timeout is None:
            timeout = ANSWER_TIMEOUT_SECONDS if self.is_up else LAUNCH_TIMEOUT_SECONDS
        try:
            return await self._dap.request(command, arguments, timeout=timeout)
        except AdapterRefused as error:
            raise recognize_end(error) from None

    def post(self, command: str, arguments: dict[str, Any]) -> asyncio.Future[DapMessage]:
        """Sends a request without waiting for the answer."""
        if self._dap is None:
            raise AdapterGone(command)
        return self._dap.post(command, arguments)

    async def ask_scopes(self, frame: int) -> list[dict[str, Any]]:
        """The scopes of a frame, the nearest first."""
        found: list[dict[str, Any]] = (await self.ask("scopes", frameId=frame)).get("scopes") or []
        for one in found:
            self.scopes[int(one["variablesReference"])] = (frame, str(one.get("name", "")))
        return found

    def finish_evaluation(self) -> None:
        """Notes that the program can answer again."""
        self.evaluating = None
        self.session.signal.fire()

    async def send_lines(self, path: str, breakpoints: WorkspaceBreakpoints) -> None:
        """Sets the breakpoints of one file again."""
        async with self._sending:
            if self.is_configured and self.state != "terminated":
                await self._send_lines(path, breakpoints)

    async def send_functions(self, breakpoints: WorkspaceBreakpoints) -> None:
        async with self._sending:
            if self.is_configured and self.state != "terminated":
                await self._send_functions(breakpoints)

    async def send_exceptions(self, breakpoints: WorkspaceBreakpoints) -> None:
        async with self._sending:
            if self.is_configured and self.state != "terminated":
                await self._send_exceptions(breakpoints)

    async def _send_lines(self, path: str, breakpoints: WorkspaceBreakpoints) -> None:
        wanted = breakpoints.in_file(path)
        source = {"path": path, "name": path.rpartition("/")[2]}
        answer = await self.ask("setBreakpoints", source=source, breakpoints=[self._line(one) for one in wanted])
        self.bound = {one: bound for one, bound in self.bound.items() if one.path != path}
        for one, found in zip(wanted, answer.get("breakpoints", ()), strict=False):
            self.bound[one] = _bound(found)

    def _line(self, wanted: Breakpoint) -> dict[str, Any]:
        """A breakpoint as the adapter gets it."""
        line = wanted.to_dap()
        if hit_conditions.must_be_counted(wanted, self.adapter):
            del line["hitCondition"]
        return line

    async def _send_functions(self, breakpoints: WorkspaceBreakpoints) -> None:
        if self.capabilities.get("supportsFunctionBreakpoints"):
            await self.ask("setFunctionBreakpoints", breakpoints=[one.to_dap() for one in breakpoints.functions])
        elif breakpoints.functions:
            names = ", ".join(one.name for one in breakpoints.functions)
            self.session.note(f"{self.adapter} has no breakpoints on functions, so there is none on {names}")

    async def _send_exceptions(self, breakpoints: WorkspaceBreakpoints) -> None:
        offered = self.capabilities.get("exceptionBreakpointFilters") or []
        if not offered:
            return
        wanted = breakpoints.exceptions
        if wanted is None:
            wanted = [one["filter"] for one in offered if one.get("default")]
        filters = [one["filter"] for one in offered if one["filter"] in wanted]
        await self.ask("setExceptionBreakpoints", filters=filters)

    async def resume(self, command: str, **arguments: Any) -> None:
        """Lets the program continue. It counts as running from now on, whenever the adapter confirms it.

        Raises:
            AdapterRefused: it is still paused.
            AdapterGone: it ended instead.
        """
        stop, self.stop, self.state = self.stop, None, "running"
        self._forget()
        assert stop is not None
        self.session.record(self, "command", {"command": command})
        try:
            await self.ask(command, threadId=stop.thread, **arguments)
        except AdapterRefused:
            if self.state == "running":
                self.stop, self.state = stop, "paused"
            raise
        except TimeoutError:
            # It may have continued anyway; an event reports its next stop.
            return

    async def detach(self) -> None:
        """Detaches from a process that could not be debugged: it would wait for its breakpoints for ever."""
        with contextlib.suppress(AdapterRefused, AdapterGone, TimeoutError):
            self.post("configurationDone", {})
            await self.ask("disconnect", timeout=ANSWER_TIMEOUT_SECONDS, terminateDebuggee=False)
        self.close()

    def close(self) -> None:
        """Ends the connection; not the program."""
        if self._dap is not None:
            self._dap.close()
        self._end()

    def _handle_request(self, command: str, arguments: dict[str, Any]) -> bool:
        if command == "startDebugging":
            return self.session.join(self, arguments)
        return False

    def _hear(self, event: str, body: dict[str, Any]) -> None:  # noqa: C901
        self.session.record(self, event, body)
        match event:
            case "initialized":
                if not self._initialized.done():
                    self._initialized.set_result(None)
            case "output":
                self._wrote(str(body.get("category") or "console"), str(body.get("output", "")))
            case "stopped":
                self._consider(body)
            case "continued":
                if self.stop is not None:
                    self.stop, self.state = None, "running"
                    self._forget()
            case "process":
                self.name = str(body.get("name", ""))
                self.process = body.get("systemProcessId")
            case "exited":
                self.exit_code = body.get("exitCode")
                if self.state == "starting":
                    # debugpy would wait a minute for a program that never started.
                    self._end()
            case "breakpoint":
                self._rebind(body)
            case "terminated":
                if self.exit_code is None and self.session.launch.is_silent_on_success and self is self.session.root:
                    self.exit_code = 0
                self._end()
        self.session.signal.fire()

    def hear_output(self, category: str, text: str) -> None:
        """Handles output that did not arrive in events."""
        self._hear("output", {"category": category, "output": text})

    def _wrote(self, category: str, text: str) -> None:
        if self is self.session.root and (code := adapter_dialects.exit_code_in(self.adapter, text)) is not None:
            self.exit_code = code
        self.session.output.add(category, adapter_dialects.plain_output(self.adapter, text))

    def _forget(self) -> None:
        """Forgets frames and variables, which are no longer valid."""
        self.session.references.forget(self)
        self.scopes.clear()

    def _handle_stop(self, body: dict[str, Any]) -> None:
        text = str(body.get("text") or body.get("description") or "")
        self._forget()
        is_entry = not self._has_stopped and bool(self.session.launch.configuration.get("stopOnEntry"))
        reason = adapter_dialects.stop_reason(self.adapter, str(body.get("reason", "")), text, is_entry=is_entry)
        self.stop = ProgramStop(thread=body.get("threadId"), reason=reason, text=text)
        self.state = "paused"
        self._has_stopped = True

    def _consider(self, body: dict[str, Any]) -> None:
        """Notes a stop, at once unless its hits are counted."""
        is_counted = any(hit_conditions.must_be_counted(one, self.adapter) for one in self.bound)
        if is_counted and "breakpoint" in str(body.get("reason")):
            self._counting = asyncio.ensure_future(self._count(body))
        else:
            self._handle_stop(body)

    async def _count(self, body: dict[str, Any]) -> None:
        """Lets the program continue if it is paused at a breakpoint whose count is not reached."""
        try:
            here = await self._place(body.get("threadId"))
            met = [one for one, bound in self.bound.items() if (one.path, bound.line or one.line) == here]
            if met and not [one for one in met if self._is_due(one)]:
                await self.ask("continue", threadId=body.get("threadId"))
                return
        except (AdapterRefused, AdapterGone, TimeoutError):
            pass  # then report the stop
        if self.state != "terminated":
            self._handle_stop(body)
            self.session.signal.fire()

    async def _place(self, thread: int | None) -> tuple[str, int] | None:
        stack = await self.ask("stackTrace", threadId=thread, startFrame=0, levels=1)
        frame: dict[str, Any] = next(iter(stack.get("stackFrames") or ()), {})
        path = (frame.get("source") or {}).get("path")
        return (os.path.realpath(path), int(frame["line"])) if path else None

    def _is_due(self, one: Breakpoint) -> bool:
        if one.hit_condition is None or not hit_conditions.must_be_counted(one, self.adapter):
            return True
        self._counts[one] = self._counts.get(one, 0) + 1
        return hit_conditions.is_due(one.hit_condition, self._counts[one])

    def _rebind(self, body: dict[str, Any]) -> None:
        found = body.get("breakpoint") or {}
        for one, bound in self.bound.items():
            if bound.number is not None and bound.number == found.get("id"):
                self.bound[one] = _bound(found)

    def _lose(self) -> None:
        """Handles the end of the connection. Unless the program has ended, the adapter has failed."""
        if not self.over.done():
            self.session.lose(self)
        self._end()

    def _end(self) -> None:
        if self.over.done():
            return
        self.over.set_result(None)
        self.state = "terminated"
        if self._counting is not None:
            self._counting.cancel()
        self.stop = None
        self.evaluating = None
        self._forget()
        self.session.signal.fire()


def recognize_end(error: AdapterRefused) -> AdapterRefused | AdapterGone:
    """Turns debugpy's refusal for a program that ended during the request into `AdapterGone`."""
    # A leading error number is the adapter's: those of the program have a traceback.
    is_broken = error.message.startswith("[Errno ")
    is_gone = is_broken or "No more messages" in error.message or "disconnected unexpectedly" in error.message
    return AdapterGone(error.command) if is_gone else error


async def _first(*futures: asyncio.Future[Any]) -> None:
    """Waits until one of them is done. Their owner guarantees that one will be."""
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


def _bound(found: dict[str, Any]) -> BoundBreakpoint:
    return BoundBreakpoint(
        verified=bool(found.get("verified")),
        line=found.get("line"),
        message=str(found.get("message") or ""),
        number=found.get("id"),
    )
