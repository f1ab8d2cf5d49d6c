"""Scripts about breakpoints."""

import os
from typing import Any

from msgspec import Struct

from binnacle.bridge.debug import debug_errors, hit_conditions
from binnacle.bridge.debug.breakpoints import Breakpoint, FunctionBreakpoint
from binnacle.bridge.debug.cancellable_wait import ScriptCall
from binnacle.bridge.debug.dap import AdapterGone, AdapterRefused
from binnacle.bridge.debug.debug_target import DebugTarget
from binnacle.bridge.debug.debugger import Debugger
from binnacle.bridge.debug.stop_report import display_path

LIST_HINT = "call breakpoint_list for those there are"


class SetBreakpointParams(Struct, kw_only=True, rename="camel"):
    """Parameters of `breakpoint.set`: path and line, or a function, or exceptions."""

    path: str | None = None
    line: int | None = None
    function: str | None = None
    exceptions: list[str] | None = None
    condition: str | None = None
    hit_condition: str | int | None = None
    log_message: str | None = None


class RemoveBreakpointParams(Struct, kw_only=True):
    path: str | None = None
    line: int | None = None
    function: str | None = None


class ClearFileParams(Struct, kw_only=True):
    path: str


class NoParams(Struct):
    """No parameters."""


async def set_one(debugger: Debugger, params: SetBreakpointParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """Sets a breakpoint, for now and every later session."""
    count = None if params.hit_condition is None else str(params.hit_condition).strip()
    if count is not None:
        hit_conditions.check_hit_condition(count)
    if params.exceptions is not None:
        return await _set_exceptions(debugger, params.exceptions)
    if params.function is not None:
        wanted = FunctionBreakpoint(name=params.function, condition=params.condition, hit_condition=count)
        debugger.breakpoints.set_function(wanted)
        for target in _targets(debugger):
            await target.send_functions(debugger.breakpoints)
        return {"success": True, "function": params.function}
    path, line = _place(debugger, params.path, params.line)
    breakpoint_ = Breakpoint(
        path=path, line=line, condition=params.condition, hit_condition=count, log_message=params.log_message
    )
    debugger.breakpoints.set(breakpoint_)
    await _send(debugger, path)
    return {"success": True} | _row(debugger, breakpoint_)


async def _set_exceptions(debugger: Debugger, filters: list[str]) -> dict[str, Any]:
    offered = [
        one["filter"]
        for target in _targets(debugger)
        for one in target.capabilities.get("exceptionBreakpointFilters") or ()
    ]
    unknown = [one for one in filters if offered and one not in offered]
    if unknown:
        raise debug_errors.debug_error(
            "E_INVALID_PARAMS",
            f"no such filter of exceptions: {unknown[0]!r}",
            f"one of: {', '.join(sorted(set(offered)))}",
        )
    debugger.breakpoints.set_exceptions(filters)
    for target in _targets(debugger):
        await target.send_exceptions(debugger.breakpoints)
    return {"success": True, "exceptions": filters}


async def remove(debugger: Debugger, params: RemoveBreakpointParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    if params.function is not None:
        if not debugger.breakpoints.remove_function(params.function):
            raise debug_errors.debug_error(
                "E_NOT_FOUND", f"no breakpoint on the function {params.function!r}", LIST_HINT
            )
        for target in _targets(debugger):
            await target.send_functions(debugger.breakpoints)
        return {"success": True}
    if params.path is None or params.line is None:
        raise debug_errors.debug_error("E_INVALID_PARAMS", "give path and line, or function", LIST_HINT)
    path = debugger.path(params.path)
    if not debugger.breakpoints.remove(path, params.line):
        raise debug_errors.debug_error("E_NOT_FOUND", f"no breakpoint at {params.path}:{params.line}", LIST_HINT)
    await _send(debugger, path)
    return {"success": True}


async def clear_file(debugger: Debugger, params: ClearFileParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """Removes the breakpoints of a file, which need not exist any more."""
    path = debugger.path(params.path)
    removed = debugger.breakpoints.remove(path)
    if not removed and not os.path.exists(path):
        raise _no_file(params.path, path)
    await _send(debugger, path)
    return {"success": True, "removed": removed}


async def clear_project(debugger: Debugger, params: NoParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    paths = debugger.breakpoints.paths()
    removed = debugger.breakpoints.clear()
    for path in paths:
        await _send(debugger, path)
    for target in _targets(debugger):
        await target.send_functions(debugger.breakpoints)
        await target.send_exceptions(debugger.breakpoints)
    return {"success": True, "removed": removed}


async def list_all(debugger: Debugger, params: NoParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    kept = debugger.breakpoints
    answer: dict[str, Any] = {"breakpoints": [_row(debugger, one) for one in kept.lines], "count": len(kept.lines)}
    if kept.functions:
        answer["functions"] = [one.to_dap() for one in kept.functions]
    if kept.exceptions is not None:
        answer["exceptions"] = kept.exceptions
    return answer


def _place(debugger: Debugger, given: str | None, line: int | None) -> tuple[str, int]:
    if given is None or line is None:
        raise debug_errors.debug_error(
            "E_MISSING_REQUIRED_PARAM", "give path and line, or function", "call breakpoint_set again"
        )
    path = debugger.path(given)
    if not os.path.isfile(path):
        raise _no_file(given, path)
    with open(path, "rb") as file:
        length = sum(1 for _ in file)
    if not 1 <= line <= max(length, 1):
        raise debug_errors.debug_error(
            "E_INVALID_LINE", f"{given} has {length} lines, not {line}", f"give a line from 1 to {length}"
        )
    return path, line


def _no_file(given: str, path: str) -> Exception:
    return debug_errors.debug_error(
        "E_FILE_NOT_FOUND",
        f"no such file: {given!r} (looked for {path})",
        "give path relative to the workspace, or an absolute one",
        original=given,
        resolved=path,
    )


def _targets(debugger: Debugger) -> list[DebugTarget]:
    return [target for session in debugger.live() for target in session.live()]


async def _send(debugger: Debugger, path: str) -> None:
    """Sends breakpoints to every program, except those that end meanwhile."""
    for target in _targets(debugger):
        try:
            await target.send_lines(path, debugger.breakpoints)
        except (AdapterGone, AdapterRefused, TimeoutError):
            continue


def _row(debugger: Debugger, wanted: Breakpoint) -> dict[str, Any]:
    """A breakpoint, and its state in the debugged programs."""
    row: dict[str, Any] = wanted.to_dap() | {"path": display_path(wanted.path, debugger.workspace)}
    bound = [target.bound[wanted] for target in _targets(debugger) if wanted in target.bound]
    row["verified"] = any(one.verified for one in bound)
    if not bound:
        row["message"] = "bound when a session starts"
    elif not row["verified"]:
        row["message"] = bound[0].message or "in no code that is loaded yet"
    placed = next((one.line for one in bound if one.verified and one.line not in (None, wanted.line)), None)
    return row | ({"boundLine": placed} if placed else {})


SCRIPTS = {
    "breakpoint.set": (SetBreakpointParams, set_one),
    "breakpoint.remove": (RemoveBreakpointParams, remove),
    "breakpoint.clear.file": (ClearFileParams, clear_file),
    "breakpoint.clear.project": (NoParams, clear_project),
    "breakpoint.list": (NoParams, list_all),
}
