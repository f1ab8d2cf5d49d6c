"""Translates what adapters say differently, or leave out, into the same form for all."""

import re
from typing import Any

_EXIT = {
    "js-debug": re.compile(r"Process exited with code (\d+)\s*"),
    "delve": re.compile(r"Process \d+ has exited with status (-?\d+)\s*"),
}
"""Output with the exit code, of adapters that send no event about it."""

_CHATTER = {
    "delve": re.compile(r"Type 'dlv help' for list of commands\.\n"),
    "js-debug": re.compile(r"/bin/sh -c .*\n"),
}
"""Output that is meant for a person at a terminal."""

_CHAINED = re.compile(r"\[Chained Exc: (?P<cause>.*)\] (?P<name>[^\]]*)", re.DOTALL)
_CURRENT = " (Current frame)"
_PAUSED_AT = re.compile(r"\s+\(note: full exception trace is shown but execution is paused at: .*\)")
_NOTHING = "exception: no description"
"""How debugpy decorates names of frames and exceptions, and its text for an exception without a message."""

_LAST_NAME = re.compile(r"(?:^|\.)(\.?[^.]+)$")
"""The function's name after the object that js-debug adds: `global.add`, `Module._extensions..js`."""

_LLDB_MARKS = re.compile(r"(?: \[\w+\])+$")
_LLDB_PARAMETERS = re.compile(
    r"(?<!operator)\((?!anonymous)[^()]*(?:\([^()]*\)[^()]*)*\)(?: (?:const|volatile|&|&&))*$"
)
"""What lldb-dap adds after a function's name: `[opt]`, its parameters."""


def plain_output(adapter: str, text: str) -> str:
    """Output with plain line ends. lldb-dap runs programs on a terminal, which ends lines differently."""
    if adapter in ("lldb-dap", "js-debug"):
        text = text.replace("\r\n", "\n")
    chatter = _CHATTER.get(adapter)
    return "" if chatter and chatter.fullmatch(text) else text


def exit_code_in(adapter: str, text: str) -> int | None:
    """The exit code, if an adapter's text reports it."""
    found = adapter in _EXIT and _EXIT[adapter].fullmatch(text)
    return int(found[1]) if found else None


def stop_reason(adapter: str, reason: str, text: str, *, is_entry: bool) -> str:
    """Why a program stopped. lldb-dap reports its own stop signal as an exception."""
    if adapter == "lldb-dap" and reason == "exception" and text == "signal SIGSTOP":
        return "entry" if is_entry else "pause"
    return reason


def context_for(adapter: str, expression: str, context: str) -> str:
    """The context in which the answer to an expression is only its value.

    For lldb-dap "repl" is its command line, which a backtick before the expression still selects.
    """
    is_command = expression.startswith("`")
    return "watch" if adapter == "lldb-dap" and context == "repl" and not is_command else context


def is_worth_a_look(variable: dict[str, Any]) -> bool:
    """Whether to show members of a variable by default: JavaScript's built-in objects are large and of little use."""
    hint = variable.get("presentationHint") or {}
    return hint.get("visibility") != "internal" and variable.get("type") != "global"


def summarize_complaint(complaint: str) -> str:
    """The line of an error that says what is wrong: the last of a Python traceback, else the first."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    return lines[-1 if lines[0].startswith("Traceback") else 0].removeprefix("error: ")


def function_name(adapter: str, name: str) -> str:
    """A function's name, from an adapter's name of its frame."""
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
    """The message of a frame's exception, if that is the cause of the one that stopped the program."""
    chained = _CHAINED.fullmatch(name.removesuffix(_CURRENT)) if adapter == "debugpy" else None
    return chained["cause"] if chained else None


def exception_of(adapter: str, info: dict[str, Any], stop_text: str) -> dict[str, Any]:
    """Class and message of an exception, from an adapter's description; no class if it has none."""
    name = str(info.get("exceptionId") or "")
    text = str(info.get("description") or "")
    trace = str((info.get("details") or {}).get("stackTrace") or "")
    if adapter == "debugpy":
        name = _PAUSED_AT.sub("", name)
        # Without a message it sends that of the cause. The trace ends with the exception itself.
        is_bare = text == _NOTHING or trace.rstrip("\n").endswith(f"{name}: ")
        return {"type": name, "message": "" if is_bare else text}
    if adapter == "js-debug":
        kind, _, message = name.partition(": ")
        return {"type": kind, "message": message} if trace else {"message": name}
    return {"type": name, "message": text or stop_text}
