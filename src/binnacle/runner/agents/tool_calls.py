"""Remembers an agent's tool calls, so that a request for permission can show the complete call.

Some agents ask with only the id of a call that they reported before; some report a call only when they ask.
"""

from collections import OrderedDict
from dataclasses import replace
from typing import Any

from binnacle.runner.agents.allowed_commands import folders_in
from binnacle.runner.agents.call_details import command_of, diff_of
from binnacle.runner.agents.changed_paths import paths_in
from binnacle.runner.agents.permissions import PermissionRequest, is_quoted_in
from binnacle.wire import acp
from binnacle.wire.jsonrpc import encode

MAX_CALLS = 500
"""Tool calls of a session that are remembered."""

KIND_BY_TOOL = {
    **dict.fromkeys(("read", "view", "tree", "ls", "analyze"), "read"),
    **dict.fromkeys(("grep", "glob", "search"), "search"),
    **dict.fromkeys(("write", "edit", "text_editor"), "edit"),
    "shell": "execute",
}
"""Kinds of goose's own tools; goose gives every call the kind `other`."""

MAX_FOLDERS = 16
"""Folders that are remembered with a call."""

MAX_PATHS = 100
"""Files of a call that are remembered with it."""

MAX_INPUT_BYTES = 16 << 10
"""Bytes of a call's input that are remembered with it."""


class SeenToolCalls:
    """The latest tool calls of a session."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, PermissionRequest] = OrderedDict()
        self.count = 0
        """Number of calls so far."""

    def asked(self, request: acp.RequestPermission) -> PermissionRequest:
        """A request for permission, with what is known of its call. Some agents give it another title than the call."""
        return replace(self.note(request.tool_call), options=request.options)

    def note(self, call: acp.ToolCallFields) -> PermissionRequest:
        """Adds an update to a call. Returns everything known of the call."""
        before = self._known.pop(call.tool_call_id, None)
        if before is None:
            self.count += 1
            before = PermissionRequest(tool_call_id=call.tool_call_id)
        told = _name_in(call.meta)
        places = [place.path for place in call.locations or ()] + [one.path for one in call.content or () if one.path]
        paths = tuple(dict.fromkeys((*before.paths, *places, *paths_in(call.raw_input))))[-MAX_PATHS:]
        name = told or before.name or call.title or ""
        kind = next(
            (one for one in (call.kind, before.kind, KIND_BY_TOOL.get(name)) if one and one != "other"), "other"
        )
        known = PermissionRequest(
            tool_call_id=call.tool_call_id,
            title=call.title or before.title,
            kind=kind,
            name=name,
            is_named=bool(told) or before.is_named,
            has_input=bool(call.raw_input) or before.has_input,
            is_quoted=before.is_quoted or is_quoted_in([call.raw_input, *paths], name.strip(), kind=kind),
            # A newer input replaces the older even if it is too long to keep: the older says something else.
            input=_limit_size(call.raw_input) if call.raw_input else before.input,
            paths=paths,
            diff=diff_of(call, kind=kind) or before.diff,
            command=(command_of(call.raw_input) or before.command) if kind == "execute" else "",
            folders=(*before.folders, *folders_in(call.raw_input), *folders_in(call.meta))[-MAX_FOLDERS:],
        )
        # A call that has ended asks for nothing any more, and diffs are large.
        has_ended = call.status in ("completed", "failed")
        self._known[call.tool_call_id] = replace(known, diff="", command="") if has_ended else known
        if len(self._known) > MAX_CALLS:
            self._known.popitem(last=False)
        return known


def _name_in(meta: Any, depth: int = 0) -> str:
    """The tool's name, which agents send in addition to the title, each in another place."""
    if not isinstance(meta, dict) or depth > 3:
        return ""
    if isinstance(meta.get("toolName"), str):
        return str(meta["toolName"])
    return next(filter(None, (_name_in(part, depth + 1) for part in meta.values())), "")


def _limit_size(value: Any) -> Any:
    return value if value and len(encode(value)) <= MAX_INPUT_BYTES else None
