"""An agent's request for permission, and the answer."""

from typing import Literal

from binnacle.wire.acp.content import Shape
from binnacle.wire.acp.updates import ToolCallFields

OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class PermissionOption(Shape, frozen=True, kw_only=True):
    """One of the answers to a request for permission."""

    option_id: str
    name: str = ""
    kind: str = ""
    """An `OptionKind`. Ids differ between agents; the kind says what an answer means."""


class RequestPermission(Shape, frozen=True, kw_only=True):
    """A request to permit a tool call."""

    session_id: str
    tool_call: ToolCallFields
    options: tuple[PermissionOption, ...] = ()


class PermissionSelected(Shape, frozen=True, kw_only=True, tag_field="outcome", tag="selected"):
    """One of the answers was chosen."""

    option_id: str


class PermissionCancelled(Shape, frozen=True, kw_only=True, tag_field="outcome", tag="cancelled"):
    """No answer was chosen: the turn is being cancelled, or no one could answer."""


class Permission(Shape, frozen=True, kw_only=True):
    """The answer."""

    outcome: PermissionSelected | PermissionCancelled
