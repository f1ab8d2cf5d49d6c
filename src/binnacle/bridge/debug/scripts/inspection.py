"""Scripts that inspect a paused program, and change its variables."""

import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

from binnacle.bridge.debug import adapter_dialects, debug_errors
from binnacle.bridge.debug.cancellable_wait import CallCancelled, ScriptCall, wait_for_future
from binnacle.bridge.debug.dap import AdapterGone, AdapterRefused, body_of
from binnacle.bridge.debug.debug_target import DebugTarget, recognize_end
from binnacle.bridge.debug.debugger import Debugger
from binnacle.bridge.debug.stop_report import frames_of, thread_of
from binnacle.bridge.debug.variable_tree import AnswerBudget, describe_tree, describe_variable, fetch_members

MAX_RESULT_CHARACTERS = 8000
"""Characters of an expression's value."""

TREE_BUDGET = AnswerBudget(items=400, size=16_000)
"""How much of all variables one answer shows."""

SCOPE_WORDS = {"local": ("local", "argument"), "closure": ("closure", "block", "catch"), "global": ("global", "static")}
"""Adapters' names of our scopes; a part of the name suffices."""


class StackParams(Struct, kw_only=True, rename="camel"):
    session_id: str | None = None
    thread_id: int | None = None
    start: int = 0
    count: int = 20


class ScopesParams(Struct, kw_only=True, rename="camel"):
    frame_id: int
    session_id: str | None = None


class ListVariablesParams(Struct, kw_only=True, rename="camel"):
    scope: Literal["local", "closure", "global", "all"] = "all"
    max_depth: int = 3
    frame_id: int | None = None
    session_id: str | None = None


class GetVariableParams(Struct, kw_only=True, rename="camel"):
    variables_reference: int
    start: int = 0
    count: int = 100
    filter: Literal["indexed", "named", "all"] = "all"
    session_id: str | None = None


class SetVariableParams(Struct, kw_only=True, rename="camel"):
    name: str
    value: str | int | float | bool | None
    variables_reference: int | None = None
    frame_id: int | None = None
    session_id: str | None = None


class EvaluateParams(Struct, kw_only=True, rename="camel"):
    expression: str
    frame_id: int | None = None
    context: Literal["repl", "watch", "hover"] = "repl"
    session_id: str | None = None
    timeout_ms: float = 10_000


