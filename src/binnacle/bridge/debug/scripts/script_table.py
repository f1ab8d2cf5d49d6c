"""Every script that the headless host runs, and the one way to run it."""

from typing import Any

import msgspec

from binnacle.bridge.debug import debug_errors
from binnacle.bridge.debug.cancellable_wait import ScriptCall
from binnacle.bridge.debug.dap import AdapterGone, AdapterRefused
from binnacle.bridge.debug.debugger import Debugger
from binnacle.bridge.debug.scripts import (
    breakpoint_scripts,
    diagnostics,
    execution,
    inspection,
    recordings,
    single_test,
    variable_export,
)

SCRIPTS: dict[str, tuple[Any, Any]] = {
    **breakpoint_scripts.SCRIPTS,
    **execution.SCRIPTS,
    **inspection.SCRIPTS,
    **variable_export.SCRIPTS,
    **single_test.SCRIPTS,
    **diagnostics.SCRIPTS,
    **recordings.SCRIPTS,
}
"""For each alias the type of its parameters and its function."""

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
"""Scripts that only an editor can run."""


def list_capabilities() -> dict[str, Any]:
    """The scripts of this host. Adapters are not listed: they are looked for when they are needed."""
    return {"scripts": sorted(SCRIPTS)}


async def run_script(debugger: Debugger, script: str, params: dict[str, Any], job: ScriptCall) -> Any:
    """Runs a script.

    Raises:
        BridgeError: with the tool to call next as its hint.
    """
    if script in EDITOR_SCRIPTS:
        raise debug_errors.script_unsupported(script)
    if script not in SCRIPTS:
        raise debug_errors.debug_error(
            "E_SCRIPT_NOT_FOUND", f"no such script: {script!r}", "call bridge_status for what there is"
        )
    kind, do = SCRIPTS[script]
    try:
        given = msgspec.convert(params, kind, strict=False)
    except msgspec.ValidationError as error:
        raise debug_errors.debug_error(
            "E_INVALID_PARAMS", f"{script}: {error}", "fix the parameter and call again"
        ) from error
    try:
        return await do(debugger, given, job)
    except AdapterRefused as error:
        raise debug_errors.debug_error(
            "E_INTERNAL", f"the debug adapter refused: {error}", "call debug_status"
        ) from error
    except AdapterGone as error:
        raise await debugger.explain_end() from error
    except TimeoutError as error:
        raise debug_errors.debug_error(
            "E_TIMEOUT",
            "the debug adapter does not answer",
            "try again; debug_stop ends the program",
            retryable=True,
        ) from error
