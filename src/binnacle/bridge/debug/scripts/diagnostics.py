"""The script that collects errors in source files, as far as that is possible without an editor."""

import asyncio
import os
import shutil
import warnings
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from binnacle.bridge.debug import adapters, debug_errors
from binnacle.bridge.debug.cancellable_wait import ScriptCall
from binnacle.bridge.debug.debugger import Debugger
from binnacle.bridge.debug.stop_report import display_path
from binnacle.bridge.debug.tool_output import run_tool
from binnacle.config.repository_files import is_below, read_file, read_inside
from binnacle.processes.keeper import CannotStart, Keeper

MAX_DIAGNOSTICS = 200
"""Diagnostics in one answer."""

MAX_FILES = 5000
"""Files that are checked."""

RUFF_TIMEOUT_SECONDS = 25.0
"""Seconds for ruff to check a project."""

SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages", "venv"}


class CollectParams(Struct, kw_only=True):
    path: str | None = None


async def collect(debugger: Debugger, params: CollectParams, job: ScriptCall) -> dict[str, Any]:
    """Errors of Python files: those that ruff finds if it is installed, else those that prevent compiling."""
    path = debugger.path(params.path or "")
    if not os.path.exists(path):
        raise debug_errors.debug_error(
            "E_FILE_NOT_FOUND",
            f"no such file: {params.path!r} (looked for {path})",
            "give path relative to the workspace",
        )
    if os.path.isfile(path) and not path.endswith((".py", ".pyi")):
        raise debug_errors.script_unsupported(
            "diagnostic.collect", f"only Python files can be checked here, not {params.path}"
        )
    found = None
    if ruff := _ruff(debugger.workspace):
        found = await _from_ruff(debugger.keeper, ruff, path, debugger.workspace, job)
    source = "ruff" if found is not None else "python"
    if found is None:
        found = await asyncio.to_thread(_compile_all, path, debugger.workspace)
    rows = [row | {"path": display_path(row["path"], debugger.workspace), "source": source} for row in found]
    shown: dict[str, Any] = {"count": len(rows), "diagnostics": rows[:MAX_DIAGNOSTICS]}
    return shown | (
        {"more": f"{len(rows) - MAX_DIAGNOSTICS}; give path, a file or a directory"}
        if len(rows) > MAX_DIAGNOSTICS
        else {}
    )


def _ruff(workspace: str) -> str | None:
    beside = os.path.join(os.path.dirname(adapters.find_python(workspace)), "ruff")
    return beside if os.access(beside, os.X_OK) else shutil.which("ruff")


async def _from_ruff(
    keeper: Keeper, ruff: str, path: str, workspace: str, job: ScriptCall
) -> list[dict[str, Any]] | None:
    """ruff's findings, with the project's settings; None if ruff cannot be run."""
    command = (ruff, "check", "--quiet", "--output-format", "json", "--no-cache", "--force-exclude", "--", path)
    try:
        _, output = await run_tool(keeper, command, cwd=workspace, seconds=RUFF_TIMEOUT_SECONDS, job=job)
        found = msgspec.json.decode(output)
        return [
            {
                "path": one["filename"],
                "line": one["location"]["row"],
                "column": one["location"]["column"],
                "severity": "error" if _is_error(one.get("code")) else "warning",
                "code": one.get("code") or "",
                "message": one["message"],
            }
            for one in found
        ]
    except (CannotStart, msgspec.DecodeError, KeyError, TypeError):
        return None


def _is_error(code: str | None) -> bool:
    """Whether it makes a program fail."""
    return code is None or code.startswith(("E9", "F63", "F7", "F82", "invalid-syntax"))


def _compile_all(path: str, workspace: str) -> list[dict[str, Any]]:
    found = []
    for file in [path] if os.path.isfile(path) else _python_files(path):
        try:
            source = read_inside(workspace, file) if is_below(workspace, file) else read_file(file)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(source, file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError) as error:
            found.append(_row(file, error))
        except OSError:
            continue
    return found


def _python_files(folder: str) -> Iterator[str]:
    left = MAX_FILES
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(files):
            if name.endswith((".py", ".pyi")) and left > 0:
                left -= 1
                yield os.path.join(place, name)


def _row(file: str, error: Exception) -> dict[str, Any]:
    where = (error.lineno or 1, error.offset or 1) if isinstance(error, SyntaxError) else (1, 1)
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return {
        "path": file,
        "line": where[0],
        "column": where[1],
        "severity": "error",
        "code": type(error).__name__,
        "message": message,
    }


SCRIPTS = {"diagnostic.collect": (CollectParams, collect)}
