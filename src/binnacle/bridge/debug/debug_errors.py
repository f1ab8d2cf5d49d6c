"""The errors of the debugger. Each names the tool to call next."""

from collections.abc import Mapping
from typing import Any

from binnacle.bridge.jobs.protocol import EDITOR_NEEDED
from binnacle.errors import BridgeError

START_FIRST = "start a debug session first using debug_start"


def debug_error(code: str, message: str, hint: str, *, retryable: bool = False, **details: Any) -> BridgeError:
    """An error with its next step."""
    return BridgeError(code, message, hint=hint, retryable=retryable, details=details)


def no_session(message: str = "no active debug session", **details: Any) -> BridgeError:
    return debug_error("E_NO_SESSION", message, START_FIRST, **details)


def not_paused(session: str) -> BridgeError:
    return debug_error(
        "E_NOT_PAUSED",
        f"the program of session {session} is running",
        "call debug_wait_for_hit until it stops; call debug_pause to stop it where it is",
        retryable=True,
        sessionId=session,
    )


def still_running(session: str, seconds: float, output: Mapping[str, Any]) -> BridgeError:
    return debug_error(
        "E_TIMEOUT",
        f"session {session} neither stopped nor ended within {seconds:g} s; it is still running",
        "call debug_wait_for_hit to wait longer; call debug_pause to see where it is; call debug_stop to end it",
        retryable=True,
        sessionId=session,
        state="running",
        **output,
    )


def call_cancelled(message: str, hint: str, **details: Any) -> BridgeError:
    return debug_error("E_CANCELLED", message, hint, **details)


def session_lost(session: str, how: str, output: Mapping[str, Any]) -> BridgeError:
    return debug_error(
        "E_SESSION_TERMINATED",
        f"session {session} is gone: {how}",
        "start it again using debug_start",
        sessionId=session,
        state="terminated",
        **output,
    )


def program_busy(session: str, expression: str) -> BridgeError:
    return debug_error(
        "E_BUSY",
        f"an earlier expression still runs in the program of session {session}: {expression!r}",
        "wait and try again; debug_stop ends the program",
        retryable=True,
        sessionId=session,
    )


def script_unsupported(script: str, why: str = "") -> BridgeError:
    message = why or f"{script} needs an editor, and this host has none"
    return debug_error("E_UNSUPPORTED", message, EDITOR_NEEDED, script=script, host="vscode")
