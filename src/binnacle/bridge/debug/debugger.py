"""The debugged programs of a workspace, and which of them a call means."""

import asyncio
import os

from binnacle.bridge.debug import debug_errors
from binnacle.bridge.debug.breakpoints import WorkspaceBreakpoints
from binnacle.bridge.debug.debug_session import DebugSession
from binnacle.bridge.debug.debug_target import DebugTarget
from binnacle.bridge.debug.launch_request import DebugLaunch
from binnacle.bridge.debug.reference_ids import ReferenceIds
from binnacle.bridge.debug.session_recorder import SessionRecorder
from binnacle.config.directories import data_dir
from binnacle.errors import BridgeError
from binnacle.processes.keeper import Keeper

MAX_LIVE_SESSIONS = 8
"""Programs that are debugged at once."""

KEPT_ENDED_SESSIONS = 20
"""Ended sessions that are remembered."""


class Debugger:
    """The debugged programs of one workspace, and its breakpoints. Closing it ends all programs."""

    def __init__(self, workspace: str, keeper: Keeper) -> None:
        self.workspace = os.path.realpath(workspace)
        self.folder = os.path.join(data_dir(self.workspace), "debug")
        """Where breakpoints and recordings are kept."""

        self.keeper = keeper
        self.breakpoints = WorkspaceBreakpoints(os.path.join(self.folder, "breakpoints.json"))
        self.references = ReferenceIds[DebugTarget]()
        self.sessions: dict[str, DebugSession] = {}
        self.current: DebugSession | None = None
        """The session of the last answer."""

    async def close(self) -> None:
        """Ends every program that we started, and detaches from the others."""
        if self.sessions:
            await asyncio.gather(*(one.end() for one in self.sessions.values()))

    def live(self) -> list[DebugSession]:
        return [one for one in self.sessions.values() if not one.is_over]

    def new_session(self, launch: DebugLaunch) -> DebugSession:
        """A new session, not started yet."""
        if len(self.live()) >= MAX_LIVE_SESSIONS:
            ids = ", ".join(one.id for one in self.live())
            raise debug_errors.debug_error(
                "E_CAPACITY", f"{MAX_LIVE_SESSIONS} programs are being debugged: {ids}", "end one with debug_stop"
            )
        about = {"title": launch.title, "adapter": launch.adapter.id, "request": launch.request}
        recorder = SessionRecorder(os.path.join(self.folder, "sessions"), about | {"workspace": self.workspace})
        session = DebugSession(
            launch,
            keeper=self.keeper,
            breakpoints=self.breakpoints,
            references=self.references,
            recorder=recorder,
        )
        over = [ident for ident, one in self.sessions.items() if one.is_over and one.is_told]
        for ident in over[:-KEPT_ENDED_SESSIONS]:
            del self.sessions[ident]
        self.sessions[session.id] = session
        return session

    def session(self, ident: str | None) -> DebugSession:
        """The session with that id or with that process; by default that of the last answer, or the newest.

        Raises:
            BridgeError: E_NO_SESSION.
        """
        if ident is not None:
            session = self.sessions.get(ident.partition(".")[0])
            if session is None or session.find(ident) is None:
                raise debug_errors.no_session(
                    f"no debug session has the id {ident}", sessions=[one.id for one in self.live()]
                )
            if session.is_over:
                raise debug_errors.no_session(self._describe_end(session))
            return session
        if self.current is not None and not self.current.is_over:
            return self.current
        if live := self.live():
            return live[-1]
        raise debug_errors.no_session(self._describe_end(self.current) if self.current else "no active debug session")

    def session_of(self, target: DebugTarget) -> DebugSession:
        """The session of a process, whose id begins with the session's."""
        return self.sessions[target.id.partition(".")[0]]

    def target(self, ident: str | None) -> DebugTarget:
        """The paused process of a session.

        Raises:
            BridgeError: E_NO_SESSION, E_NOT_PAUSED, E_BUSY.
        """
        target = self.standing(ident)
        if target is None:
            raise debug_errors.not_paused(ident or self.session(ident).id)
        check_idle(target)
        return target

    def standing(self, ident: str | None) -> DebugTarget | None:
        """The paused process: the named one, or any of a session, that of the last answer first."""
        session = self.session(ident)
        named = session.find(ident) if ident is not None and ident != session.id else None
        choices = [named] if named else [session.focus, *session.targets]
        return next((one for one in choices if one.state == "paused"), None)

    def frame(self, reference: int | None, ident: str | None) -> tuple[DebugTarget, int | None]:
        """The process of a frame, and the adapter's id of the frame; without a frame, the paused process."""
        if reference is None:
            return self.target(ident), None
        target, number = self.references.take("frame", reference)
        check_idle(target)
        return target, number

    def path(self, path: str) -> str:
        """A path in the workspace as adapters know it."""
        return os.path.realpath(os.path.join(self.workspace, path))

    def _describe_end(self, session: DebugSession) -> str:
        how = session.how or f"ended with exit code {session.root.exit_code}"
        return f"no active debug session: session {session.id} ({session.launch.title}) is over, {how}"

    async def explain_end(self) -> BridgeError:
        """The error for a program that ended during a call that did not wait for its end."""
        if (session := self.current) is None:
            return debug_errors.no_session()
        await asyncio.wait([session.root.over], timeout=2)
        if session.is_over:
            await session.end()
            session.is_told = True
        how = session.how or f"the program ended with exit code {session.root.exit_code}"
        return debug_errors.session_lost(session.id, how, session.output.take())


def check_idle(target: DebugTarget) -> None:
    """Checks that the program does not evaluate something: until then it answers nothing else.

    Raises:
        BridgeError: E_BUSY.
    """
    if target.evaluating is not None:
        raise debug_errors.program_busy(target.id, target.evaluating)
