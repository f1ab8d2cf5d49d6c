"""What a call comes to, in the one form every client gets: text and structure, each sufficient alone."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from binnacle.errors import BinnacleError

REQUEST_ID_KEY, TIMESTAMP_KEY, DURATION_KEY = "binnacle/requestId", "binnacle/timestamp", "binnacle/duration"
"""Keys of a result's `_meta`; the duration is in milliseconds. The prefix keeps them apart from the protocol's own."""


class ToolReply(NamedTuple):
    """What a provider returns."""

    data: Any
    text: str
    is_error: bool = False
    """Whether what it tells of is a failure, as a command that was not found."""

    foreign: Mapping[str, Any] | None = None
    """The result of another server's tool, passed on as it came; then there is neither data nor text."""


class Outcome(NamedTuple):
    """What the caller gets."""

    text: str
    envelope: dict[str, Any]
    is_error: bool = False
    foreign: Mapping[str, Any] | None = None
    seconds: float = 0.0
    """How long the call took."""

    is_structured: bool = True
    """Whether the envelope goes with the text: clients refuse one that does not fit the schema of another server."""

    def to_mcp(self) -> dict[str, Any]:
        """As the result of `tools/call`."""
        if self.foreign is not None:
            return dict(self.foreign)
        return {
            "content": [{"type": "text", "text": self.text}],
            **({"structuredContent": self.envelope} if self.is_structured else {}),
            "isError": self.is_error,
            "_meta": self._meta(),
        }

    def _meta(self) -> dict[str, Any]:
        """What programs may want to know of the call. Clients do not show it to the model, which would pay for it."""
        return {
            REQUEST_ID_KEY: os.urandom(6).hex(),
            TIMESTAMP_KEY: datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            DURATION_KEY: round(self.seconds * 1000, 3),
        }


def succeeded(reply: ToolReply, *, seconds: float) -> Outcome:
    """The outcome of a call that worked."""
    envelope = {"ok": not reply.is_error, "type": "success", "data": reply.data}
    return Outcome(reply.text, envelope, reply.is_error, reply.foreign, seconds)


def failed(error: BinnacleError, *, seconds: float, prefix: bool, hint: str, is_structured: bool = True) -> Outcome:
    """The outcome of a call that did not: a result the agent can read and act on, not a protocol error."""
    text = f"[{error.code}] {error.message}" if prefix else f"error: {error.message}"
    if hint:
        text += f"\nhint: {hint}"
    envelope = {"ok": False, "type": "error", "error": error.to_dict(hint=hint)}
    return Outcome(text, envelope, is_error=True, seconds=seconds, is_structured=is_structured)


def as_json(data: Any) -> str:
    """Data as text, where the data itself is the best rendering."""
    return msgspec.json.encode(data).decode()
