"""Scripts that start, resume and end programs."""

import asyncio
import contextlib
from typing import Any

from msgspec import Struct

from binnacle.bridge.debug import debug_errors
from binnacle.bridge.debug.cancellable_wait import ScriptCall
from binnacle.bridge.debug.dap import AdapterGone
from binnacle.bridge.debug.debug_session import DebugSession
from binnacle.bridge.debug.debug_target import DebugTarget
from binnacle.bridge.debug.debugger import Debugger
from binnacle.bridge.debug.launch_request import DebugLaunch, StartParams, prepare_launch
from binnacle.bridge.debug.stop_report import describe_end, describe_running, describe_state
from binnacle.errors import BridgeError

ATTACHED_SECONDS = 1.0
"""Seconds for an attached program without breakpoints to stop or end."""


class WaitParams(Struct, kw_only=True, rename="camel"):
    """Parameters of scripts that wait for a program."""

    session_id: str | None = None
    timeout_ms: float = 30_000


class ResumeParams(WaitParams, kw_only=True, rename="camel"):
    """Parameters of scripts that resume a program."""

    wait: bool = True


class SessionParams(Struct, kw_only=True, rename="camel"):
    """Parameters of scripts that take only a session."""

    session_id: str | None = None


async def start(debugger: Debugger, params: StartParams, job: ScriptCall) -> dict[str, Any]:
    """Starts a program under the debugger and waits for its first stop."""
    launch = prepare_launch(params, debugger.workspace)
    return await begin(debugger, launch, seconds=params.timeout_ms / 1000 if params.wait else None, job=job)


async def begin(debugger: Debugger, launch: DebugLaunch, *, seconds: float | None, job: ScriptCall) -> dict[str, Any]:
    """Starts a prepared launch; without `seconds`, does not wait for its first stop."""
    session = debugger.new_session(launch)
    job.progress(None, f"starting {launch.title} as session {session.id}")
    try:
        await session.begin(job)
    except BaseException:
        session.is_told = True
        raise
    debugger.current = session
    if seconds is None:
        return await _now(debugger, session)
    try:
        return await _first(debugger, session, seconds, job)
    except BridgeError as error:
        if error.code == "E_CANCELLED":
            # The caller does not know its id, so could not end it.
            session.end_soon()
        raise
    except asyncio.CancelledError:
        session.end_soon()
        raise


async def go_on(debugger: Debugger, params: ResumeParams, job: ScriptCall) -> dict[str, Any]:
    return await _resume(debugger, params, job, "continue")


async def step_over(debugger: Debugger, params: ResumeParams, job: ScriptCall) -> dict[str, Any]:
    return await _resume(debugger, params, job, "next")


async def step_into(debugger: Debugger, params: ResumeParams, job: ScriptCall) -> dict[str, Any]:
    return await _resume(debugger, params, job, "stepIn")


async def step_out(debugger: Debugger, params: ResumeParams, job: ScriptCall) -> dict[str, Any]:
    return await _resume(debugger, params, job, "stepOut")


async def _resume(debugger: Debugger, params: ResumeParams, job: ScriptCall, command: str) -> dict[str, Any]:
    target = debugger.target(params.session_id)
    debugger.current = session = debugger.session_of(target)
    with contextlib.suppress(AdapterGone):
        await target.resume(command)
    if not params.wait:
        return await _now(debugger, session)
    return await _next(debugger, session, target, params.timeout_ms / 1000, job)


async def pause(debugger: Debugger, params: WaitParams, job: ScriptCall) -> dict[str, Any]:
    """Pauses a running program; for a paused one, returns its position."""
    debugger.current = session = debugger.session(params.session_id)
    if (standing := session.untold() or debugger.standing(params.session_id)) is not None:
        session.focus = standing
        return await describe_state(session, standing, debugger.workspace)
    named = session.find(params.session_id or "")
    choices = [named] if named and named is not session.root else reversed(session.live())
    target = next((one for one in choices if one.state == "running"), None)
    if target is not None:
        threads = (await target.ask("threads")).get("threads") or [{"id": 1}]
        await target.ask("pause", threadId=threads[0]["id"])
    return await _next(debugger, session, None, params.timeout_ms / 1000, job)


async def wait_for_hit(debugger: Debugger, params: WaitParams, job: ScriptCall) -> dict[str, Any]:
    """Waits for a running program; returns at once if it is paused or has ended."""
    current = debugger.current
    if current is not None and current.is_over and not current.is_told and params.session_id in (None, current.id):
        return await _end_of(debugger, current)
    debugger.current = session = debugger.session(params.session_id)
    if session.untold() is None and session.focus.state == "paused":
        return await describe_state(session, session.focus, debugger.workspace)
    return await _next(debugger, session, None, params.timeout_ms / 1000, job)


