"""The answer after a program ran: where it is paused, with which variables, or how it ended."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from binnacle.bridge.debug import adapter_dialects, debug_errors
from binnacle.bridge.debug.dap import AdapterGone, AdapterRefused
from binnacle.bridge.debug.debug_session import DebugSession
from binnacle.bridge.debug.debug_target import DebugTarget, ProgramStop
from binnacle.bridge.debug.variable_tree import AnswerBudget, describe_locals

MAX_SHOWN_FRAMES = 5
"""Frames in an answer."""

MAX_MESSAGE_CHARACTERS = 2000
"""Characters of an exception's message."""

MAX_CAUSE_CHARACTERS = 200
"""Characters of the message of a cause, which each of its frames repeats."""

LOCALS_BUDGET = AnswerBudget(items=30, size=4000)
"""How much of the variables an answer shows."""


def display_path(path: str, workspace: str) -> str:
    """A path in the form that every tool accepts."""
    inside = path.startswith(workspace.rstrip(os.sep) + os.sep)
    return os.path.relpath(path, workspace) if inside else path


async def describe_state(session: DebugSession, target: DebugTarget | None, workspace: str) -> dict[str, Any]:
    """The answer to a call that resumed the program.

    Raises:
        BridgeError: E_SESSION_TERMINATED: the session was lost.
    """
    if target is not None:
        try:
            return await describe_stop(session, target, workspace)
        except AdapterGone:
            # It ended meanwhile; what it answered so far is of no use.
            await asyncio.wait([target.over], timeout=5)
    if session.is_over:
        return await describe_end(session, workspace)
    return describe_running(session)


def describe_running(session: DebugSession) -> dict[str, Any]:
    return {"sessionId": session.id, "state": "running", **_notes(session), **session.output.take()}


async def describe_end(session: DebugSession, workspace: str) -> dict[str, Any]:
    """How a program ended. A killed adapter reports nothing."""
    await session.end()
    if session.how:
        raise debug_errors.session_lost(session.id, session.how, session.output.take())
    shown: dict[str, Any] = {"sessionId": session.id, "state": "terminated", "exitCode": session.root.exit_code}
    for name, found, hint in (
        (
            "unboundBreakpoints",
            session.unbound(),
            "no code was loaded there, so check path and line; breakpoint_list shows them",
        ),
        ("breakpointsNotHit", session.not_hit(), "those lines were not run, or the condition was never true"),
    ):
        if found:
            shown[name] = [{"path": display_path(one.path, workspace), "line": one.line} for one in found]
            shown["hint"] = hint
    return shown | _notes(session) | session.output.take()


async def describe_stop(session: DebugSession, target: DebugTarget, workspace: str) -> dict[str, Any]:
    """Where a program is paused."""
    stop = target.stop
    if stop is None:
        raise AdapterGone("stopped")
    is_first, stop.is_told = not stop.is_told, True
    shown: dict[str, Any] = {"sessionId": target.id, "state": "paused", "reason": stop.reason}
    thread = await thread_of(target, stop)
    shown["threadId"] = thread
    if "exception" in stop.reason:
        shown["exception"] = await _exception(target, thread, stop)
    try:
        frames, more = await frames_of(target, thread, workspace, limit=MAX_SHOWN_FRAMES)
    except AdapterRefused:
        # delve has no stack for a program at its entry.
        frames, more = [], 0
    shown["frames"] = frames
    if more > 0:
        shown["moreFrames"] = f"{more}; debug_stack has them"
    if frames:
        shown |= await describe_locals(target, frames[0]["id"], LOCALS_BUDGET)
    if is_first:
        _note_hit(target, frames, workspace)
        session.record(
            target, "stop", {name: shown[name] for name in ("reason", "exception", "frames") if name in shown}
        )
    others = [one.id for one in session.targets if one.state == "paused" and one is not target]
    return shown | ({"alsoPaused": others} if others else {}) | _notes(session) | session.output.take()


def _note_hit(target: DebugTarget, frames: list[dict[str, Any]], workspace: str) -> None:
    """Remembers at which breakpoints the program stopped. Few adapters report it."""
    if frames:
        path = os.path.realpath(os.path.join(workspace, frames[0]["file"]))
        here = (path, frames[0]["line"])
        target.hit |= {one for one, bound in target.bound.items() if (one.path, bound.line or one.line) == here}


async def thread_of(target: DebugTarget, stop: ProgramStop) -> int:
    """The thread that stopped, or the first one if none was named."""
    if stop.thread is None:
        threads = (await target.ask("threads")).get("threads") or ()
        if not threads:
            raise debug_errors.debug_error("E_NO_THREADS", f"session {target.id} has no threads", "call debug_status")
        stop.thread = int(threads[0]["id"])
    return stop.thread


async def frames_of(
    target: DebugTarget, thread: int, workspace: str, *, limit: int, start: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """Frames from the innermost on, and how many more there are."""
    found = await target.ask("stackTrace", threadId=thread, startFrame=start, levels=limit)
    listed = [one for one in found.get("stackFrames") or () if one.get("presentationHint") != "label"]
    frames = [_frame(target, one, workspace) for one in listed[:limit]]
    if frames and start == 0:
        if target.stop is not None and target.stop.thread == thread:
            target.stop.frame = int(listed[0]["id"])
        if code := _code(listed[0]):
            frames[0]["code"] = code
    return frames, int(found.get("totalFrames") or 0) - start - len(frames)


def _frame(target: DebugTarget, frame: Mapping[str, Any], workspace: str) -> dict[str, Any]:
    source = frame.get("source") or {}
    path = source.get("path") or source.get("name") or ""
    number = target.session.references.give("frame", target, int(frame["id"]))
    name = str(frame.get("name") or "")
    shown: dict[str, Any] = {"id": number, "name": adapter_dialects.function_name(target.adapter, name)}
    shown |= {"file": display_path(path, workspace), "line": frame.get("line")}
    cause = adapter_dialects.cause_of_frame(target.adapter, name)
    return shown if cause is None else shown | {"cause": cause[:MAX_CAUSE_CHARACTERS]}


def _code(frame: Mapping[str, Any]) -> str:
    """The source line at which the program is paused."""
    path = (frame.get("source") or {}).get("path")
    if not path or not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                if number == frame.get("line"):
                    return line.strip()[:200]
    except OSError:
        pass
    return ""


async def _exception(target: DebugTarget, thread: int, stop: ProgramStop) -> dict[str, Any]:
    """The exception that stopped the program."""
    try:
        info = await target.ask("exceptionInfo", threadId=thread)
    except (AdapterRefused, TimeoutError):
        return {"message": stop.text}
    shown = adapter_dialects.exception_of(target.adapter, info, stop.text)
    shown["message"] = shown["message"][:MAX_MESSAGE_CHARACTERS]
    if mode := info.get("breakMode"):
        shown["mode"] = mode
    return shown


def _notes(session: DebugSession) -> dict[str, Any]:
    """Notes that are reported once."""
    notes, session.notes = session.notes, ()
    return {"notes": list(notes)} if notes else {}
