"""What a program has written since the last answer."""

from collections import deque
from typing import Any

MAX_OUTPUT_CHARACTERS = 4000
"""Characters of it in an answer."""

HIDDEN_CATEGORIES = ("telemetry",)
"""Categories of the adapter's own messages."""


class ProgramOutput:
    """Keeps the end of what was written until it is taken."""

    def __init__(self) -> None:
        self._parts: deque[str] = deque()
        self._size = 0
        self._dropped = 0

    def add(self, category: str, text: str) -> None:
        if category in HIDDEN_CATEGORIES or not text:
            return
        self._parts.append(text[-MAX_OUTPUT_CHARACTERS:])
        self._size += len(self._parts[-1])
        self._dropped += len(text) - len(self._parts[-1])
        while self._size - len(self._parts[0]) >= MAX_OUTPUT_CHARACTERS:
            self._size -= len(part := self._parts.popleft())
            self._dropped += len(part)

    def take(self) -> dict[str, Any]:
        """Returns and removes the new output, as fields of an answer; empty if there is none."""
        text = "".join(self._parts)
        cut = self._dropped + max(0, len(text) - MAX_OUTPUT_CHARACTERS)
        self._parts.clear()
        self._size = self._dropped = 0
        if not text:
            return {}
        if not cut:
            return {"output": text}
        return {
            "output": text[-MAX_OUTPUT_CHARACTERS:],
            "outputCut": f"{cut} characters before that; dap_logs has them",
        }
