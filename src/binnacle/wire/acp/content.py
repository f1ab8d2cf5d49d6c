"""Blocks of content, in prompts, answers and tool calls."""

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

Meta: TypeAlias = dict[str, Any]


class Shape(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What every message and every part of a message may have."""

    meta: Meta | UnsetType | None = field(name="_meta", default=UNSET)


class ContentBlock(Shape, frozen=True, kw_only=True):
    """A block of content. Its type determines which fields are set."""

    type: str
    """`text`, `image`, `audio`, `resource_link` or `resource`."""

    text: str | None = None
    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None
    resource: Any = None


def text_block(text: str) -> ContentBlock:
    """Plain text."""
    return ContentBlock(type="text", text=text)


class ToolContent(Shape, frozen=True, kw_only=True):
    """Something that a tool call produced: content, a change of a file, or a terminal."""

    type: str
    """`content`, `diff` or `terminal`."""

    content: ContentBlock | None = None
    path: str | None = None
    old_text: str | None = None
    new_text: str | None = None
    terminal_id: str | None = None