async def stack(debugger: Debugger, params: StackParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """The frames of the thread that stopped, or of another one."""
    target = debugger.target(params.session_id)
    assert target.stop is not None
    thread = params.thread_id if params.thread_id is not None else await thread_of(target, target.stop)
    frames, more = await frames_of(
        target, thread, debugger.workspace, start=params.start, limit=max(1, min(params.count, 1000))
    )
    if not frames:
        raise debug_errors.debug_error("E_NO_STACK", f"thread {thread} has no frames there", "call debug_threads")
    described: dict[str, Any] = {"sessionId": target.id, "threadId": thread, "frames": frames}
    return described | ({"more": f"{more}; call with start={params.start + len(frames)}"} if more > 0 else {})


async def scopes(debugger: Debugger, params: ScopesParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    target, number = debugger.frame(params.frame_id, params.session_id)
    found = await _scopes(target, number)
    give = target.session.references.give
    rows = [
        {
            "name": one.get("name"),
            "variablesReference": give("variables", target, int(one["variablesReference"])),
            "expensive": bool(one.get("expensive")),
        }
        for one in found
    ]
    return {"sessionId": target.id, "scopes": rows}


async def list_variables(debugger: Debugger, params: ListVariablesParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """The variables of a frame, some levels deep, within a budget."""
    target, number = debugger.frame(params.frame_id, params.session_id)
    room = AnswerBudget(items=TREE_BUDGET.items, size=TREE_BUDGET.size)
    rows = []
    for one in await _scopes(target, number):
        name = str(one.get("name", ""))
        if params.scope != "all" and not any(word in name.lower() for word in SCOPE_WORDS[params.scope]):
            continue
        number = int(one["variablesReference"])
        if params.scope == "all" and (one.get("expensive") or one.get("presentationHint") == "registers"):
            ours = target.session.references.give("variables", target, number)
            rows.append(
                {"name": name, "more": f"not shown; debug_get_variable with variablesReference={ours} has them"}
            )
            continue
        rows.append(
            {"name": name} | await describe_tree(target, number, depth=max(1, min(params.max_depth, 10)), room=room)
        )
    return {"sessionId": target.id, "scopes": rows}


async def get_variable(debugger: Debugger, params: GetVariableParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """Members of a variable, by pages."""
    if params.start < 0 or not 1 <= params.count <= 5000:
        raise debug_errors.debug_error(
            "E_INVALID_PARAMS", "start is at least 0, count from 1 to 5000", "call again with others"
        )
    target, number = debugger.references.take("variables", params.variables_reference)
    only = None if params.filter == "all" else params.filter
    found = await fetch_members(target, number, start=params.start, count=params.count + 1, only=only)
    shown = [describe_variable(target, one) for one in found[: params.count]]
    described: dict[str, Any] = {"sessionId": target.id, "start": params.start, "variables": shown}
    if len(found) > params.count:
        described["more"] = f"call with start={params.start + params.count}"
    elif hidden := _hidden(found):
        described["more"] = hidden
    return described


async def set_variable(debugger: Debugger, params: SetVariableParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    """Gives a variable another value, written in the program's language."""
    if params.variables_reference is not None:
        target, reference = debugger.references.take("variables", params.variables_reference)
        await _find(target, reference, params.name)
    else:
        target, frame = debugger.frame(params.frame_id, params.session_id)
        if (found := await _find_in_scopes(target, frame, params.name)) is None:
            return await _set_expression(target, frame, params.name, _write_value(target, params.value))
        reference = found
    value = _write_value(target, params.value)
    if target.adapter == "debugpy" and (scope := target.scopes.get(reference)):
        # Here debugpy would silently keep the old value if the new one cannot be evaluated.
        place = f"globals()[{params.name!r}]" if scope[1] == "Globals" else params.name
        return await _set_expression(target, scope[0], place, value) | {"name": params.name}
    try:
        answer = await target.ask(
            "setVariable", variablesReference=reference, name=params.name, value=value, timeout=10
        )
    except AdapterRefused as error:
        raise _set_failed(params.name, error) from error
    return _was_set(target, params.name, answer)


def _write_value(target: DebugTarget, value: Any) -> str:
    """A value in the program's language; a string already is."""
    if isinstance(value, str):
        return value
    return repr(value) if target.adapter == "debugpy" else msgspec.json.encode(value).decode()


async def evaluate(debugger: Debugger, params: EvaluateParams, job: ScriptCall) -> dict[str, Any]:
    """The value of an expression where the program is paused."""
    target, frame = debugger.frame(params.frame_id, params.session_id)
    try:
        found = await ask_value(
            target, frame, params.expression, context=params.context, seconds=params.timeout_ms / 1000, job=job
        )
    except AdapterRefused as error:
        raise debug_errors.debug_error(
            "E_INVALID_EXPRESSION",
            f"{params.expression!r}: {adapter_dialects.summarize_complaint(error.message)}",
            "debug_list_variables shows what can be named here",
        ) from error
    result = str(found.get("result", ""))
    described: dict[str, Any] = {"sessionId": target.id, "result": result[:MAX_RESULT_CHARACTERS]}
    if len(result) > MAX_RESULT_CHARACTERS:
        described["resultCut"] = (
            f"{len(result) - MAX_RESULT_CHARACTERS} characters more; debug_save_variable writes large values to a file"
        )
    if kind := found.get("type"):
        described["type"] = kind
    if number := found.get("variablesReference"):
        described["variablesReference"] = target.session.references.give("variables", target, int(number))
    return described | target.session.output.take()


async def ask_value(
    target: DebugTarget, frame: int | None, expression: str, *, context: str, seconds: float, job: ScriptCall
) -> dict[str, Any]:
    """Evaluates an expression. It cannot be cancelled: if it takes too long, the error says so.

    Raises:
        AdapterRefused: it failed.
        BridgeError: E_TIMEOUT or E_CANCELLED; it still runs.
    """
    if frame is None:
        frame = await top_frame(target)
    context = adapter_dialects.context_for(target.adapter, expression, context)
    answer = target.post("evaluate", {"expression": expression, "frameId": frame, "context": context})
    target.session.record(target, "command", {"command": "evaluate", "expression": expression[:500]})
    target.evaluating = expression
    answer.add_done_callback(lambda _: target.finish_evaluation())
    try:
        await wait_for_future(answer, timeout=seconds, job=job)
    except TimeoutError:
        raise debug_errors.debug_error(
            "E_TIMEOUT",
            f"{expression!r} still runs in the program after {seconds:g} s and cannot be taken back",
            "wait and call again; debug_stop ends the program",
            retryable=True,
            sessionId=target.id,
        ) from None
    except CallCancelled:
        raise debug_errors.call_cancelled(
            f"no longer waiting for {expression!r}; it still runs in the program",
            "calls answer E_BUSY until it is done; debug_stop ends the program",
            sessionId=target.id,
        ) from None
    try:
        return body_of("evaluate", answer.result())
    except AdapterRefused as error:
        raise recognize_end(error) from None


async def top_frame(target: DebugTarget) -> int:
    """The adapter's id of the innermost frame."""
    if target.stop is None:
        raise AdapterGone("stackTrace")
    if target.stop.frame is not None:
        return target.stop.frame
    found = await target.ask("stackTrace", threadId=await thread_of(target, target.stop), startFrame=0, levels=1)
    frames = found.get("stackFrames") or ()
    if not frames:
        raise debug_errors.debug_error("E_NO_STACK", f"session {target.id} stands in no frame", "call debug_threads")
    return int(frames[0]["id"])


async def _scopes(target: DebugTarget, frame: int | None) -> list[dict[str, Any]]:
    return await target.ask_scopes(frame if frame is not None else await top_frame(target))


async def _find(target: DebugTarget, reference: int, name: str) -> None:
    if all(one.get("name") != name for one in await fetch_members(target, reference)):
        raise _not_found(name)


async def _find_in_scopes(target: DebugTarget, frame: int | None, name: str) -> int | None:
    """The scope with a variable of that name; None if there is none, as for an expression."""
    for scope in await _scopes(target, frame):
        reference = int(scope["variablesReference"])
        if any(one.get("name") == name for one in await fetch_members(target, reference)):
            return reference
    if re.fullmatch(r"\w+", name):
        raise _not_found(name)
    return None


async def _set_expression(target: DebugTarget, frame: int | None, name: str, value: str) -> dict[str, Any]:
    if not target.capabilities.get("supportsSetExpression"):
        raise _not_found(name)
    number = frame if frame is not None else await top_frame(target)
    try:
        answer = await target.ask("setExpression", expression=name, value=value, frameId=number, timeout=10)
    except AdapterRefused as error:
        raise _set_failed(name, error) from error
    return _was_set(target, name, answer)


def _was_set(target: DebugTarget, name: str, answer: dict[str, Any]) -> dict[str, Any]:
    # lldb-dap calls the new value `result`.
    described = describe_variable(
        target, answer | {"name": name, "value": answer.get("value", answer.get("result", ""))}
    )
    return {"success": True, "sessionId": target.id} | described


def _not_found(name: str) -> Exception:
    return debug_errors.debug_error(
        "E_VARIABLE_NOT_FOUND", f"no variable is called {name!r} here", "debug_list_variables shows those there are"
    )


def _set_failed(name: str, error: AdapterRefused) -> Exception:
    return debug_errors.debug_error(
        "E_SET_FAILED",
        f"cannot set {name!r}: {adapter_dialects.summarize_complaint(error.message)}",
        "give the value as the program's language writes it: texts in quotes",
    )


def _hidden(found: list[dict[str, Any]]) -> str:
    """How to get what debugpy does not list: it lists the first members and the total number."""
    last = found[-1] if found else {}
    if last.get("name") != "len()" or not str(last.get("value", "")).isdecimal():
        return ""
    listed, total = len(found) - 1, int(last["value"])
    expression = str(last.get("evaluateName", "")).removeprefix("len(").removesuffix(")")
    if total <= listed or not expression:
        return ""
    return f"{total} in all; debug_evaluate {expression}[…] shows others; debug_save_variable writes all to a file"


SCRIPTS = {
    "debug.stack": (StackParams, stack),
    "debug.scopes": (ScopesParams, scopes),
    "debug.list-variables": (ListVariablesParams, list_variables),
    "debug.get-variable": (GetVariableParams, get_variable),
    "debug.set-variable": (SetVariableParams, set_variable),
    "debug.evaluate": (EvaluateParams, evaluate),
}
