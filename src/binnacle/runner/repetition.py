"""Recognises an agent that does the same again and again: the same failing call, or the same change of a file."""

from collections import Counter
from hashlib import sha256

import msgspec

from binnacle.wire import acp

MAX_SAME_FAILURES = 4
"""How often the same call may fail, with nothing else succeeding in between."""

MAX_SAME_CHANGES = 4
"""How often the same change of the same file may be made."""

MAX_CALLS = 500
"""Calls whose input is remembered at the same time."""


class RepetitionWatch:
    """Sees the tool calls of one agent."""

    def __init__(self) -> None:
        self._inputs: dict[str, tuple[str, str]] = {}
        """Digest and title of the input of each call under way."""

        self._failures: Counter[str] = Counter()
        self._changes: Counter[str] = Counter()
        self.found = ""
        """What is repeated, in words; empty if nothing is."""

    def see(self, call: acp.ToolCallFields) -> None:
        """Takes what the agent reports of a call."""
        self._remember(call)
        digest, title = self._inputs.get(call.tool_call_id, ("", ""))
        if call.status == "failed" and digest:
            self._failures[digest] += 1
            if self._failures[digest] >= MAX_SAME_FAILURES:
                self.found = f"the call {title[:200]!r} failed {self._failures[digest]} times"
        elif call.status == "completed":
            self._failures.clear()
            self._see_changes(call)
        if call.status in ("failed", "completed"):
            self._inputs.pop(call.tool_call_id, None)

    def _remember(self, call: acp.ToolCallFields) -> None:
        if call.raw_input is None and not call.title:
            return
        known = self._inputs.get(call.tool_call_id)
        if known is not None and call.raw_input is None:
            return
        title = call.title or (known[1] if known else "")
        self._inputs[call.tool_call_id] = (_digest([title if call.raw_input is None else "", call.raw_input]), title)
        if len(self._inputs) > MAX_CALLS:
            del self._inputs[next(iter(self._inputs))]

    def _see_changes(self, call: acp.ToolCallFields) -> None:
        for part in call.content or ():
            if part.path is not None:
                digest = _digest([part.path, part.old_text, part.new_text])
                self._changes[digest] += 1
                if self._changes[digest] >= MAX_SAME_CHANGES:
                    self.found = f"the same change of {part.path[:200]} was made {self._changes[digest]} times"


def _digest(value: object) -> str:
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
