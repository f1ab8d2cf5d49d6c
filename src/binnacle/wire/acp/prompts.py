"""The beginning and end of a turn."""

from typing import Literal

from binnacle.wire.acp.content import ContentBlock, Shape

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class PromptRequest(Shape, frozen=True, kw_only=True):
    """Begins a turn; it is answered when the turn ends."""

    session_id: str
    prompt: tuple[ContentBlock, ...]


class TokenUsage(Shape, frozen=True, kw_only=True):
    """The tokens of a turn."""

    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class PromptAnswer(Shape, frozen=True, kw_only=True):
    """The end of a turn."""

    stop_reason: str
    usage: TokenUsage | None = None