async def stop(debugger: Debugger, params: SessionParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """Ends a program, its adapter and everything they started; an attached program continues alone."""
    session = debugger.session(params.session_id)
    session.how = "it was stopped using debug_stop"
    await session.end()
    session.is_told = True
    answer: dict[str, Any] = {"success": True, "sessionId": session.id, "state": "terminated"}
    if session.launch.is_attach:
        answer["details"] = "detached; the program goes on"
    if left := [one.id for one in debugger.live()]:
        answer["sessions"] = left
    return answer | session.output.take()


async def restart(debugger: Debugger, params: ResumeParams, job: ScriptCall) -> dict[str, Any]:
    """Ends a program and starts it again, also if it has already ended."""
    current = debugger.current
    over = current if current is not None and params.session_id in (None, current.id) else None
    session = over if over is not None and not debugger.live() else debugger.session(params.session_id)
    session.how = session.how or "it was restarted using debug_restart"
    await session.end()
    session.is_told = True
    seconds = params.timeout_ms / 1000 if params.wait else None
    return await begin(debugger, session.launch, seconds=seconds, job=job)


async def status(debugger: Debugger, params: SessionParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """The state of a program, and the other sessions."""
    debugger.current = session = debugger.session(params.session_id)
    answer = await _now(debugger, session)
    return answer | {"sessions": [_overview(one) for one in debugger.live()]}


async def tracker(debugger: Debugger, params: SessionParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """Every session since this host started."""
    if not debugger.sessions:
        raise debug_errors.no_session()
    return {"sessions": [_overview(one) | {"events": one.events} for one in debugger.sessions.values()]}


async def threads(debugger: Debugger, params: SessionParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """The threads of a program, and which of them is at a breakpoint."""
    session = debugger.session(params.session_id)
    target = session.find(params.session_id or "") or (
        session.focus if session.focus in session.live() else session.root
    )
    found = (await target.ask("threads")).get("threads") or ()
    stopped = target.stop.thread if target.stop else None
    rows = [{"id": one["id"], "name": one.get("name"), "isStopped": one["id"] == stopped} for one in found]
    return {"sessionId": target.id, "state": target.state, "threads": rows}


async def _now(debugger: Debugger, session: DebugSession) -> dict[str, Any]:
    """The state of a session now."""
    if session.is_over:
        return await _end_of(debugger, session)
    standing = session.untold() or (session.focus if session.focus.state == "paused" else None)
    if standing is None:
        return describe_running(session)
    session.focus = standing
    return await describe_state(session, standing, debugger.workspace)


async def _first(debugger: Debugger, session: DebugSession, seconds: float, job: ScriptCall) -> dict[str, Any]:
    """Waits for a program's first stop. An attached program ran before, and may neither stop nor end."""
    if not session.launch.is_attach:
        return await _next(debugger, session, None, seconds, job)
    if not debugger.breakpoints.lines and not debugger.breakpoints.functions:
        seconds = min(seconds, ATTACHED_SECONDS)
    try:
        return await _next(debugger, session, None, seconds, job)
    except BridgeError as error:
        if error.code != "E_TIMEOUT":
            raise
        return {**error.details, "details": "attached; the program is running", **describe_running(session)}


async def _next(
    debugger: Debugger, session: DebugSession, resumed: DebugTarget | None, seconds: float, job: ScriptCall
) -> dict[str, Any]:
    target = await session.wait_for_stop(resumed, timeout=seconds, job=job)
    if target is None:
        return await _end_of(debugger, session)
    answer = await describe_state(session, target, debugger.workspace)
    session.is_told = session.is_over
    return answer


async def _end_of(debugger: Debugger, session: DebugSession) -> dict[str, Any]:
    session.is_told = True
    return await describe_end(session, debugger.workspace)


def _overview(session: DebugSession) -> dict[str, Any]:
    rows = [{"sessionId": one.id, "state": one.state, "process": one.process} for one in session.targets]
    answer = rows[0] | {"title": session.launch.title, "adapter": session.launch.adapter.id}
    return answer | ({"children": rows[1:]} if rows[1:] else {}) | ({"ended": session.how} if session.how else {})


SCRIPTS = {
    "debug.start": (StartParams, start),
    "debug.continue": (ResumeParams, go_on),
    "debug.step-over": (ResumeParams, step_over),
    "debug.step-into": (ResumeParams, step_into),
    "debug.step-out": (ResumeParams, step_out),
    "debug.pause": (WaitParams, pause),
    "debug.wait-for-hit": (WaitParams, wait_for_hit),
    "debug.stop": (SessionParams, stop),
    "debug.restart": (ResumeParams, restart),
    "debug.status": (SessionParams, status),
    "debug.threads": (SessionParams, threads),
    "debug.tracker": (SessionParams, tracker),
}
