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

_CHAINED = re.compile(r"\[Chained Exc: (?P<cause>.*)\] (?P<name>[^\]]*)", re.DOTALL)
_CURRENT = " (Current frame)"
_PAUSED_AT = re.compile(r"\s+\(note: full exception trace is shown but execution is paused at: .*\)")
_NOTHING = "exception: no description"
"""How debugpy decorates names of frames and exceptions, and what it says of an exception without a message."""

_LAST_NAME = re.compile(r"(?:^|\.)(\.?[^.]+)$")
"""The function's own name in one that js-debug put its object before: `global.add`, `Module._extensions..js`."""

_LLDB_MARKS = re.compile(r"(?: \[\w+\])+$")
_LLDB_PARAMETERS = re.compile(
    r"(?<!operator)\((?!anonymous)[^()]*(?:\([^()]*\)[^()]*)*\)(?: (?:const|volatile|&|&&))*$"
)
"""What lldb-dap puts behind a function's name: `[opt]`, its parameters."""


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


def summarize_complaint(complaint: str) -> str:
    """The one line of a complaint that says what is wrong: tracebacks of Python end with it, others begin with it."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    return lines[-1 if lines[0].startswith("Traceback") else 0].removeprefix("error: ")


def function_name(adapter: str, name: str) -> str:
    """A function's own name, out of what an adapter calls its frame."""
    match adapter:
        case "debugpy":
            chained = _CHAINED.fullmatch(name.removesuffix(_CURRENT))
            return chained["name"] if chained else name.removesuffix(_CURRENT)
        case "js-debug":
            found = _LAST_NAME.search(name)
            return found[1] if found else name
        case "lldb-dap":
            return _LLDB_PARAMETERS.sub("", _LLDB_MARKS.sub("", name)) or name
        case _:
            return name


def cause_of_frame(adapter: str, name: str) -> str | None:
    """The message of the exception that a frame belongs to, if that is the cause of the one that stopped."""
    chained = _CHAINED.fullmatch(name.removesuffix(_CURRENT)) if adapter == "debugpy" else None
    return chained["cause"] if chained else None


def exception_of(adapter: str, info: dict[str, Any], stop_text: str) -> dict[str, Any]:
    """Class and message of an exception, out of what an adapter says about it; no class for what has none."""
    name = str(info.get("exceptionId") or "")
    text = str(info.get("description") or "")
    trace = str((info.get("details") or {}).get("stackTrace") or "")
    if adapter == "debugpy":
        name = _PAUSED_AT.sub("", name)
        # For want of a message it takes that of the cause. The trace ends with what was raised.
        is_bare = text == _NOTHING or trace.rstrip("\n").endswith(f"{name}: ")
        return {"type": name, "message": "" if is_bare else text}
    if adapter == "js-debug":
        kind, _, message = name.partition(": ")
        return {"type": kind, "message": message} if trace else {"message": name}
    return {"type": name, "message": text or stop_text}
