"""Scripts that look into a program that stands still, and change what they find."""

import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from binnacle.bridge.debug import dialects, faults
from binnacle.bridge.debug.answers import frames_of, thread_of
from binnacle.bridge.debug.dap import Gone, Refused, body_of
from binnacle.bridge.debug.target import Target, unmask
from binnacle.bridge.debug.variables import Budget, fetch, tell, tree
from binnacle.bridge.debug.waiting import Cancelled, Job, settle

if TYPE_CHECKING:
    from binnacle.bridge.debug.debugger import Debugger

RESULT = 8000
"""Characters of an expression's value."""

TREE = Budget(items=400, size=16_000)
"""How much of all variables one answer shows."""

SCOPES = {"local": ("local", "argument"), "closure": ("closure", "block", "catch"), "global": ("global", "static")}
"""How adapters call what we call scopes; part of the name suffices."""


class Stack(Struct, kw_only=True, rename="camel"):
    session_id: str | None = None
    thread_id: int | None = None
    start: int = 0
    count: int = 20


class InFrame(Struct, kw_only=True, rename="camel"):
    frame_id: int
    session_id: str | None = None


class ListVariables(Struct, kw_only=True, rename="camel"):
    scope: Literal["local", "closure", "global", "all"] = "all"
    max_depth: int = 3
    frame_id: int | None = None
    session_id: str | None = None


class GetVariable(Struct, kw_only=True, rename="camel"):
    variables_reference: int
    start: int = 0
    count: int = 100
    filter: Literal["indexed", "named", "all"] = "all"
    session_id: str | None = None


class SetVariable(Struct, kw_only=True, rename="camel"):
    name: str
    value: str | int | float | bool | None
    variables_reference: int | None = None
    frame_id: int | None = None
    session_id: str | None = None


class Evaluate(Struct, kw_only=True, rename="camel"):
    expression: str
    frame_id: int | None = None
    context: Literal["repl", "watch", "hover"] = "repl"
    session_id: str | None = None
    timeout_ms: float = 10_000


async def stack(debugger: "Debugger", params: Stack, job: Job) -> dict[str, Any]:  # noqa: ARG001
    """The frames of the thread that stopped, or of another one."""
    target = debugger.target(params.session_id)
    assert target.stop is not None
    thread = params.thread_id if params.thread_id is not None else await thread_of(target, target.stop)
    frames, more = await frames_of(
        target, thread, debugger.workspace, start=params.start, limit=max(1, min(params.count, 1000))
    )
    if not frames:
        raise faults.fault("E_NO_STACK", f"thread {thread} has no frames there", "call debug_threads")
    told: dict[str, Any] = {"sessionId": target.id, "threadId": thread, "frames": frames}
    return told | ({"more": f"{more}; call with start={params.start + len(frames)}"} if more > 0 else {})


async def scopes(debugger: "Debugger", params: InFrame, job: Job) -> dict[str, Any]:  # noqa: ARG001
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


async def list_variables(debugger: "Debugger", params: ListVariables, job: Job) -> dict[str, Any]:  # noqa: ARG001
    """What a frame sees, some levels deep, as far as it fits."""
    target, number = debugger.frame(params.frame_id, params.session_id)
    room = Budget(items=TREE.items, size=TREE.size)
    rows = []
    for one in await _scopes(target, number):
        name = str(one.get("name", ""))
        if params.scope != "all" and not any(word in name.lower() for word in SCOPES[params.scope]):
            continue
        number = int(one["variablesReference"])
        if params.scope == "all" and (one.get("expensive") or one.get("presentationHint") == "registers"):
            ours = target.session.references.give("variables", target, number)
            rows.append(
                {"name": name, "more": f"not shown; debug_get_variable with variablesReference={ours} has them"}
            )
            continue
        rows.append({"name": name} | await tree(target, number, depth=max(1, min(params.max_depth, 10)), room=room))
    return {"sessionId": target.id, "scopes": rows}


