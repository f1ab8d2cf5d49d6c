"""What adapters say in their own way, or do not say, in the words that all the others use."""

import re
from typing import Any

_EXIT = {
    "js-debug": re.compile(r"Process exited with code (\d+)\s*"),
    "delve": re.compile(r"Process \d+ has exited with status (-?\d+)\s*"),
}
"""How those tell the exit code who send no event about it."""

_CHATTER = {
    "delve": re.compile(r"Type 'dlv help' for list of commands\.\n"),
    "js-debug": re.compile(r"/bin/sh -c .*\n"),
}
"""What is meant for a person at a terminal."""


def plain_output(adapter: str, text: str) -> str:
    """What a program or its adapter wrote. lldb-dap runs programs on a terminal, which ends lines in its own way."""
    if adapter in ("lldb-dap", "js-debug"):
        text = text.replace("\r\n", "\n")
    chatter = _CHATTER.get(adapter)
    return "" if chatter and chatter.fullmatch(text) else text


def exit_code_in(adapter: str, text: str) -> int | None:
    """The exit code, if that is what an adapter's text is about."""
    found = adapter in _EXIT and _EXIT[adapter].fullmatch(text)
    return int(found[1]) if found else None


def stop_reason(adapter: str, reason: str, text: str, *, is_entry: bool) -> str:
    """Why a program stopped. lldb-dap calls the signal by which it stops one an exception."""
    if adapter == "lldb-dap" and reason == "exception" and text == "signal SIGSTOP":
        return "entry" if is_entry else "pause"
    return reason


def context_for(adapter: str, expression: str, context: str) -> str:
    """In which context an expression has nothing but its value for an answer.

    For lldb-dap "repl" is its command line, which is still to be had with a backtick before the command.
    """
    is_command = expression.startswith("`")
    return "watch" if adapter == "lldb-dap" and context == "repl" and not is_command else context


def is_worth_a_look(variable: dict[str, Any]) -> bool:
    """Whether to show members of a variable unasked: what JavaScript brings along is large, and not the program's."""
    hint = variable.get("presentationHint") or {}
    return hint.get("visibility") != "internal" and variable.get("type") != "global"


def gist(complaint: str) -> str:
    """The one line of a complaint that says what is wrong: tracebacks of Python end with it, others begin with it."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    return lines[-1 if lines[0].startswith("Traceback") else 0].removeprefix("error: ")
