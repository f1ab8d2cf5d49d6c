"""The result of a call, in the one form that every client gets: text and structure, each complete on its own."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from binnacle.errors import BinnacleError
from binnacle.work.done_gate import DoneRequest

REQUEST_ID_KEY, TIMESTAMP_KEY, DURATION_KEY = "binnacle/requestId", "binnacle/timestamp", "binnacle/duration"
"""Keys of a result's `_meta`; the duration is in milliseconds. The prefix separates them from the protocol's keys."""


class ToolReply(NamedTuple):
    """What a provider returns."""

    data: Any
    text: str
    is_error: bool = False
    """Whether it reports a failure, such as a command that was not found."""

    foreign: Mapping[str, Any] | None = None
    """The unchanged result of an upstream tool; then there is neither data nor text."""

    request: DoneRequest | None = None
    """A `done` that is granted only when checks pass."""


class Outcome(NamedTuple):
    """What the caller gets."""

    text: str
    envelope: dict[str, Any]
    is_error: bool = False
    foreign: Mapping[str, Any] | None = None
    seconds: float = 0.0
    """How long the call took."""

    is_structured: bool = True
    """Whether to send the envelope with the text: clients refuse one that does not fit an upstream tool's schema."""

    def to_mcp(self) -> dict[str, Any]:
        """The result of `tools/call`."""
        if self.foreign is not None:
            return dict(self.foreign)
        return {
            "content": [{"type": "text", "text": self.text}],
            **({"structuredContent": self.envelope} if self.is_structured else {}),
            "isError": self.is_error,
            "_meta": self._meta(),
        }

    def _meta(self) -> dict[str, Any]:
        """Facts about the call for programs. Clients do not show them to the model, which would pay for them."""
        return {
            REQUEST_ID_KEY: os.urandom(6).hex(),
            TIMESTAMP_KEY: datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            DURATION_KEY: round(self.seconds * 1000, 3),
        }


def succeeded(reply: ToolReply, *, seconds: float) -> Outcome:
    """The outcome of a call that succeeded."""
    envelope = {"ok": not reply.is_error, "type": "success", "data": reply.data}
    return Outcome(reply.text, envelope, reply.is_error, reply.foreign, seconds)


def failed(error: BinnacleError, *, seconds: float, prefix: bool, hint: str, is_structured: bool = True) -> Outcome:
    """The outcome of a call that failed: a result that the agent can read and act on, not a protocol error."""
    text = f"[{error.code}] {error.message}" if prefix else f"error: {error.message}"
    if hint:
        text += f"\nhint: {hint}"
    envelope = {"ok": False, "type": "error", "error": error.to_dict(hint=hint)}
    return Outcome(text, envelope, is_error=True, seconds=seconds, is_structured=is_structured)


def as_json(data: Any) -> str:
    """Data as JSON text, for answers that have no better rendering."""
    return msgspec.json.encode(data).decode()