async def get_variable(debugger: "Debugger", params: GetVariable, job: Job) -> dict[str, Any]:  # noqa: ARG001
    """Members of a variable, by pages."""
    if params.start < 0 or not 1 <= params.count <= 5000:
        raise faults.fault("E_INVALID_PARAMS", "start is at least 0, count from 1 to 5000", "call again with others")
    target, number = debugger.references.take("variables", params.variables_reference)
    only = None if params.filter == "all" else params.filter
    found = await fetch(target, number, start=params.start, count=params.count + 1, only=only)
    shown = [tell(target, one) for one in found[: params.count]]
    told: dict[str, Any] = {"sessionId": target.id, "start": params.start, "variables": shown}
    if len(found) > params.count:
        told["more"] = f"call with start={params.start + params.count}"
    elif hidden := _hidden(found):
        told["more"] = hidden
    return told


async def set_variable(debugger: "Debugger", params: SetVariable, job: Job) -> dict[str, Any]:  # noqa: ARG001
    """Gives a variable another value, written in the program's language."""
    if params.variables_reference is not None:
        target, reference = debugger.references.take("variables", params.variables_reference)
        await _find(target, reference, params.name)
    else:
        target, frame = debugger.frame(params.frame_id, params.session_id)
        if (found := await _find_in_scopes(target, frame, params.name)) is None:
            return await _set_expression(target, frame, params.name, _written(target, params.value))
        reference = found
    value = _written(target, params.value)
    if target.adapter == "debugpy" and (scope := target.scopes.get(reference)):
        # Here debugpy would keep the old value without a word if the new one cannot be evaluated.
        place = f"globals()[{params.name!r}]" if scope[1] == "Globals" else params.name
        return await _set_expression(target, scope[0], place, value) | {"name": params.name}
    try:
        answer = await target.ask(
            "setVariable", variablesReference=reference, name=params.name, value=value, timeout=10
        )
    except Refused as error:
        raise _set_failed(params.name, error) from error
    return _was_set(target, params.name, answer)


def _written(target: "Target", value: Any) -> str:
    """A value in the program's language; text is in it already."""
    if isinstance(value, str):
        return value
    return repr(value) if target.adapter == "debugpy" else msgspec.json.encode(value).decode()


async def evaluate(debugger: "Debugger", params: Evaluate, job: Job) -> dict[str, Any]:
    """The value of an expression where the program stands."""
    target, frame = debugger.frame(params.frame_id, params.session_id)
    try:
        found = await ask_value(
            target, frame, params.expression, context=params.context, seconds=params.timeout_ms / 1000, job=job
        )
    except Refused as error:
        raise faults.fault(
            "E_INVALID_EXPRESSION",
            f"{params.expression!r}: {dialects.gist(error.message)}",
            "debug_list_variables shows what can be named here",
        ) from error
    result = str(found.get("result", ""))
    told: dict[str, Any] = {"sessionId": target.id, "result": result[:RESULT]}
    if len(result) > RESULT:
        told["resultCut"] = f"{len(result) - RESULT} characters more; debug_save_variable writes large values to a file"
    if kind := found.get("type"):
        told["type"] = kind
    if number := found.get("variablesReference"):
        told["variablesReference"] = target.session.references.give("variables", target, int(number))
    return told | target.session.output.take()


async def ask_value(
    target: Target, frame: int | None, expression: str, *, context: str, seconds: float, job: Job
) -> dict[str, Any]:
    """Has an expression evaluated. Nobody can take it back: if it takes too long, that is said.

    Raises:
        Refused: it failed.
        BridgeError: E_TIMEOUT or E_CANCELLED; it still runs.
    """
    if frame is None:
        frame = await top_frame(target)
    context = dialects.context_for(target.adapter, expression, context)
    answer = target.post("evaluate", {"expression": expression, "frameId": frame, "context": context})
    target.session.record(target, "command", {"command": "evaluate", "expression": expression[:500]})
    target.evaluating = expression
    answer.add_done_callback(lambda _: target.finish_evaluation())
    try:
        await settle(answer, timeout=seconds, job=job)
    except TimeoutError:
        raise faults.fault(
            "E_TIMEOUT",
            f"{expression!r} still runs in the program after {seconds:g} s and cannot be taken back",
            "wait and call again; debug_stop ends the program",
            retryable=True,
            sessionId=target.id,
        ) from None
    except Cancelled:
        raise faults.cancelled(
            f"no longer waiting for {expression!r}; it still runs in the program",
            "calls answer E_BUSY until it is done; debug_stop ends the program",
            sessionId=target.id,
        ) from None
    try:
        return body_of("evaluate", answer.result())
    except Refused as error:
        raise unmask(error) from None


