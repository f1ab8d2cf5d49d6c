"""What a tool call does, as text for people: its change as a unified diff, its command, or its arguments.

Agents report changes in three ways: as a diff of the protocol, as a diff in their own input, or as the texts that their
editing tool takes. All texts are bounded, and say how much is missing.
"""

import difflib
import re
import shlex
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from binnacle.runner.agents.changed_paths import PATH_KEYS
from binnacle.runner.agents.permissions import PermissionRequest
from binnacle.wire import acp
from binnacle.wire.jsonrpc import encode

MAX_DETAIL_CHARACTERS = 64 << 10
"""Characters kept of a diff, a command, a tool's input or its output."""

MAX_COMPARED_LINES = 1000
"""Lines on either side that are compared line by line; a larger change is shown as a replacement."""

CONTEXT_LINES = 3

_OLD_TEXTS = ("old_string", "old_str", "oldString", "old_text", "oldText", "before")
_NEW_TEXTS = ("new_string", "new_str", "newString", "new_text", "newText", "after", "content", "file_text", "text")
_DIFFS = ("diff", "unified_diff", "patch")
_COMMANDS = ("command", "cmd", "script", "commandLine")
"""Names that the editing and shell tools of agents give to their parameters."""

_HUNK = re.compile(r"@@ -(\d+)(.*?) \+(\d+)(.*?) @@")


def clip(text: str, limit: int = MAX_DETAIL_CHARACTERS) -> str:
    """`text`, cut with a word on how much is missing."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def text_of(value: Any) -> str:
    """A value of foreign JSON as text."""
    if not value:
        return ""
    return clip(value if isinstance(value, str) else encode(value).decode())


def diff_of(call: acp.ToolCallFields, *, kind: str = "") -> str:
    """The change that a call makes, as far as it says so; `kind` is what is known of the call from before."""
    parts = [unified_diff(one.path, one.old_text, one.new_text or "") for one in call.content or () if one.path]
    if not parts and (call.kind or kind) == "edit":
        parts = [_diff_of_input(call.raw_input)]
    return clip("\n".join(filter(None, parts)))


def command_of(value: Any) -> str:
    """The command line in the input of a call; empty if there is none."""
    found = _first(value, _COMMANDS)
    if isinstance(found, list) and all(isinstance(word, str) for word in found):
        return clip(shlex.join(found))
    return clip(found) if isinstance(found, str) else ""


def describe_request(request: PermissionRequest) -> str:
    """What an agent wants to do, in full: the diff, the command or the arguments; empty if only the title says it."""
    if request.diff:
        return request.diff
    if request.command:
        return "\n".join(f"$ {line}" for line in request.command.splitlines())
    return describe_input(request.input)


def describe_input(value: Any) -> str:
    """The arguments of a call, one below the other."""
    if not isinstance(value, dict):
        return text_of(value)
    return clip("\n".join(f"{name}: {one if isinstance(one, str) else text_of(one)}" for name, one in value.items()))


def unified_diff(path: str, old: str | None, new: str) -> str:
    """The change of one file in the format of `diff -u`; `old` is None for a new file."""
    before, after = _lines(old or ""), _lines(new)
    head = ["--- /dev/null" if old is None else f"--- {path}", f"+++ {path}"]
    if before == after:
        return "\n".join(head) if (old or "") == new else "\n".join([*head, "(only the end of the last line changes)"])
    start = max(0, _count_common(before, after) - CONTEXT_LINES)
    end = max(0, _count_common(before[start:][::-1], after[start:][::-1]) - CONTEXT_LINES)
    hunks = _compare(before[start : len(before) - end], after[start : len(after) - end])
    return clip("\n".join([*head, *(_shift(line, start) for line in hunks)]))


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _count_common(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _compare(before: Sequence[str], after: Sequence[str]) -> list[str]:
    if max(len(before), len(after)) > MAX_COMPARED_LINES:
        head = f"@@ -1,{len(before)} +1,{len(after)} @@"
        return [head, *(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return list(difflib.unified_diff(before, after, lineterm="", n=CONTEXT_LINES))[2:]


def _shift(line: str, start: int) -> str:
    """A line of a diff of what begins `start` lines later in the file."""
    found = _HUNK.fullmatch(line) if start and line.startswith("@@") else None
    if found is None:
        return line
    return f"@@ -{int(found[1]) + start}{found[2]} +{int(found[3]) + start}{found[4]} @@"


def _diff_of_input(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    if isinstance(ready := _first(value, _DIFFS), str):
        return ready
    path = _first(value, PATH_KEYS)
    path = path if isinstance(path, str) else ""
    if isinstance(changes := value.get("changes"), dict):
        return "\n".join(
            _diff_of_input({"path": name, **one}) for name, one in changes.items() if isinstance(one, dict)
        )
    if isinstance(edits := value.get("edits"), list):
        return "\n".join(_diff_of_input({"path": path, **one}) for one in edits if isinstance(one, dict))
    old, new = _first(value, _OLD_TEXTS), _first(value, _NEW_TEXTS)
    if not isinstance(new, str):
        return ""
    return unified_diff(path, old if isinstance(old, str) else None, new)


def _first(value: Any, names: Sequence[str]) -> Any:
    return (
        next((value[name] for name in names if value.get(name) is not None), None) if isinstance(value, dict) else None
    )
