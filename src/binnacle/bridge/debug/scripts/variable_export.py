"""The script that writes a large variable to a file, a line of JSON for each of its members."""

import ast
import os
from typing import Any, Literal

import msgspec
from msgspec import Struct

from binnacle.bridge.debug import debug_errors
from binnacle.bridge.debug.cancellable_wait import ScriptCall
from binnacle.bridge.debug.dap import AdapterRefused
from binnacle.bridge.debug.debug_target import DebugTarget
from binnacle.bridge.debug.debugger import Debugger
from binnacle.bridge.debug.scripts.inspection import ask_value
from binnacle.bridge.debug.stop_report import display_path
from binnacle.bridge.debug.variable_tree import fetch_members
from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_folder
from binnacle.config.repository_files import is_below, write_inside

EXPORT_TIMEOUT_SECONDS = 25.0
"""Seconds that the program may take to encode the variable."""

MAX_MEMBERS = 1_000_000
"""Members that are written at most."""

# debugpy lists only the first of many members, so the program itself encodes them all, in one expression that leaves
# nothing behind. Strings, numbers and collections of them are written as JSON, everything else as its repr.
PYTHON_EXPORT = """(lambda v, n, j, i: (lambda m: None if m is None else j.dumps([[*(
    [repr(k), type(x).__name__, x] for k, x in i.islice(m, n))], len(v) if hasattr(v, '__len__') else None
    ], default=repr, skipkeys=True))(
    None if isinstance(v, (str, bytes, bytearray, int, float, complex, type(None)))
    else v.items() if hasattr(v, 'items') and hasattr(v, 'keys')
    else enumerate(v) if hasattr(v, '__len__') and hasattr(v, '__iter__')
    else vars(v).items() if hasattr(v, '__dict__') else None)
)((EXPRESSION), LIMIT, __import__('json'), __import__('itertools'))"""


class SaveVariableParams(Struct, kw_only=True, rename="camel"):
    expression: str
    output_path: str
    page_size: int = 500
    max_items: int | None = None
    context: Literal["repl", "watch", "hover"] = "watch"
    frame_id: int | None = None
    session_id: str | None = None


async def save(debugger: Debugger, params: SaveVariableParams, job: ScriptCall) -> dict[str, Any]:
    """Writes the value of an expression. The file appears completely or not at all."""
    target, frame = debugger.frame(params.frame_id, params.session_id)
    path = os.path.normpath(os.path.join(debugger.workspace, params.output_path))
    if os.path.isdir(path):
        raise debug_errors.debug_error("E_INVALID_PATH", f"is a directory: {path}", "give outputPath, a file's name")
    limit = min(params.max_items or MAX_MEMBERS, MAX_MEMBERS)
    try:
        spell = _spell_python if target.adapter == "debugpy" else _spell_pages
        lines, total = await spell(target, frame, params, limit, job)
    except AdapterRefused as error:
        reason = error.message.strip().splitlines()[-1] if error.message.strip() else "no reason given"
        raise debug_errors.debug_error(
            "E_EVALUATE_FAILED",
            f"{params.expression!r}: {reason}",
            "debug_list_variables shows what can be named here",
        ) from error
    _write(path, lines, debugger.workspace)
    answer: dict[str, Any] = {
        "sessionId": target.id,
        "path": display_path(path, debugger.workspace),
        "items": len(lines),
    }
    if total is not None and total > len(lines):
        answer["more"] = f"{total} in all; call with a larger maxItems, or save a slice"
    return answer


async def _spell_python(
    target: DebugTarget, frame: int | None, params: SaveVariableParams, limit: int, job: ScriptCall
) -> tuple[list[bytes], int | None]:
    program = PYTHON_EXPORT.replace("LIMIT", str(limit)).replace("EXPRESSION", params.expression)
    one_line = " ".join(program.split("\n")) if "\n" not in params.expression else program
    # Only in this context does debugpy return a complete string, and an error as a value.
    found = await ask_value(target, frame, one_line, context="clipboard", seconds=EXPORT_TIMEOUT_SECONDS, job=job)
    if found.get("type") == "NoneType":
        raise _not_expandable(params.expression)
    if found.get("type") != "str":
        raise AdapterRefused("evaluate", str(found.get("result")))
    members, total = msgspec.json.decode(ast.literal_eval(found["result"]))
    return [_line(*one) for one in members], total


async def _spell_pages(
    target: DebugTarget, frame: int | None, params: SaveVariableParams, limit: int, job: ScriptCall
) -> tuple[list[bytes], int | None]:
    found = await ask_value(
        target, frame, params.expression, context=params.context, seconds=EXPORT_TIMEOUT_SECONDS, job=job
    )
    if not (reference := int(found.get("variablesReference") or 0)):
        raise _not_expandable(params.expression)
    total = int(found.get("indexedVariables") or 0)
    if not total:
        members = await fetch_members(target, reference)
        return [_from_dap(one) for one in members[:limit]], len(members)
    lines: list[bytes] = []
    while len(lines) < min(limit, total):
        size = min(max(1, params.page_size), limit - len(lines))
        page = await fetch_members(target, reference, start=len(lines), count=size, only="indexed")
        if not page:
            break
        lines += [_from_dap(one) for one in page]
        job.progress(100 * len(lines) / total, f"{len(lines)} of {total}")
    return lines, total


def _line(name: str, kind: str, value: Any) -> bytes:
    return msgspec.json.encode({"name": name, "type": kind, "value": value})


def _from_dap(member: dict[str, Any]) -> bytes:
    return _line(str(member.get("name", "")), str(member.get("type") or ""), member.get("value"))


def _not_expandable(expression: str) -> Exception:
    return debug_errors.debug_error(
        "E_NOT_EXPANDABLE", f"a single value, not something with members: {expression!r}", "use debug_evaluate instead"
    )


def _write(path: str, lines: list[bytes], workspace: str) -> None:
    """Writes a private file: the values of a program may be secrets."""
    content = b"".join(line + b"\n" for line in lines)
    try:
        if is_below(workspace, path):
            write_inside(workspace, path, content, mode=0o600)
        else:
            make_folder(os.path.dirname(path))
            write_atomically(path, content)
    except OSError as error:
        raise debug_errors.debug_error(
            "E_FS_ERROR", f"cannot write {path}: {error.strerror}", "give another outputPath"
        ) from error


SCRIPTS = {"debug.save-variable": (SaveVariableParams, save)}