async def top_frame(target: Target) -> int:
    """The adapter's id of the innermost frame."""
    if target.stop is None:
        raise Gone("stackTrace")
    if target.stop.frame is not None:
        return target.stop.frame
    found = await target.ask("stackTrace", threadId=await thread_of(target, target.stop), startFrame=0, levels=1)
    frames = found.get("stackFrames") or ()
    if not frames:
        raise faults.fault("E_NO_STACK", f"session {target.id} stands in no frame", "call debug_threads")
    return int(frames[0]["id"])


async def _scopes(target: Target, frame: int | None) -> list[dict[str, Any]]:
    return await target.ask_scopes(frame if frame is not None else await top_frame(target))


async def _find(target: Target, reference: int, name: str) -> None:
    if all(one.get("name") != name for one in await fetch(target, reference)):
        raise _not_found(name)


async def _find_in_scopes(target: Target, frame: int | None, name: str) -> int | None:
    """The scope that has a variable of that name; none if it is no name at all but an expression."""
    for scope in await _scopes(target, frame):
        reference = int(scope["variablesReference"])
        if any(one.get("name") == name for one in await fetch(target, reference)):
            return reference
    if re.fullmatch(r"\w+", name):
        raise _not_found(name)
    return None


async def _set_expression(target: Target, frame: int | None, name: str, value: str) -> dict[str, Any]:
    if not target.capabilities.get("supportsSetExpression"):
        raise _not_found(name)
    number = frame if frame is not None else await top_frame(target)
    try:
        answer = await target.ask("setExpression", expression=name, value=value, frameId=number, timeout=10)
    except Refused as error:
        raise _set_failed(name, error) from error
    return _was_set(target, name, answer)


def _was_set(target: Target, name: str, answer: dict[str, Any]) -> dict[str, Any]:
    # lldb-dap calls the new value `result`.
    told = tell(target, answer | {"name": name, "value": answer.get("value", answer.get("result", ""))})
    return {"success": True, "sessionId": target.id} | told


def _not_found(name: str) -> Exception:
    return faults.fault(
        "E_VARIABLE_NOT_FOUND", f"no variable is called {name!r} here", "debug_list_variables shows those there are"
    )


def _set_failed(name: str, error: Refused) -> Exception:
    return faults.fault(
        "E_SET_FAILED",
        f"cannot set {name!r}: {dialects.gist(error.message)}",
        "give the value as the program's language writes it: texts in quotes",
    )


def _hidden(found: list[dict[str, Any]]) -> str:
    """How to get what debugpy does not list: it shows the first of many and then how many there are."""
    last = found[-1] if found else {}
    if last.get("name") != "len()" or not str(last.get("value", "")).isdecimal():
        return ""
    listed, total = len(found) - 1, int(last["value"])
    expression = str(last.get("evaluateName", "")).removeprefix("len(").removesuffix(")")
    if total <= listed or not expression:
        return ""
    return f"{total} in all; debug_evaluate {expression}[…] shows others; debug_save_variable writes all to a file"


SCRIPTS = {
    "debug.stack": (Stack, stack),
    "debug.scopes": (InFrame, scopes),
    "debug.list-variables": (ListVariables, list_variables),
    "debug.get-variable": (GetVariable, get_variable),
    "debug.set-variable": (SetVariable, set_variable),
    "debug.evaluate": (Evaluate, evaluate),
}
