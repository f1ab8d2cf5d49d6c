"""Runs the scripts of the bridge on programs that are debugged here, without an editor."""

import asyncio
import os
from typing import Any

import msgspec

from binnacle.bridge.debug import (
    breakpoint_scripts,
    diagnostics,
    faults,
    inspecting,
    postmortem,
    running,
    saving,
    testing,
)
from binnacle.bridge.debug.breakpoints import Breakpoints
from binnacle.bridge.debug.dap import Gone, Refused
from binnacle.bridge.debug.launch import Launch
from binnacle.bridge.debug.recording import Recorder
from binnacle.bridge.debug.references import References
from binnacle.bridge.debug.session import Session
from binnacle.bridge.debug.target import Target
from binnacle.bridge.debug.waiting import Job
from binnacle.config.directories import data_dir
from binnacle.errors import BridgeError
from binnacle.processes.keeper import Keeper

SCRIPTS: dict[str, tuple[Any, Any]] = {
    **breakpoint_scripts.SCRIPTS,
    **running.SCRIPTS,
    **inspecting.SCRIPTS,
    **saving.SCRIPTS,
    **testing.SCRIPTS,
    **diagnostics.SCRIPTS,
    **postmortem.SCRIPTS,
}
"""For each alias the type of its parameters and the function that does it."""

EDITOR_SCRIPTS = (
    "code.replace-method",
    "editor.get-context",
    "editor.goto-line",
    "editor.show-testing-ui",
    "search.symbol-search",
    "symbol.calls",
    "symbol.navigate",
    "symbol.rename",
    "util.restart-vscode",
)
"""What only an editor can do."""

LIVE = 8
"""Programs under the debugger at once."""

REMEMBERED = 20
"""Sessions that ended, of which is still known how."""


class Debugger:
    """The programs of one workspace under the debugger, and its breakpoints. Closing it ends all of them."""

    def __init__(self, workspace: str, keeper: Keeper) -> None:
        self.workspace = os.path.realpath(workspace)
        self.folder = os.path.join(data_dir(self.workspace), "debug")
        """Where breakpoints and recordings are kept."""

        self.keeper = keeper
        self.breakpoints = Breakpoints(os.path.join(self.folder, "breakpoints.json"))
        self.references = References()
        self.sessions: dict[str, Session] = {}
        self.current: Session | None = None
        """The one that was told about last."""

    def capabilities(self) -> dict[str, Any]:
        """Which scripts this host runs. Adapters are looked for when they are wanted: they come and go."""
        return {"scripts": sorted(SCRIPTS)}

    async def run(self, script: str, params: dict[str, Any], job: Job) -> Any:
        """Does what a script is for.

        Raises:
            BridgeError: with the tool to call next as its hint.
        """
        if script in EDITOR_SCRIPTS:
            raise faults.unsupported(script)
        if script not in SCRIPTS:
            raise faults.fault(
                "E_SCRIPT_NOT_FOUND", f"no such script: {script!r}", "call bridge_status for what there is"
            )
        kind, do = SCRIPTS[script]
        try:
            given = msgspec.convert(params, kind, strict=False)
        except msgspec.ValidationError as error:
            raise faults.fault("E_INVALID_PARAMS", f"{script}: {error}", "mend the parameter and call again") from error
        try:
            return await do(self, given, job)
        except Refused as error:
            raise faults.fault("E_INTERNAL", f"the debug adapter refused: {error}", "call debug_status") from error
        except Gone as error:
            raise await self._gone() from error
        except TimeoutError as error:
            raise faults.fault(
                "E_TIMEOUT",
                "the debug adapter does not answer",
                "try again; debug_stop ends the program",
                retryable=True,
            ) from error

    async def close(self) -> None:
        """Ends every program we started, and lets go of the others."""
        if self.sessions:
            await asyncio.gather(*(one.end() for one in self.sessions.values()))

    def live(self) -> list[Session]:
        return [one for one in self.sessions.values() if not one.is_over]

    def new_session(self, launch: Launch) -> Session:
        """A session that is yet to begin."""
        if len(self.live()) >= LIVE:
            ids = ", ".join(one.id for one in self.live())
            raise faults.fault("E_CAPACITY", f"{LIVE} programs are being debugged: {ids}", "end one with debug_stop")
        about = {"title": launch.title, "adapter": launch.adapter.id, "request": launch.request}
        recorder = Recorder(os.path.join(self.folder, "sessions"), about | {"workspace": self.workspace})
        session = Session(
            launch,
            keeper=self.keeper,
            breakpoints=self.breakpoints,
            references=self.references,
            recorder=recorder,
        )
        over = [ident for ident, one in self.sessions.items() if one.is_over and one.is_told]
        for ident in over[:-REMEMBERED]:
            del self.sessions[ident]
        self.sessions[session.id] = session
        return session

    def session(self, ident: str | None) -> Session:
        """The session of that id or of a process in it; the one told about last, or the newest that is left.

        Raises:
            BridgeError: E_NO_SESSION.
        """
        if ident is not None:
            session = self.sessions.get(ident.partition(".")[0])
            if session is None or session.find(ident) is None:
                raise faults.no_session(
                    f"no debug session has the id {ident}", sessions=[one.id for one in self.live()]
                )
            if session.is_over:
                raise faults.no_session(self._epitaph(session))
            return session
        if self.current is not None and not self.current.is_over:
            return self.current
        if live := self.live():
            return live[-1]
        raise faults.no_session(self._epitaph(self.current) if self.current else "no active debug session")

    def target(self, ident: str | None) -> Target:
        """The process that stands still in a session.

        Raises:
            BridgeError: E_NO_SESSION, E_NOT_PAUSED, E_BUSY.
        """
        target = self.standing(ident)
        if target is None:
            raise faults.not_paused(ident or self.session(ident).id)
        check_idle(target)
        return target

    def standing(self, ident: str | None) -> Target | None:
        """The process that stands still: the one that is named, or any of a session, the one told about last first."""
        session = self.session(ident)
        named = session.find(ident) if ident is not None and ident != session.id else None
        choices = [named] if named else [session.focus, *session.targets]
        return next((one for one in choices if one.state == "paused"), None)

    def frame(self, reference: int | None, ident: str | None) -> tuple[Target, int | None]:
        """The process a frame belongs to, and the adapter's id of it; without one, the process that stands still."""
        if reference is None:
            return self.target(ident), None
        target, number = self.references.take("frame", reference)
        check_idle(target)
        return target, number

    def path(self, path: str) -> str:
        """A path in the workspace as adapters know it."""
        return os.path.realpath(os.path.join(self.workspace, path))

    def _epitaph(self, session: Session) -> str:
        how = session.how or f"ended with exit code {session.root.exit_code}"
        return f"no active debug session: session {session.id} ({session.launch.title}) is over, {how}"

    async def _gone(self) -> BridgeError:
        """What to say when a program ended over a call that did not wait for that."""
        if (session := self.current) is None:
            return faults.no_session()
        await asyncio.wait([session.root.over], timeout=2)
        if session.is_over:
            await session.end()
            session.is_told = True
        how = session.how or f"the program ended with exit code {session.root.exit_code}"
        return faults.lost(session.id, how, session.output.take())


def check_idle(target: Target) -> None:
    """A program that still evaluates something answers nothing else.

    Raises:
        BridgeError: E_BUSY.
    """
    if target.evaluating is not None:
        raise faults.busy(target.id, target.evaluating)
